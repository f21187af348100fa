"""The harnesses of all parsers."""

from tests.fuzz import (
    arrow_streams,
    csv_files,
    http_streams,
    liquid_templates,
    meter_payloads,
    ndjson_bodies,
    price_answers,
    profile_files,
    socket_frames,
    web_tokens,
)

HARNESSES = (
    http_streams.HARNESS,
    socket_frames.HARNESS,
    csv_files.HARNESS,
    profile_files.HARNESS,
    price_answers.HARNESS,
    ndjson_bodies.HARNESS,
    arrow_streams.HARNESS,
    meter_payloads.HARNESS,
    liquid_templates.HARNESS,
    web_tokens.HARNESS,
)
