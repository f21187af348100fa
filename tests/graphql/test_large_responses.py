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
from tests.support.servers import ON_SQLITE_ONLY
from tests.support.stalls import StallRecorder
from wattgate import pauses
from wattgate.clock import format_iso
from wattgate.db.column_types import SerializedColumn
from wattgate.db.queries import alert_rules as queries
from wattgate.enums import Channel, Function, Period, RuleKind, TariffKind
from wattgate.graphql.execution.json_encoding import PIECE_VALUES, encode_large_json, encode_pieces
from wattgate.graphql.transport.http import LARGE_BODY_BYTES, GraphQLResponse
from wattgate.operations.types.messages.alert_rules import NewAlertRule
from wattgate.operations.types.meters.readings import NewReading, NewReadings
from wattgate.operations.types.meters.tariffs import PRICES_PER_UNIT, NewTariffPrice
from wattgate.operations.vocabulary.cost_weights import EVALUATED_READINGS_PER_UNIT
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.pauses import PAUSE_ITEMS, collect, convert_all
from wattgate.values.stored_json import encode_json

QUARTER_HOUR = timedelta(minutes=15)
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
    assert await convert_all(numbers, str) == list(map(str, numbers))
    assert await turns_during(convert_all(numbers, str)) > await turns_during(convert_all(numbers[:-PAUSE_ITEMS], str))
    assert await turns_during(convert_all(numbers[:PAUSE_ITEMS], str)) <= 1


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


YEAR = 'range: { start: "2025-01-01T00:00:00Z", end: "2026-01-01T00:00:00Z" }'
HALF_YEAR = 'range: { start: "2025-01-01T00:00:00Z", end: "2025-07-01T00:00:00Z" }'
COLUMNS = "start end value count quality completeness estimated revision noValueReason"
HEAVY_FIELDS = {
    "prices": (
        8,
        5,
        'tariff { prices(range: { start: "2025-01-01T00:00:00Z", end: "2025-02-01T00:00:00Z" }) '
        "{ at end rate rateWithVat } }",
    ),
    "columns": (8, 3, f"readings({YEAR}, period: PT30M) {{ columns {{ {COLUMNS} }} }}"),
    "costs": (3, 40, f"costs({HALF_YEAR}, period: PT1H) {{ buckets {{ start end energyCostWithVat total }} }}"),
}
"""Fields that take tens of milliseconds, with the aliases that a document may have and the pauses of each of them."""


@ON_SQLITE_ONLY
@pytest.mark.parametrize(("count", "pauses_of_each", "field"), HEAVY_FIELDS.values(), ids=HEAVY_FIELDS)
async def test_aliases_of_large_fields_do_not_stall_the_loop_together(
    served: House, monkeypatch: pytest.MonkeyPatch, count: int, pauses_of_each: int, field: str
) -> None:
    """On SQLite, the statements of all aliases end at the same time. Each step of an alias then waits for its turn."""
    resource_id, _ = await priced_year(served)
    aliases = " ".join(f"a{number}: {field}" for number in range(count))
    document = {"query": f'{{ resource(resourceId: "{resource_id}") {{ {aliases} }} }}'}
    paused = 0

    async def counted_pause(turns: pauses._Turns) -> None:
        nonlocal paused
        paused += 1
        await wait(turns)

    wait = pauses._Turns.wait
    monkeypatch.setattr(pauses._Turns, "wait", counted_pause)
    monkeypatch.setattr(pauses, "MAX_HELD_SECONDS", -1.0)  # on a slow machine, a pause is due after each edge
    answer = await served.http.post("/graphql", json=document, headers=served.one.headers["account"])
    assert paused >= count * pauses_of_each
    assert f'"a{count - 1}":{{'.encode() in answer.content, answer.text[:500]


async def test_a_range_has_at_most_3000_prices(served: House) -> None:
    resource_id, start = await priced_year(served)
    query = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
      tariff { prices(range: $range) { at } } } }"""
    for count, expected in ((3_000, None), (3_001, "BAD_INPUT")):
        span = {"start": format_iso(start), "end": format_iso(start + count * QUARTER_HOUR)}
        body = await served.graphql(query, served.one.headers["account"], id=resource_id, range=span)
        assert [error["extensions"]["code"] for error in body.get("errors", [])] == ([expected] if expected else [])
        assert body["extensions"]["cost"]["charged"] > 3_000 / PRICES_PER_UNIT or expected


async def priced_year(served: House) -> tuple[str, datetime]:
    """Return a resource with a year of half hours and two months of prices of quarter hours, and their start."""
    tenant, start = served.one, datetime(2025, 1, 1, tzinfo=UTC)
    if "priced year" not in tenant.ids:
        resource_id = tenant.ids["priced year"] = await tenant.add_resource("priced year")
        for part in range(0, 17_520, 8_760):
            half_hours = (start + number * timedelta(minutes=30) for number in range(part, part + 8_760))
            await tenant.record(resource_id, *((at, "0.25") for at in half_hours))
        tariff = await tenant.set_tariff(
            resource_id, kind=TariffKind.DYNAMIC, price_period=Period.PT15M, vat_percent=Decimal(5)
        )
        prices = [NewTariffPrice(at=start + n * QUARTER_HOUR, rate=Decimal(n % 97)) for n in range(5_664)]
        await tenant.set_prices(tariff.tariff_id, prices)
    return tenant.ids["priced year"], start


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
