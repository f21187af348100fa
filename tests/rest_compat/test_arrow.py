"""Stored readings as an Arrow stream: exact, whole, and a page at a time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tests.support.house import House
from wattgate.graphql.resolvers import raw_readings
from wattgate.graphql.resolvers.raw_readings import ARROW

START = datetime(2026, 1, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


@pytest.fixture
async def resource_id(served: House) -> str:
    """A resource with a day of energy and three readings of power."""
    made = await served.one.add_resource()
    await served.one.record(made, *((START + n * HALF_HOUR, f"0.{n:03d}") for n in range(48)))
    await served.one.record(made, *((START + n * timedelta(seconds=7), str(200 + n)) for n in range(3)), field="POWER")
    return made


async def stream(served: House, path: str, **params: Any) -> pa.Table:
    headers = served.one.headers["account"] | {"Accept": ARROW}
    answer = await served.call("GET", path, headers, params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (200, ARROW), answer.text
    assert answer.headers["x-graphql-operation"] == "raw_readings"
    return pa.ipc.open_stream(answer.content).read_all()


async def test_every_stored_value_of_every_field_comes_exactly(served: House, resource_id: str) -> None:
    table = await stream(served, f"/resource/{resource_id}/platformbinary")
    assert [str(field.type) for field in table.schema] == ["timestamp[ms, tz=UTC]", "double", "string", "string"]
    told = table.to_pydict()
    assert told["field"] == ["ENERGY"] * 48 + ["POWER"] * 3
    assert told["value"] == [float(f"0.{n:03d}") for n in range(48)] + [200.0, 201.0, 202.0]
    assert told["timestamp"][:2] == [START, START + HALF_HOUR]


@pytest.mark.parametrize("path", ["platformbinary", "glowbinary", "readings"])
async def test_from_to_and_offset_are_those_of_readings(served: House, resource_id: str, path: str) -> None:
    span = {"from": "2026-01-01T01:00:00", "to": "2026-01-01T02:00:00"}
    table = await stream(served, f"/resource/{resource_id}/{path}", field="ENERGY", **span)
    assert table["timestamp"].to_pylist() == [START + n * HALF_HOUR for n in (2, 3, 4)]
    shifted = await stream(served, f"/resource/{resource_id}/{path}", field="ENERGY", offset="-60", **span)
    assert shifted["timestamp"].to_pylist() == [START + n * HALF_HOUR for n in (0, 1, 2)]
    nothing = await stream(served, f"/resource/{resource_id}/{path}", **{"from": "2027-01-01T00:00:00"})
    assert nothing.num_rows == 0


async def test_readings_are_json_unless_arrow_is_asked_for(served: House, resource_id: str) -> None:
    query = {"from": "2026-01-01T00:00:00", "to": "2026-01-01T00:59:59", "period": "PT30M", "function": "sum"}
    for accept in ("*/*", "application/json", "application/xml"):
        headers = served.one.headers["account"] | {"Accept": accept}
        answer = await served.call("GET", f"/resource/{resource_id}/readings", headers, params=query)
        assert answer.json()["data"] == [[int(START.timestamp()), 0.0], [int(START.timestamp()) + 1800, 0.001]]


async def test_the_binary_needs_no_accept_header(served: House, resource_id: str) -> None:
    answer = await served.call("GET", f"/resource/{resource_id}/platformbinary", served.one.headers["account"])
    assert answer.headers["content-type"] == ARROW


async def test_what_is_wrong_is_told_as_json_before_the_stream_begins(served: House, resource_id: str) -> None:
    path, headers = f"/resource/{resource_id}/platformbinary", served.one.headers["account"]
    answer = await served.call("GET", path, headers, params={"from": "yesterday", "to": "x", "offset": "y"})
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -offset -from -to")
    field = await served.call("GET", path, headers, params={"field": "HEAT"})
    assert (field.status_code, field.json()["error"]) == (400, "incorrect elements -field")
    stranger = await served.call("GET", path, served.other.headers["account"])
    assert (stranger.status_code, stranger.json()["code"]) == (404, "NOT_FOUND")


async def test_more_than_a_page_comes_in_batches_of_at_most_a_page(served: House) -> None:
    resource_id = await served.one.add_resource()
    count = raw_readings.PAGE * 2 + 1
    for first in range(0, count, 10_000):
        some = range(first, min(first + 10_000, count))
        values = ((START + timedelta(seconds=n), str(n)) for n in some)
        await served.one.record(resource_id, *values, field="POWER")
    answer = await served.call("GET", f"/resource/{resource_id}/platformbinary", served.one.headers["account"])
    reader = pa.ipc.open_stream(answer.content)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [raw_readings.PAGE, raw_readings.PAGE, 1]
    assert batches[2]["value"].to_pylist() == [float(count - 1)]


async def test_graphql_pages_through_the_same_columns(served: House) -> None:
    resource_id = await served.one.add_resource()
    values = [(START + timedelta(seconds=n), str(n)) for n in range(raw_readings.PAGE)]
    await served.one.record(resource_id, *values, field="POWER")
    await served.one.record(resource_id, (START + timedelta(days=1), "7"), field="POWER")
    query = """query ($id: ID!, $start: DateTime) {
        rawReadings(resourceId: $id, start: $start, field: "POWER") { at value unit next } }"""
    headers = served.one.headers["account"]
    first = (await served.graphql(query, headers, id=resource_id))["data"]["rawReadings"]
    assert len(first["at"]) == len(first["value"]) == raw_readings.PAGE
    last = (await served.graphql(query, headers, id=resource_id, start=first["next"]))["data"]["rawReadings"]
    assert last == {"at": ["2026-01-02T00:00:00.000Z"], "value": [7.0], "unit": "W", "next": None}


async def test_a_stream_that_breaks_off_is_no_whole_stream(served: House, resource_id: str) -> None:
    answer = await served.call("GET", f"/resource/{resource_id}/platformbinary", served.one.headers["account"])
    assert answer.content.endswith(b"\xff\xff\xff\xff\x00\x00\x00\x00")
    with pytest.raises((pa.ArrowInvalid, OSError)):
        pa.ipc.open_stream(answer.content[:-100]).read_all()
