"""MQTT messages of displays: only the documented error, values within their bounds, and the JSON that json reads.

The first line of an input is the topic.
"""

import json
from datetime import UTC, datetime

from tests.energy.test_meter_messages import (
    CLOUD_TOPIC,
    ELECTRICITY_TOPIC,
    GAS_TOPIC,
    STATE,
    STATE_TOPIC,
    cloud,
    electricity,
    gas,
)
from tests.fuzz.harness import Harness
from wattgate.energy.meters.meter_messages import (
    MAX_TEXT_LENGTH,
    QUANTITIES,
    MeterMessage,
    MeterMessageError,
    parse_message,
)

FIRST, END = datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

MAX_PROBLEM_CHARACTERS = 200
"""Maximum characters of the description of a problem, which the log shows."""


def check(data: bytes) -> bool:
    topic, _, payload = data.partition(b"\n")
    text = topic.decode("utf-8", "replace")
    parsed = read(text, payload)
    if parsed is None:
        return False
    content = json.loads(payload)
    assert isinstance(content, dict)
    assert FIRST <= parsed.at <= END
    assert parsed.hardware_id in text.split("/")
    for measured in parsed.values:
        quantity = QUANTITIES[measured.field]
        assert measured.unit == quantity.unit
        assert abs(measured.value) <= quantity.max_amount
        assert measured.value or quantity.allows_zero
    assert all(len(problem) <= MAX_PROBLEM_CHARACTERS for problem in parsed.problems)
    found = parsed.network_state
    if found is not None:
        texts = (found.software, found.hardware, found.smets_version, found.status)
        assert all(one is None or (len(one) <= MAX_TEXT_LENGTH and one.isprintable()) for one in texts)
    # `json` alone reads UTF-16, and msgspec most of the rest
    assert read(text, payload.decode(json.detect_encoding(payload), "surrogatepass").encode("utf-16")) == parsed
    return True


def read(topic: str, payload: bytes) -> MeterMessage | None:
    try:
        return parse_message(topic, payload)
    except MeterMessageError:
        return None


def message(topic: str, content: object) -> bytes:
    return topic.encode() + b"\n" + json.dumps(content).encode()


HARNESS = Harness(
    "meter-messages",
    check,
    (
        message(ELECTRICITY_TOPIC, electricity()),
        message(ELECTRICITY_TOPIC, electricity(power={"value": 425, "units": "W"}, energy=None)),
        message(GAS_TOPIC, gas()),
        message(STATE_TOPIC, STATE),
        message(CLOUD_TOPIC, cloud()),
        message(CLOUD_TOPIC, cloud("FFFFFE00", gmtime=None, gasMtr=None)),
    ),
    (
        *(b"null", b"true", b"-1", b"0", b"1e30", b"1e-30", b"1e999999999", b"12345678901234567890123", b"NaN"),
        *(b'"kWh"', b'"Wh"', b'"m3"', b'"pounds"', b'"FFFFFFFFFFFF"', b'"-1"', b'"\\ud800"', b"\xff", b"[[[[", b"{}"),
        *(b'"2022-11-07T09:20:08+23:59"', b'"0001-01-01T00:00:00+01:00"', b"/SENSOR/", b"/STATE", b"SMART/", b"\0"),
        *(b'{"0702":', b'"energy":', b'"import":', b'"cumulative":', b'"units":', b"\n"),
    ),
    {
        "members": lambda count: message(STATE_TOPIC, {**STATE, **{f"x{n}": n for n in range(count)}}),
        "lists": lambda count: message(STATE_TOPIC, {**STATE, "han": [[]] * count}),
    },
)
