"""Each price source reads its recorded answer: a night with a clock change, prices below zero, a missing hour.

The answers have the form that the sources document, with prices of our own.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from wattgate.clock import from_ms, to_ms
from wattgate.errors import BadInput
from wattgate.price_sources import sources
from wattgate.price_sources.answers import Answer, SourcePrice, read_answer, read_page
from wattgate.price_sources.sources import packaged_source, parse_source, source_names

ANSWERS = Path(__file__).parent / "answers"
MAX_LINES = 60
"""A price source is at most so many lines of data."""


class Case(NamedTuple):
    """The answer of a source: its first start, the prices in turn (None: no price), and their length."""

    first: datetime
    minutes: int
    rates: str
    corrected: str
    """The first price in the corrected answer."""

    currency: str
    parameters: Mapping[str, str] = {}


NIGHT = datetime(2026, 10, 25, tzinfo=UTC)
SYDNEY = datetime(2026, 10, 3, 15, tzinfo=UTC)
CASES: dict[str, Case] = {
    "octopus": Case(NIGHT, 30, "0.123456 0.11025 -0.012075 0 - - 0.0945 0.084", "0.135", "GBP"),
    "entsoe": Case(
        NIGHT,
        15,
        "0.1011 0.1 0.1 -0.00251 -0.00251 -0.00251 0 0 - - - - 0.0888 0.0888 0.0888 0.0888",
        "0.0999",
        "EUR",
        {"resolution": "PT15M"},
    ),
    "energy-charts": Case(
        NIGHT,
        15,
        "0.08501 0.0802 0.075 0.07033 -0.005 -0.0125 0 0.00101 - - - - 0.06 0.061 0.062 0.063",
        "0.0865",
        "EUR",
    ),
    "tibber": Case(
        NIGHT,
        15,
        "1.2345 1.2 1.1 1 0.5 0.4 -0.0312 0.2 - - - - 0.9 0.91 0.92 0.93",
        "1.3",
        "NOK",
        {"currency": "NOK", "day": "today"},
    ),
    "awattar": Case(NIGHT, 60, "0.0933 -0.00821 - 0.055", "0.0941", "EUR"),
    "amber": Case(SYDNEY, 30, "0.2845678 0.271 -0.035 0.2 - - 0.255 0.265", "0.301", "AUD", {"channel": "general"}),
    "nord-pool": Case(NIGHT, 60, "0.51234 -0.0105 - 0.4987", "0.52", "NOK", {"currency": "NOK", "area": "NO1"}),
}


def content_of(name: str, suffix: str = "") -> bytes:
    (file,) = ANSWERS.glob(f"{name}{suffix}.*")
    return file.read_bytes()


def read(name: str, suffix: str = "") -> Answer:
    return read_answer(packaged_source(name), content_of(name, suffix), CASES[name].parameters)


def expected(case: Case, *, corrected: bool = False) -> list[SourcePrice]:
    length = case.minutes * 60_000
    rates = case.rates.split()
    if corrected:
        rates[0] = case.corrected
    starts = [to_ms(case.first) + length * index for index in range(len(rates))]
    return [
        SourcePrice(start, start + length, Decimal(rate))
        for start, rate in zip(starts, rates, strict=True)
        if rate != "-"
    ]


@pytest.mark.every_case("each price source is a form of its own")
@pytest.mark.parametrize("name", source_names())
def test_source_reads_its_answer_and_the_corrected_one(name: str) -> None:
    case = CASES[name]
    for suffix in ("", "-corrected"):
        answer = read(name, suffix)
        assert (answer.prices, answer.problems) == (expected(case, corrected=bool(suffix)), [])
        page = read_page(packaged_source(name), content_of(name, suffix), case.parameters)
        assert (answer.currency, page.next_page) == (case.currency, None)
        missing_from = to_ms(case.first) + 2 * 3_600_000
        assert answer.gaps == [(missing_from, missing_from + 3_600_000)]
    assert len(sources.source_text(name).splitlines()) <= MAX_LINES
    source = packaged_source(name)
    assert all((source.country, source.website, source.licence))
    assert source.request


def source_of(**changes: Any) -> sources.PriceSource:
    """A source of rows with `at` and `price`, with some members changed."""
    given = {"title": "Own", "format": "json", "currency": "EUR", "factor": "1", "vat": "excluded"}
    prices = {"rows": "rows", "start": "at", "price": "price", **changes.pop("prices", {})}
    return msgspec.convert({**given, "name": "own", "prices": prices, **changes}, sources.PriceSource)


def read_rows(*rows: Any, **changes: Any) -> Answer:
    return read_answer(source_of(**changes), json.dumps({"rows": rows}).encode(), {})


HALF_HOURS = {"prices": {"minutes": 30}}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"at": "2026-10-25T00:00Z", "price": "a lot"}, "price is 'a lot', not a number"),
        ({"at": "2026-10-25T00:00Z", "price": "Infinity"}, "not a number up to"),
        ({"at": "2026-10-25T00:00Z", "price": "1e999999"}, "not a number up to"),
        ({"at": "2026-10-25T00:00Z", "price": "1e1000001"}, "not a number up to"),
        ({"at": "2026-10-25T00:00Z", "price": "-1e1000001"}, "not a number up to"),
        ({"at": "2026-10-25T00:00Z", "price": [1, 2]}, "price has several values"),
        ({"at": "2026-10-25T00:00Z", "price": {"value": 1}}, "price has several values"),
        ({"at": "25.10.2026", "price": 1}, "'25.10.2026' is not a time"),
        ({"at": "", "price": 1}, "'' is not a time"),
        ({"at": "1026-10-25T00:00Z", "price": 1}, "is not from 2000 to 2099"),
        ({"at": "2026-10-25T00:00", "price": 1}, "has no offset, and the price source no zone"),
    ],
)
def test_unclear_price_is_named_and_the_others_are_read(row: Any, problem: str) -> None:
    answer = read_rows(row, {"at": "2026-10-26T00:00Z", "price": 2}, **HALF_HOURS)
    assert [price.rate for price in answer.prices] == [2]
    assert re.search(f"price 1: .*{re.escape(problem)}", answer.problems[0])


@pytest.mark.parametrize("at", ["1e1000001", "-1e1000001", "1e999999", "NaN", "Infinity", "1e-1000001"])
def test_number_that_is_no_time_is_named(at: str) -> None:
    for times in ("seconds", "milliseconds"):
        answer = read_rows({"at": at, "price": 1}, times=times, **HALF_HOURS)
        assert answer.prices == []
        assert re.search(f"price 1: .*{at}.* is not (a time|from 2000 to 2099)", answer.problems[0])


def test_two_prices_for_one_time_are_both_refused_and_a_repeated_one_is_not() -> None:
    rows = [
        {"at": f"2026-10-25T0{hour}:00Z", "price": price} for hour, price in ((0, 1), (1, 2), (1, 3), (2, 4), (2, 4))
    ]
    answer = read_rows(*rows, **HALF_HOURS)
    assert [price.rate for price in answer.prices] == [1, 4]
    assert answer.problems == ["two prices hold at 2026-10-25T01:00:00+00:00: 2 and 3"]


@pytest.mark.parametrize(
    ("rows", "kept", "times"),
    [
        ("0-60:10 0-120:20 60-120:30 120-180:40", "120-180:40", "0 60"),
        ("0-240:1 0-60:2 60-120:3 180-300:4 300-360:5", "300-360:5", "0 60 180"),
        ("0-60:1 0-120:1 30-180:1 180-240:1", "0-180:1 180-240:1", ""),
        ("0-180:1 60-120:1 90-150:2", "", "90"),
    ],
)
def test_prices_that_overlap_with_different_rates_are_all_refused(rows: str, kept: str, times: str) -> None:
    def spans(text: str) -> list[SourcePrice]:
        parts = [re.split("[-:]", span) for span in text.split()]
        return [
            SourcePrice(to_ms(NIGHT) + int(start) * 60_000, to_ms(NIGHT) + int(end) * 60_000, Decimal(rate))
            for start, end, rate in parts
        ]

    given = [{"at": price.start, "to": price.end, "price": str(price.rate)} for price in spans(rows)]
    for turn in (given, given[::-1]):
        answer = read_rows(*turn, times="milliseconds", prices={"end": "to"})
        assert answer.prices == spans(kept)
        assert [problem.split(": ")[0] for problem in answer.problems] == [
            f"two prices hold at {(NIGHT + timedelta(minutes=int(minutes))).isoformat()}" for minutes in times.split()
        ]


def test_local_times_of_a_clock_change_are_told_apart_by_their_order() -> None:
    local = ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00"]
    rows = [{"at": f"2026-10-25T{clock}", "price": number} for number, clock in enumerate(local)]
    answer = read_rows(*rows, zone="Europe/Brussels", **HALF_HOURS)
    assert [price.rate for price in answer.prices] == [0, 1, 2, 3, 4, 5]
    assert (answer.gaps, answer.problems) == ([], [])
    assert answer.prices[0].start == to_ms(datetime(2026, 10, 24, 23, 30, tzinfo=UTC))
    skipped = read_rows({"at": "2026-03-29T02:30", "price": 1}, zone="Europe/Brussels", **HALF_HOURS)
    assert skipped.problems == ["price 1: the time 2026-03-29T02:30:00 does not exist in Europe/Brussels"]


@pytest.mark.parametrize(
    ("rows", "held", "unclear"),
    [
        ("0:1 60:- 120:3", "0-60 120-180", ""),  # a time without a price ends the one before it
        ("0:1 15:a 30:3", "0-15 30-45", ""),  # and so does a price that is not clear
        ("0:1 60:1 120:1 135:1 150:1", "0-60 60-120 120-135 135-150 150-165", ""),
        ("0:1 15:1 30:1 90:1 150:1", "0-15 15-30 30-45 90-150 150-210", ""),
        ("0:1 30:1 45:1 60:1 90:1", "0-15 30-45 45-60 60-75 90-105", ""),  # the quarters of 15 and 75 are missing
        ("0:1", "", "0"),
        ("0:1 0:1", "", "0"),
        ("0:1 288000:3", "", "0 288000"),
        ("0:1 15:1 1440:3 2880:4", "0-15 15-30", "1440 2880"),
    ],
)
@pytest.mark.parametrize("columns", [False, True])
def test_price_without_an_end_holds_for_the_shorter_step_beside_it(
    rows: str, held: str, unclear: str, columns: bool
) -> None:
    def at(minutes: str) -> int:
        return to_ms(NIGHT) + int(minutes) * 60_000

    pairs = [row.split(":") for row in rows.split()]
    values = [(at(minutes), {"-": None, "a": "a lot"}.get(rate, rate)) for minutes, rate in pairs]
    if columns:
        table = {"at": [start for start, _ in values], "price": [rate for _, rate in values]}
        answer = read_rows(table, times="milliseconds", prices={"columns": True})
    else:
        answer = read_rows(*({"at": start, "price": rate} for start, rate in values), times="milliseconds")
    ends = [tuple(map(at, span.split("-"))) for span in held.split()]
    assert [(price.start, price.end) for price in answer.prices] == ends
    problems = [problem for problem in answer.problems if "a lot" not in problem]
    assert len(answer.problems) - len(problems) == rows.count("a")
    for minutes, problem in zip(unclear.split(), problems, strict=True):
        shown = from_ms(at(minutes)).isoformat()
        assert problem.startswith(f"the price at {shown} has no end, and no other time is at most 60 minutes away.")
        assert "Name the end or the minutes of prices in the file of the price source" in problem


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Too many requests</html>", "The answer is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"rows": []}', "has no prices at 'rows'"),
        (b'{"error": "unknown product"}', "has no prices at 'rows'"),
        (b'{"rows": [{"at": "2026-10-25T00:00Z", "price": NaN}]}', "NaN is no number"),
        (b"\xff\xfe", "The answer is not JSON"),
        (b" " * (16 * 2**20 + 1), "more than 16,777,216 bytes"),
    ],
)
def test_answer_of_another_form_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_answer(source_of(), content, {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<a>" * 100 + b"</a>" * 100, "more than 64 elements in each other"),
        (b'<!DOCTYPE a [<!ENTITY e "1">]><a><TimeSeries>&e;</TimeSeries></a>', "The answer is not XML"),
        (b"<a><TimeSeries></a>", "The answer is not XML"),
        (b"<a/>", "has no prices"),
        (b"<a>text</a>", "has no prices"),
        (b"", "The answer is not XML"),
    ],
)
def test_xml_of_another_form_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_answer(packaged_source("entsoe"), content, {"resolution": "PT15M"})


@pytest.mark.every_case("each price source states its currency or its unit at a place of its own")
@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("nord-pool", b'"NOK"', b'"EUR"', "The answer is in 'EUR' at 'currency', and nord-pool reads it as 'NOK'"),
        ("entsoe", b">EUR<", b">PLN<", "in 'PLN' at 'TimeSeries/currency_Unit.name', and entsoe reads it as 'EUR'"),
        ("entsoe", b">MWH<", b">KWH<", "in 'KWH' at 'TimeSeries/price_Measure_Unit.name', and entsoe reads it as"),
        ("awattar", b"Eur/MWh", b"Cent/kWh", "in 'Cent/kWh' at 'data/unit', and awattar reads it as 'Eur/MWh'"),
        ("energy-charts", b"EUR / MWh", b"PLN / MWh", "in 'PLN / MWh' at 'unit', and energy-charts reads it as"),
        ("tibber", b'"NOK"', b'"SEK"', "today/currency', and tibber reads it as 'NOK'"),
    ],
)
def test_answer_in_another_currency_or_unit_is_refused(name: str, old: bytes, new: bytes, problem: str) -> None:
    content = content_of(name).replace(old, new, 1)
    assert content != content_of(name)
    with pytest.raises(BadInput, match=re.escape(problem)):
        read_answer(packaged_source(name), content, CASES[name].parameters)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"<position>1</position>", b"<position>0</position>", "position '0' is not from 1 to 8"),
        (b"<position>2</position>", b"<position>9</position>", "position '9' is not from 1 to 8"),
        (b"<position>2</position>", b"<position>1</position>", "position 1 has two prices"),
        (
            b"<position>1</position><price.amount>101.10",
            b"<position>3</position><price.amount>101.10",
            "position 1 has no",
        ),
        (b"<resolution>PT15M", b"<resolution>PT25M", "has no prices"),
        (b"<end>2026-10-25T02:00Z", b"<end>2026-10-25T02:10Z", "its start, its end and its resolution do not fit"),
        (b"<end>2026-10-25T02:00Z", b"<end>2026-10-24T02:00Z", "its start, its end and its resolution do not fit"),
    ],
)
def test_curve_that_does_not_fit_its_time_is_refused(old: bytes, new: bytes, problem: str) -> None:
    content = content_of("entsoe").replace(old, new, 1)
    assert content != content_of("entsoe")
    answer = read_answer(packaged_source("entsoe"), content, {"resolution": "PT15M"})
    if problem == "has no prices":  # another resolution is left out
        assert len(answer.prices) == 4
    else:
        assert problem in answer.problems[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('currency = "EUR"', "currency"),
        ('factor = "0"', "factor '0' is not a number above 0"),
        ('factor = "NaN"', "factor 'NaN' is not a number above 0"),
        ('zone = "Europe/Bruxelles"', "zone"),
        ('colour = "blue"', "unknown field"),
        ("factor = 1", "Expected `str`"),
        ('currency = "{unit}"', r"\{unit\} is not in parameters"),
        ("factor =", "is not TOML"),
        ('unit_path = "data/unit"', "unit and unit_path belong together"),
    ],
)
def test_source_that_is_not_valid_is_refused_with_its_place(change: str, message: str) -> None:
    name = change.partition(" ")[0]
    text = sources.source_text("awattar").replace('unit = "Eur/MWh"\n', "")
    lines = [line for line in text.splitlines() if not line.startswith((f"{name} ", "unit_path "))]
    change = change.replace("EUR", "EURO")
    with pytest.raises(BadInput, match=f"The price source own .*{message}"):
        parse_source("\n".join([change, *lines]).encode(), "own")
