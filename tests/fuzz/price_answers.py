"""Answers of price sources: prices in order that do not overlap, and no other error than BadInput."""

from itertools import pairwise
from pathlib import Path

from tests.fuzz.harness import MAX_INPUT_BYTES, Harness
from wattgate.errors import BadInput
from wattgate.price_sources.answers import read_answer
from wattgate.price_sources.sources import packaged_source, source_names

ANSWERS = Path(__file__).parents[1] / "price_sources" / "answers"
SOURCES = [packaged_source(name) for name in source_names()]
PARAMETERS = {"resolution": "PT15M", "currency": "NOK", "day": "today", "area": "NO1", "channel": "general"}


def check(data: bytes) -> bool:
    accepted = [read(data, number) for number in range(len(SOURCES))]
    return any(accepted)


def read(data: bytes, number: int) -> bool:
    """Check the prices of an answer, and return whether there is one."""
    try:
        answer = read_answer(SOURCES[number], data, PARAMETERS)
    except BadInput:
        return False
    assert all(price.start < price.end and price.rate.is_finite() for price in answer.prices)
    assert all(one.end <= other.start for one, other in pairwise(answer.prices))
    return bool(answer.prices)


SEEDS = tuple(file.read_bytes()[:MAX_INPUT_BYTES] for file in sorted(ANSWERS.glob("*")) if "corrected" not in file.name)
HOUR = b'{"start_timestamp":%d,"end_timestamp":%d,"marketprice":1}'
POINT = b"<Point><position>1</position><price.amount>1</price.amount></Point>"
ENTSOE = (
    b"<d><TimeSeries><Period><timeInterval><start>2026-01-01T00:00Z</start><end>2026-01-02T00:00Z</end></timeInterval>"
    b"<resolution>PT15M</resolution>"
)


def hours(count: int) -> bytes:
    """An answer of aWATTar with some hours."""
    first = 1_766_000_000_000
    rows = (HOUR % (first + 3_600_000 * hour, first + 3_600_000 * (hour + 1)) for hour in range(count))
    return b'{"data":[' + b",".join(rows) + b"]}"


HARNESS = Harness(
    "prices",
    check,
    SEEDS,
    (
        *(b"{", b"[", b'"', b",", b"null", b"1e999", b"-0", b"NaN", b"1E-400", b"9" * 40, b'"data"', b'"results"'),
        *(b"<Period>", b"</Period>", b"<!DOCTYPE a>", b"&lt;", b"PT0M", b"PT60M", b"2026-10-25T01:00Z", b"+99:99"),
        *(b"0001-01-01", b"9999-12-31T23:59:59Z", b"\xff", b"\0", POINT),
    ),
    {
        "hours": hours,
        "points": lambda count: ENTSOE + POINT * count + b"</Period></TimeSeries></d>",
        "elements": lambda count: ENTSOE + b"<a/>" * count + b"</Period></TimeSeries></d>",
        "levels": lambda count: b"[" * count + b"]" * count,
        "digits": lambda count: hours(1).replace(b"1}", b"9" * count + b"}"),
    },
)
