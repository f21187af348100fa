"""Lines of NDJSON that are parsed together, compared with the same lines one by one."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from wattgate.errors import GatewayError
from wattgate.operations.core.operation import Operation
from wattgate.operations.readings.bulk_recorder import BATCH_SIZE
from wattgate.operations.readings.bulk_recording import RecordedArrays
from wattgate.rest_compat.bulk_intake import MAX_LINE_BYTES, read_ndjson, record_stream

AT = "2026-03-01T00:00:00Z"
PLAIN = orjson.dumps({"resourceId": "a", "at": AT, "value": 1.5})


async def record(*chunks: bytes) -> tuple[Any, list[Any]]:
    """Return the result of a body, or its error, and the batches that it records."""
    batches: list[Any] = []

    async def run(operation: Operation, arguments: Mapping[str, Any]) -> RecordedArrays:
        batch = arguments["batch"]
        columns = (batch.series_index, batch.at, batch.value, batch.quality)
        batches.append((batch.series, *(column.tolist() for column in columns)))
        last = len(batch.at) - 1
        return RecordedArrays(last, [(last, "it is the last of its batch")])

    async def read() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    try:
        return await record_stream(read_ndjson, read(), run), batches
    except GatewayError as error:
        return error.message, batches


members = st.fixed_dictionaries(
    {
        "resourceId": st.sampled_from(["a", "b", "{", "}\n{", "é", "\ud800x"]).filter(
            lambda text: "\ud800" not in text
        ),
        "at": st.sampled_from([AT, "2026-03-01T00:30:00.000Z", "2026-03-01T01:00:00+01:00", "now", "2026-02-30", ""]),
        "value": st.one_of(
            st.floats(-1e6, 1e6), st.integers(-(10**20), 10**20), st.sampled_from(["1.5", "x", None, True])
        ),
    },
    optional={
        "field": st.sampled_from(["POWER", None, 1]),
        "quality": st.sampled_from(["", "estimated", "ACTUAL", "odd", None]),
        "unknown": st.sampled_from([1, {"a": {}}, [{}]]),
    },
)
usual = st.fixed_dictionaries({"resourceId": st.sampled_from("ab"), "at": st.just(AT), "value": st.floats(-10, 10)})
lines = st.one_of(
    st.lists(usual.map(orjson.dumps), min_size=1, max_size=6),
    st.lists(
        st.one_of(
            usual.map(orjson.dumps),
            members.map(lambda line: json.dumps(line, ensure_ascii=False).encode()),
            st.sampled_from(
                [
                    b"",
                    b" ",
                    b"null",
                    b"{",
                    b"}",
                    b"{}",
                    PLAIN[:-1],
                    PLAIN + b"\r",
                    PLAIN + PLAIN,
                    b"\xff",
                    b'{"a":"}{"}',
                ]
            ),
        ),
        max_size=6,
    ),
)


@given(lines, st.booleans(), st.integers(0, 400))
@example(texts=[PLAIN[:20], PLAIN[20:], PLAIN + b" " + PLAIN], ends_with_newline=False, split_at=0)
@example(texts=[PLAIN, b'{"resourceId":"a"}{"at":1', b"}"], ends_with_newline=True, split_at=0)
async def test_lines_together_equal_lines_alone(texts: list[bytes], ends_with_newline: bool, split_at: int) -> None:
    body = b"\n".join(texts) + (b"\n" if ends_with_newline else b"")
    together = await record(body[:split_at], body[split_at:])
    alone = await record(*(body[n : n + 1] for n in range(len(body))))  # one line ends in a chunk
    assert together == alone
    with_spaces = await record(b"\n".join(text + b" " for text in texts))  # which no line of the usual form has
    assert with_spaces == together


async def test_batches_end_at_the_same_line() -> None:
    body = b"\n".join([PLAIN] * (BATCH_SIZE + 10))
    for size in (100_000, 1_000_000, len(body)):
        result, batches = await record(*(body[n : n + size] for n in range(0, len(body), size)))
        assert [len(batch[1]) for batch in batches] == [BATCH_SIZE, 10]
        assert [problem["line"] for problem in result["problems"]] == [BATCH_SIZE, BATCH_SIZE + 10]


async def test_long_line_is_refused_among_plain_lines() -> None:
    long = orjson.dumps({"resourceId": "a", "at": AT, "value": 1.5, "field": "x" * MAX_LINE_BYTES})
    result, batches = await record(b"\n".join([PLAIN, long, PLAIN]))
    assert len(batches[0][1]) == 2
    assert result["problems"][0] == {"line": 2, "message": "is longer than 65,536 bytes"}
