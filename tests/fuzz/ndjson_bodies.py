"""Bodies of readings in NDJSON: blocks of lines, lines alone and chunks give the readings of the JSON."""

import json
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from tests.fuzz.event_loop import run
from tests.fuzz.harness import Harness
from wattgate.clock import to_ms
from wattgate.operations.core.operation import Operation
from wattgate.operations.readings.bulk_recorder import BulkRecorder
from wattgate.operations.readings.bulk_recording import RecordedArrays
from wattgate.rest_compat.bulk_intake import read_ndjson

Reading = tuple[str, str | None, int, float, int]
"""The resource, the field, the instant in ms, the value, and the code of the quality."""


def check(data: bytes) -> bool:
    at_once = record([data])
    # a blank line before the others leaves all of them to the parser of lines
    readings, refusals = record([b"\n" + data])
    assert (readings, {line - 1: reason for line, reason in refusals.items()}) == at_once
    for size in (1, 50):
        assert record([data[start : start + size] for start in range(0, len(data), size)]) == at_once
    lines = data.split(b"\n")
    written = [line for number, line in enumerate(lines, 1) if line.strip() and number not in at_once[1]]
    assert len(at_once[0]) == len(written)
    for reading, line in zip(at_once[0], written, strict=True):
        check_line(reading, line)
    return written != []


def check_line(reading: Reading, line: bytes) -> None:
    """Raise AssertionError unless the module json reads the same reading."""
    resource_id, field, at, value, _ = reading
    read: dict[str, Any] = json.loads(line)
    assert (resource_id, field) == (read["resourceId"], read.get("field"))
    assert value == float(read["value"])
    assert at == to_ms(datetime.fromisoformat(read["at"]))


def record(chunks: list[bytes]) -> tuple[list[Reading], dict[int, str]]:
    """Return the readings of a body, and the reasons of its refused lines."""
    readings, refusals = list[Reading](), dict[int, str]()

    async def store(operation: Operation, arguments: Mapping[str, Any]) -> RecordedArrays:
        batch = arguments["batch"]
        columns = (batch.series_index.tolist(), batch.at.tolist(), batch.value.tolist(), batch.quality.tolist())
        readings.extend((*batch.series[index], *rest) for index, *rest in zip(*columns, strict=True))
        return RecordedArrays(len(batch.at), [])

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def read() -> None:
        bulk = BulkRecorder(store, refusals.__setitem__)
        await read_ndjson(body(), bulk)
        report = await bulk.finish()
        assert (report.recorded, report.refused) == (len(readings), len(refusals))

    run(read())
    return readings, refusals


PLAIN = b'{"resourceId":"a","at":"2026-03-01T00:00:00Z","value":1.5}'
OTHER = b'{"resourceId":"b","at":"2026-03-01T01:00:00+01:00","value":"0.125","field":"POWER","quality":"estimated"}'

HARNESS = Harness(
    "ndjson",
    check,
    (
        PLAIN,
        b"\n".join([PLAIN] * 3),
        b"\n".join([PLAIN, OTHER, b"", PLAIN.replace(b"1.5", b"7"), PLAIN]) + b"\n",
        b"\r\n".join([PLAIN, PLAIN.replace(b"}", b',"unknown":[{}],"field":null}'), b"null", b"{}", PLAIN[:-1]]),
        b"\n".join([PLAIN + PLAIN, PLAIN.replace(b"a", b"}\\n{"), b'{"a":"}{"}', b'{"resourceId":"a"}{"at":1', b"}"]),
        b"\n".join([PLAIN.replace(b"00Z", b"00.000Z"), PLAIN.replace(b"03-01", b"02-30"), b"\xff", b" ", PLAIN]),
    ),
    (
        *(b"\n", b"\r", b"}\n{", b"{", b"}", b'"', b",", b":", b" ", b"\0", b"\xff", b"\xc3\xa9", b"\\ud800"),
        *(b"null", b"true", b"1e400", b"-0", b"1e-400", b"NaN", b"12345678901234567890", b'"0.30000000000000004"'),
        *(b',"field":"\xff"', b',"x\xfe":1', b',"quality":"ACTUAL"', b"9999-12-31T23:59:59Z", b"0001-01-01T00:00:00Z"),
        *(b"+23:59", b"-23:59", b".999999999", PLAIN),
    ),
    {
        "lines": lambda count: b"\n".join([PLAIN] * count),
        "wrong lines": lambda count: b"{}\n" * count,
        "blank lines": lambda count: b"\n" * count,
        "series": lambda count: b"\n".join(PLAIN.replace(b'"a"', b'"%d"' % number) for number in range(count)),
    },
)
