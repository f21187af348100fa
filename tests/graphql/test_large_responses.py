"""Large requests and responses are read, made and written in pieces, between which the loop serves other requests."""

import asyncio
import gzip
import json
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from starlette.types import Message
from strawberry import ID

from tests.support.house import House
from tests.support.stalls import StallRecorder
from wattgate.db.column_types import SerializedColumn
from wattgate.db.queries import alert_rules as queries
from wattgate.enums import Channel, Function, RuleKind
from wattgate.graphql.execution.json_encoding import PIECE_VALUES, encode_large_json, encode_pieces
from wattgate.graphql.transport.http import LARGE_BODY_BYTES, GraphQLResponse
from wattgate.operations.types.messages.alert_rules import NewAlertRule
from wattgate.operations.types.meters.readings import NewReading, NewReadings
from wattgate.operations.vocabulary.cost_weights import EVALUATED_READINGS_PER_UNIT
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.pauses import PAUSE_ITEMS, collect
from wattgate.values.stored_json import encode_json

ROWS = [{"id": str(number), "values": [number, None, 0.5], "name": "é"} for number in range(PIECE_VALUES)]

VALUES: dict[str, Any] = {
    "small": {"a": [1, {"b": None}]},
    "empty": {"a": [], "b": {}},
    "rows": {"data": {"rows": ROWS, "more": {"of": ROWS}}, "extensions": {"cost": {"charged": 1}}},
    "rows of columns": {"data": [{"at": ["2026"] * PIECE_VALUES, "value": [0.25] * PIECE_VALUES}] * 3},
    "serialized columns": {"value": SerializedColumn([0.25] * 3 * PIECE_VALUES)},
    "scalars": list(range(3 * PIECE_VALUES)),
    "object": {f"name {number}": number for number in range(2 * PIECE_VALUES)},
    "nested": [[[[1] * PIECE_VALUES]], [[2] * PIECE_VALUES], "x"],
    "integers beyond 64 bits": [10**30, *[1] * PIECE_VALUES, 10**40],
}

MONTHS = [f"m{number}: readings(range: $range, period: PT30M) {{ ...s }}" for number in range(10)]
READINGS = f"""query ($id: ID!, $range: TimeRange!) {{ resource(resourceId: $id) {{ {" ".join(MONTHS)} }} }}
fragment s on ReadingSeries {{ buckets {{ start end value count }} }}"""


BACK_TEST = "query ($id: ID!) { node(id: $id) { ... on AlertRule { backTest(days: 5) { count } } } }"
RULES_ON_POWER: dict[RuleKind, dict[str, Any]] = {
    RuleKind.THRESHOLD: {"threshold": Decimal(5), "function": Function.MAX, "quiet_from": "22:00", "quiet_to": "06:00"},
    RuleKind.NO_DATA: {},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
async def test_pieces_have_the_same_content(value: Any) -> None:
    pieces = list(encode_pieces(value))
    assert json.loads(b"".join(pieces)) == value
    assert await encode_large_json(value) == b"".join(pieces)
    assert max(map(len, pieces)) < 1_000_000
    assert max(piece.count(b",") for piece in pieces) < PIECE_VALUES


async def test_pieces_have_the_bytes_of_the_whole() -> None:
    for name in ("small", "rows", "rows of columns", "object", "nested"):
        assert b"".join(encode_pieces(VALUES[name])) == encode_json(VALUES[name])


async def test_other_requests_run_between_pieces() -> None:
    assert await turns_during(encode_large_json(VALUES["rows"])) > 5


async def test_other_requests_run_while_a_long_list_is_built() -> None:
    numbers = list(range(2 * PAUSE_ITEMS + 1))
    assert await collect(iter(numbers)) == numbers
    assert await turns_during(collect(iter(numbers))) > await turns_during(collect(numbers[:-PAUSE_ITEMS]))
    assert await turns_during(collect(numbers[: PAUSE_ITEMS - 1])) <= 1


async def turns_during(work: Coroutine[Any, Any, Any]) -> int:
    """Return how often another task runs until the work is done."""
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await work
    counting.cancel()
    return turns


@pytest.mark.parametrize("length", [0, 1, LARGE_BODY_BYTES, LARGE_BODY_BYTES + 1, 3 * LARGE_BODY_BYTES])
@pytest.mark.parametrize("encoding", [b"", b"gzip"])
async def test_large_bodies_are_written_in_parts(length: int, encoding: bytes) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("a response reads nothing")

    body = bytes(number % 251 for number in range(length))
    await GraphQLResponse(200, body, "application/json")({"headers": [(b"accept-encoding", encoding)]}, receive, send)
    start, *parts = sent
    written = b"".join(part["body"] for part in parts)
    assert (gzip.decompress(written) if (b"content-encoding", b"gzip") in start["headers"] else written) == body
    assert (b"content-length", str(len(written)).encode()) in start["headers"]
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    assert max(len(part["body"]) for part in parts) <= LARGE_BODY_BYTES


async def test_twenty_thousand_buckets_do_not_stall_the_loop(served: House, stalls_of_session: StallRecorder) -> None:
    start = datetime(2025, 1, 1, tzinfo=UTC)
    variables = {
        "id": served.one.ids["resource"],
        "range": {"start": start.isoformat(), "end": (start + timedelta(days=41)).isoformat()},
    }
    for _ in range(3):  # the second request compiles the document
        stalls_of_session.stalls.clear()
        body = await served.graphql(READINGS, served.one.headers["account"], **variables)
        assert "errors" not in body, body["errors"]
        assert [len(month["buckets"]) for month in body["data"]["resource"].values()] == [41 * 48] * 10


async def test_back_tests_of_live_power_do_not_stall_the_loop_and_are_charged(
    served: House, stalls_of_session: StallRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = served.one
    resource_id = await tenant.add_resource("live power")
    now = datetime.now(UTC).replace(microsecond=0)
    for day in range(3):
        start = now - timedelta(days=day + 1)
        readings = [
            NewReading(at=start + timedelta(seconds=10 * number), value=Decimal(number % 7)) for number in range(8_000)
        ]
        await tenant.run(
            "record_readings", series=[NewReadings(resource_id=ID(resource_id), field="POWER", readings=readings)]
        )
    rule_ids = {}
    for kind, values in RULES_ON_POWER.items():
        rule = NewAlertRule(
            name="Rule", kind=kind, resource_id=ID(resource_id), field="POWER", window_minutes=1,
            alert_type_id=ID(tenant.ids["alert_type"]), channels=[Channel.INBOX], **values,
        )  # fmt: skip
        rule_ids[kind] = (await tenant.run("add_alert_rule", input=rule)).rule_id

    async def back_test(kind: RuleKind) -> Any:
        return await served.graphql(
            BACK_TEST, tenant.headers["account"], id=encode_global_id("AlertRule", rule_ids[kind])
        )

    for kind in RULES_ON_POWER:
        stalls_of_session.stalls.clear()
        body = await back_test(kind)
        cost = body["extensions"]["cost"]
        assert cost["charged"] - cost["estimated"] == 24_000 // EVALUATED_READINGS_PER_UNIT, body
        assert stalls_of_session.stalls == []
    monkeypatch.setattr(queries, "MAX_SAMPLES", 23_999)
    (error,) = (await back_test(RuleKind.THRESHOLD))["errors"]
    assert error["message"] == "The back-tests would read more than 23,999 readings. Request fewer days or rules."
