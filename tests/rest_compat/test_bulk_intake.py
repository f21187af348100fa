"""Bulk upload of NDJSON and Arrow streams: each line is accepted or refused on its own, in bounded memory."""

import asyncio
import contextlib
import json
import struct
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from tests.support.house import House
from wattgate.operations.readings.bulk_recorder import UnreadableInput
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.rest_compat.arrow import frames
from wattgate.rest_compat.arrow.readings import read_arrays
from wattgate.rest_compat.bulk_intake import NDJSON

pytestmark = pytest.mark.either_database("some tests of the module run on both")

START = datetime(2026, 1, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


async def post(house: House, content: Any, media_type: str, caller: str = "account") -> httpx.Response:
    headers = house.one.headers[caller] | {"Content-Type": media_type}
    return await house.http.post("/api/v0-1/readings", content=content, headers=headers)


async def stored_readings(house: House, resource_id: str, field: str = "ENERGY") -> dict[str, Any]:
    document = """query ($id: ID!, $field: String) {
        resource(resourceId: $id) { rawReadings(field: $field) { at value quality next } } }"""
    answer = await house.graphql(document, house.one.headers["account"], id=resource_id, field=field)
    return dict(answer["data"]["resource"]["rawReadings"])


def lines(*members: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps(member).encode() for member in members)


def table(resource_id: str, count: int, **changes: Any) -> pa.Table:
    columns: dict[str, Any] = {
        "resourceId": pa.array([resource_id] * count, pa.string()),
        "timestamp": pa.array([START + n * HALF_HOUR for n in range(count)], pa.timestamp("us", tz="UTC")),
        "value": pa.array([n / 1000 for n in range(count)], pa.float64()),
    }
    return pa.table({name: column for name, column in {**columns, **changes}.items() if column is not None})


def arrow_stream(*tables: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema, **options) as writer:
        for part in tables:
            writer.write(part)
    return bytes(sink.getvalue())


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_valid_lines_are_recorded_and_invalid_lines_refused_by_number(served: House) -> None:
    resource_id = await served.one.add_resource()
    good = {"resourceId": resource_id, "at": "2026-01-01T00:00:00Z", "value": 0.125}
    body = b"\n".join(
        [
            lines(good, {**good, "at": "2026-01-01T01:30:00+01:00", "value": "0.250", "quality": "estimated"}),
            b"",
            lines({**good, "at": "2026-01-01T02:10:00Z"}),
            b"not JSON",
            lines({**good, "at": "2026-01-01T01:00:00"}, {**good, "value": "1.2345"}, {**good, "value": -1}),
            lines({**good, "resourceId": served.other.ids["resource"]}, {**good, "field": "VOLTAGE"}),
            lines({**good, "quality": "GUESSED"}, {"at": good["at"], "value": 1}, {**good, "value": 7}),
            b'{"x": "' + b"y" * 100_000 + b'"}',
            b"\xff\xfe",
            lines({**good, "at": "2026-01-01T00:00:07Z", "value": -250, "field": "POWER", "unknown": 1}),
        ]
    )
    answer = await post(served, body, f"{NDJSON}; charset=utf-8")
    assert answer.status_code == 200, answer.text
    report = answer.json()
    assert (report["status"], report["recorded"], report["refused"]) == ("OK", 3, 12)
    reasons = {problem["line"]: problem["message"] for problem in report["problems"]}
    assert sorted(reasons) == [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    assert reasons[4] == "2026-01-01T02:10:00.000Z is not on the sampling grid of 0:30:00"
    assert reasons[5].startswith("is not JSON")
    assert reasons[7] == "1.2345 has more than the 3 decimal places of ENERGY"
    assert reasons[8] == "-1 is negative; ENERGY takes no negative values"
    assert reasons[9] == f"{served.other.ids['resource']} does not exist"
    assert reasons[10] == "the resource has no field VOLTAGE"
    assert reasons[11] == "'GUESSED' is not a quality; use one of: ACTUAL, ESTIMATED, SUBSTITUTED, QUESTIONABLE"
    assert reasons[13] == "the same instant is given twice with different values"
    assert reasons[14] == "is longer than 65,536 bytes"
    assert await stored_readings(served, resource_id) == {
        "at": ["2026-01-01T00:00:00.000Z", "2026-01-01T00:30:00.000Z"],
        "value": [0.125, 0.25],
        "quality": ["ACTUAL", "ESTIMATED"],
        "next": None,
    }
    assert (await stored_readings(served, resource_id, "POWER"))["value"] == [-250.0]


async def test_lines_may_be_split_across_chunks(served: House) -> None:
    resource_id = await served.one.add_resource()
    count = 25_001
    body = lines(
        *(
            {"resourceId": resource_id, "at": (START + timedelta(seconds=n)).isoformat(), "value": n, "field": "POWER"}
            for n in range(count)
        )
    )

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 77_777):
            yield body[start : start + 77_777]

    answer = await post(served, pieces(), NDJSON)
    assert answer.json() == {"status": "OK", "recorded": count, "refused": 0}
    document = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
        readings(range: $range, period: P1D, field: "POWER", function: COUNT) { total buckets { value } } } }"""
    span = {"start": START.isoformat(), "end": (START + timedelta(days=1)).isoformat()}
    answered = await served.graphql(document, served.one.headers["account"], id=resource_id, range=span)
    assert answered["data"]["resource"]["readings"]["buckets"] == [{"value": count}]


@pytest.mark.parametrize("options", [{}, {"resourceId": "dictionary"}, {"value": "decimal"}, {"value": "integer"}])
@pytest.mark.both_databases("readings and their sums in SQL")
async def test_arrow_stream_is_recorded(served: House, options: dict[str, str]) -> None:
    resource_id = await served.one.add_resource()
    changes: dict[str, Any] = {"quality": pa.array([None, "ESTIMATED", "ACTUAL"], pa.string())}
    if options.get("resourceId"):
        changes["resourceId"] = pa.array([resource_id] * 3, pa.string()).dictionary_encode()
    if options.get("value") == "decimal":
        changes["value"] = pa.array([Decimal("0.000"), Decimal("0.001"), Decimal("0.002")], pa.decimal128(10, 3))
    values = [0.0, 0.001, 0.002]
    if options.get("value") == "integer":
        changes["value"], values = pa.array([0, 1, 2], pa.int32()), [0.0, 1.0, 2.0]
    answer = await post(served, arrow_stream(table(resource_id, 3, **changes)), ARROW)
    assert answer.json() == {"status": "OK", "recorded": 3, "refused": 0}
    readings = await stored_readings(served, resource_id)
    assert readings["value"] == values
    assert readings["quality"] == ["ACTUAL", "ESTIMATED", "ACTUAL"]
    assert readings["at"] == [f"2026-01-01T0{time}:00.000Z" for time in ("0:00", "0:30", "1:00")]


async def test_downloaded_arrow_stream_can_be_uploaded(served: House) -> None:
    source, target = await served.one.add_resource(), await served.one.add_resource()
    await post(served, arrow_stream(table(source, 100)), ARROW)
    headers = served.one.headers["account"] | {"Accept": ARROW}
    answer = await served.call("GET", f"/resource/{source}/readings", headers)
    downloaded = pa.ipc.open_stream(answer.content).read_all()
    uploaded = downloaded.append_column("resourceId", pa.array([target] * downloaded.num_rows))
    assert (await post(served, arrow_stream(uploaded), ARROW)).json()["recorded"] == 100
    assert await stored_readings(served, target) == await stored_readings(served, source)


async def test_arrow_row_numbers_continue_across_batches(served: House) -> None:
    resource_id = await served.one.add_resource()
    first = table(resource_id, 3, value=pa.array([0.1, None, 0.12345]))
    second = table(resource_id, 2, value=pa.array([float("nan"), 1e300]))
    report = (await post(served, arrow_stream(first, second), ARROW)).json()
    assert (report["recorded"], report["refused"]) == (1, 4)
    assert [(problem["line"], problem["message"]) for problem in report["problems"]] == [
        (2, "has no resourceId, timestamp or value"),
        (3, "0.12345 has more than the 3 decimal places of ENERGY"),
        (4, "NaN is not a number"),
        (5, "1E+300 is too large for ENERGY"),
    ]


async def test_lines_that_are_no_text_or_too_deep_are_refused_by_number(served: House) -> None:
    """Each of them ended the whole upload with status 500, or was recorded."""
    good = lines({"resourceId": await served.one.add_resource(), "at": "2026-01-01T00:00:00Z", "value": 0.125})
    refused = {
        good.replace(b"{", b'{"field": "\xff", '): "is not UTF-8",
        good.replace(b"{", b'{"unknown\xff": 1, '): "is not UTF-8",
        good.replace(b"{", b'{"unknown": ["\xff"], '): "is not UTF-8",
        good.replace(b"{", b'{"unknown": %b, ' % (b"[" * 30_000 + b"]" * 30_000)): "is nested too deeply",
    }
    answer = await post(served, b"\n".join([good, *refused, good.replace(b"00:00:00Z", b"00:30:00Z")]), NDJSON)
    assert answer.status_code == 200, answer.text
    assert answer.json()["recorded"] == 2
    assert {problem["line"]: problem["message"] for problem in answer.json()["problems"]} == dict(
        enumerate(refused.values(), 2)
    )


async def test_numbers_of_columns_that_do_not_fit_are_refused_by_row(served: House) -> None:
    """Large integers failed with status 500. Seconds beyond 64 bits of ms were recorded at another instant."""
    resource_id = await served.one.add_resource()
    seconds = [0, 2**62, -(2**62), 2**63 // 1_000]
    times = pa.array(seconds, pa.timestamp("s", "UTC"))
    answer = await post(served, arrow_stream(table(resource_id, 4, timestamp=times)), ARROW)
    assert answer.status_code == 200, answer.text
    reasons = {problem["line"]: problem["message"] for problem in answer.json()["problems"]}
    assert [reasons[row] for row in (2, 3)] == ["has a timestamp outside the supported range of times"] * 2
    assert set(reasons) == {1, 2, 3, 4}  # the other two have instants that the resource does not take
    for type_, values in (
        (pa.int64(), [2**53, 2**53 + 1, -(2**63)]),
        (pa.uint64(), [1, 2**53 + 1, 2**64 - 1]),
        (pa.dictionary(pa.int8(), pa.int64()), [1, 2**60, 2**53 + 1]),
    ):
        answer = await post(served, arrow_stream(table(resource_id, 3, value=pa.array(values, type_))), ARROW)
        assert answer.status_code == 200, answer.text
        reasons = {problem["line"]: problem["message"] for problem in answer.json()["problems"]}
        assert [reasons[row] for row in (2, 3)] == ["has a value with more digits than can be stored"] * 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"value": None}, "the stream has no column value"),
        ({"resourceId": None}, "the stream has no column resourceId"),
        ({"timestamp": pa.array([START.replace(tzinfo=None)], pa.timestamp("ms"))}, "of type timestamp[ms]"),
        ({"timestamp": pa.array([0], pa.int64())}, "the column timestamp is of type int64"),
        ({"value": pa.array([0.1], pa.float32())}, "the column value is of type float"),
        ({"quality": pa.array([1], pa.int8())}, "the column quality is of type int8"),
    ],
)
async def test_unusable_column_is_named_in_the_error(served: House, changes: dict[str, Any], reason: str) -> None:
    answer = await post(served, arrow_stream(table(await served.one.add_resource(), 1, **changes)), ARROW)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")
    assert reason in answer.json()["error"]


async def test_truncated_stream_reports_the_recorded_readings(served: House) -> None:
    resource_id = await served.one.add_resource()
    whole = arrow_stream(table(resource_id, 3), table(resource_id, 3))
    answer = await post(served, whole[: len(whole) - 40], ARROW)
    assert answer.status_code == 400
    assert answer.json()["error"] == ("the stream ends inside a message; 3 readings before this point are recorded")
    assert len((await stored_readings(served, resource_id))["at"]) == 3


async def test_compressed_and_oversized_messages_are_refused(served: House, monkeypatch: pytest.MonkeyPatch) -> None:
    resource_id = await served.one.add_resource()
    compressed = arrow_stream(table(resource_id, 1000), options=pa.ipc.IpcWriteOptions(compression="zstd"))
    answer = await post(served, compressed, ARROW)
    assert "compressed" in answer.json()["error"]
    monkeypatch.setattr(frames, "MAX_BODY_BYTES", 10_000)
    answer = await post(served, arrow_stream(table(resource_id, 1000)), ARROW)
    assert "a message is larger than 10,000 bytes: send smaller record batches" in answer.json()["error"]
    many = [
        table(resource_id, 100, resourceId=pa.array([f"{resource_id}{n}-{m}" for m in range(100)]).dictionary_encode())
        for n in range(400)
    ]
    answer = await post(served, arrow_stream(*many), ARROW)
    assert "the dictionaries are larger than 10,000 bytes" in answer.json()["error"]


@pytest.mark.parametrize("body", [b"[1, 2]", b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x00" * 64, b"\xff\xff\xff\xff"])
async def test_body_that_is_not_arrow_is_refused(served: House, body: bytes) -> None:
    answer = await post(served, body, ARROW)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")


@pytest.mark.parametrize("name", [b"UTC", b"resourceId", b"value"])
async def test_name_that_is_not_utf8_is_refused(served: House, name: bytes) -> None:
    whole = arrow_stream(table(await served.one.add_resource(), 3))
    assert name in whole
    answer = await post(served, whole.replace(name, b"\x80" + name[1:]), ARROW)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(cut=st.integers(0, 2000), noise=st.binary(min_size=1, max_size=8))
async def test_damaged_stream_raises_unreadable_input_or_is_read(cut: int, noise: bytes) -> None:
    whole = arrow_stream(table("a resource", 20))
    place = cut % len(whole)
    damaged = whole[:place] + noise + whole[place + len(noise) :]

    async def chunks() -> AsyncIterator[bytes]:
        yield damaged

    async def read() -> int:
        return sum([len(lines) async for (lines, _), *_ in read_arrays(chunks(), charge_nothing)])

    with contextlib.suppress(UnreadableInput):
        assert await read() >= 0


async def test_oversized_message_is_refused_before_its_content_arrives() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield struct.pack("<II", frames.CONTINUATION, 2**31)
        pytest.fail("the reader asked for more")

    with pytest.raises(UnreadableInput, match="bytes of metadata"):
        await anext(frames.read_record_batches(chunks(), charge_nothing))


async def test_other_bodies_have_the_general_size_limit(served: House) -> None:
    answer = await post(served, b"[" + b" " * 5_000_000, "application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")
    other = await served.call(
        "POST",
        f"/resource/{served.one.ids['resource']}/readings",
        served.one.headers["account"] | {"Content-Type": NDJSON},
        content=b"[" + b" " * 5_000_000,
    )
    assert other.status_code == 413


async def test_streams_are_not_read_without_credentials(served: House) -> None:
    answer = await served.http.post("/api/v0-1/readings", content=b"x\n" * 10, headers={"Content-Type": NDJSON})
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")


async def test_readings_before_a_disconnect_are_recorded(served: House) -> None:
    resource_id = await served.one.add_resource()
    power = {"resourceId": resource_id, "field": "POWER"}
    body = lines(*({**power, "at": (START + timedelta(seconds=n)).isoformat(), "value": n} for n in range(50_001)))
    head = (
        f"POST /api/v0-1/readings HTTP/1.1\r\nHost: x\r\nContent-Type: {NDJSON}\r\nContent-Length: 9000000\r\n"
        f"token: {served.one.headers['account']['token']}\r\n\r\n"
    )
    _, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rsplit(":", 1)[1]))
    writer.write(head.encode() + body + b"\n")
    await until_stored(served, resource_id, 50_000)  # the first batch is full
    writer.close()
    await writer.wait_closed()
    await until_stored(served, resource_id, 50_001)


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_batch_may_name_more_resources_than_sql_parameters(served: House) -> None:
    resource_id = await served.one.add_resource()
    strangers = [{"resourceId": f"nobody-{n}", "at": "2026-01-01T00:00:00Z", "value": 1} for n in range(33_000)]
    body = lines(*strangers, {"resourceId": resource_id, "at": "2026-01-01T00:00:00Z", "value": 1})
    report = (await post(served, body, NDJSON)).json()
    assert (report["recorded"], report["refused"], report["moreProblems"]) == (1, 33_000, 32_900)


async def charge_nothing(size: int, line_count: int) -> None:
    return


async def until_stored(house: House, resource_id: str, count: int) -> None:
    document = """query ($id: ID!, $range: TimeRange!) {
        resource(resourceId: $id) { readings(range: $range, period: P1D, field: "POWER") { count } } }"""
    span = {"start": START.isoformat(), "end": (START + timedelta(days=1)).isoformat()}
    for _ in range(500):
        answer = await house.graphql(document, house.one.headers["account"], id=resource_id, range=span)
        if answer["data"]["resource"]["readings"]["count"] == count:
            return
        await asyncio.sleep(0.02)
    pytest.fail("it was not stored in time")
