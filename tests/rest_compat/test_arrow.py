"""Download of stored readings as an Arrow stream: exact values, the end marker, and one batch for each page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tests.support.house import House
from wattgate.db.queries.series.raw_readings import PAGE_SIZE
from wattgate.operations.readings.raw_readings import ARROW

START = datetime(2026, 1, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


@pytest.fixture
async def resource_id(served: House) -> str:
    """Return a resource with a day of energy and three power readings."""
    added = await served.one.add_resource()
    await served.one.record(added, *((START + n * HALF_HOUR, f"0.{n:03d}") for n in range(48)))
    await served.one.record(added, *((START + n * timedelta(seconds=7), str(200 + n)) for n in range(3)), field="POWER")
    return added


async def stream(served: House, path: str, **params: Any) -> pa.Table:
    headers = served.one.headers["account"] | {"Accept": ARROW}
    answer = await served.call("GET", path, headers, params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (200, ARROW), answer.text
    assert answer.headers["x-graphql-operation"] == "resource.rawReadings"
    return pa.ipc.open_stream(answer.content).read_all()


async def test_stream_contains_exact_values_of_every_field(served: House, resource_id: str) -> None:
    table = await stream(served, f"/resource/{resource_id}/platformbinary")
    assert [str(field.type) for field in table.schema] == ["timestamp[ms, tz=UTC]", "double", "string", "string"]
    columns = table.to_pydict()
    assert columns["field"] == ["ENERGY"] * 48 + ["POWER"] * 3
    assert columns["value"] == [float(f"0.{n:03d}") for n in range(48)] + [200.0, 201.0, 202.0]
    assert columns["timestamp"][:2] == [START, START + HALF_HOUR]


@pytest.mark.parametrize("path", ["platformbinary", "glowbinary", "readings"])
async def test_from_to_and_offset_restrict_the_stream(served: House, resource_id: str, path: str) -> None:
    span = {"from": "2026-01-01T01:00:00", "to": "2026-01-01T02:00:00"}
    table = await stream(served, f"/resource/{resource_id}/{path}", field="ENERGY", **span)
    assert table["timestamp"].to_pylist() == [START + n * HALF_HOUR for n in (2, 3, 4)]
    shifted = await stream(served, f"/resource/{resource_id}/{path}", field="ENERGY", offset="-60", **span)
    assert shifted["timestamp"].to_pylist() == [START + n * HALF_HOUR for n in (0, 1, 2)]
    nothing = await stream(served, f"/resource/{resource_id}/{path}", **{"from": "2027-01-01T00:00:00"})
    assert nothing.num_rows == 0


async def test_readings_are_json_unless_accept_names_arrow(served: House, resource_id: str) -> None:
    query = {"from": "2026-01-01T00:00:00", "to": "2026-01-01T00:59:59", "period": "PT30M", "function": "sum"}
    for accept in ("*/*", "application/json", "application/xml"):
        headers = served.one.headers["account"] | {"Accept": accept}
        answer = await served.call("GET", f"/resource/{resource_id}/readings", headers, params=query)
        assert answer.json()["data"] == [[int(START.timestamp()), 0.0], [int(START.timestamp()) + 1800, 0.001]]


async def test_binary_paths_need_no_accept_header(served: House, resource_id: str) -> None:
    answer = await served.call("GET", f"/resource/{resource_id}/platformbinary", served.one.headers["account"])
    assert answer.headers["content-type"] == ARROW


async def test_errors_are_json_responses_before_the_stream_starts(served: House, resource_id: str) -> None:
    path, headers = f"/resource/{resource_id}/platformbinary", served.one.headers["account"]
    answer = await served.call("GET", path, headers, params={"from": "yesterday", "to": "x", "offset": "y"})
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -offset -from -to")
    field = await served.call("GET", path, headers, params={"field": "HEAT"})
    assert (field.status_code, field.json()["error"]) == (400, "incorrect elements -field")
    other_tenant = await served.call("GET", path, served.other.headers["account"])
    assert (other_tenant.status_code, other_tenant.json()["code"]) == (404, "NOT_FOUND")


async def test_long_streams_have_one_batch_for_each_page(served: House) -> None:
    resource_id = await served.one.add_resource()
    count = PAGE_SIZE * 2 + 1
    for first in range(0, count, 10_000):
        numbers = range(first, min(first + 10_000, count))
        values = ((START + timedelta(seconds=n), str(n)) for n in numbers)
        await served.one.record(resource_id, *values, field="POWER")
    answer = await served.call("GET", f"/resource/{resource_id}/platformbinary", served.one.headers["account"])
    reader = pa.ipc.open_stream(answer.content)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [PAGE_SIZE, PAGE_SIZE, 1]
    assert batches[2]["value"].to_pylist() == [float(count - 1)]


async def test_graphql_returns_the_same_columns_in_pages(served: House) -> None:
    resource_id = await served.one.add_resource()
    values = [(START + timedelta(seconds=n), str(n)) for n in range(PAGE_SIZE)]
    await served.one.record(resource_id, *values, field="POWER")
    await served.one.record(resource_id, (START + timedelta(days=1), "7"), field="POWER")
    query = """query ($id: ID!, $start: DateTime) {
        resource(resourceId: $id) { rawReadings(start: $start, field: "POWER") { at value unit next } } }"""
    headers = served.one.headers["account"]
    first = (await served.graphql(query, headers, id=resource_id))["data"]["resource"]["rawReadings"]
    assert len(first["at"]) == len(first["value"]) == PAGE_SIZE
    last = (await served.graphql(query, headers, id=resource_id, start=first["next"]))["data"]["resource"][
        "rawReadings"
    ]
    assert last == {"at": ["2026-01-02T00:00:00.000Z"], "value": [7.0], "unit": "W", "next": None}


async def test_truncated_stream_cannot_be_read(served: House, resource_id: str) -> None:
    answer = await served.call("GET", f"/resource/{resource_id}/platformbinary", served.one.headers["account"])
    assert answer.content.endswith(b"\xff\xff\xff\xff\x00\x00\x00\x00")
    with pytest.raises((pa.ArrowInvalid, OSError)):
        pa.ipc.open_stream(answer.content[:-100]).read_all()
