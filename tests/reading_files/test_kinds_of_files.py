"""Kinds of files that people have: the inspection of each proposes options that read it, or asks."""

import io
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from wattgate.enums import DateOrder, Times
from wattgate.errors import BadInput
from wattgate.reading_files.derived_energy import FileReading, RefusedLine
from wattgate.reading_files.inspection import inspect_sample, option_words
from wattgate.reading_files.profiles import ProfileOptions, packaged_profile, with_options
from wattgate.reading_files.reader import ReadingFile

LONDON = ZoneInfo("Europe/London")
DAYS = [f"{day:02}" for day in range(1, 15)]
CLOCKS = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 30)]


class Kind(NamedTuple):
    """A file, the options that it asks for with their answers, the words of the command, and the sum of its values."""

    content: str
    answers: dict[str, Any]
    words: str
    total: float
    encoding: str = "utf-8"


def lines(header: str, form: str, value: str = "0.5", days: list[str] = DAYS) -> str:
    rows = [form.format(day=day, clock=clock, value=value) for day in days for clock in CLOCKS]
    return "\n".join([header, *rows]) + "\n"


START = {"times": Times.START}
HALVES = 0.5 * len(DAYS) * 48

KINDS = {
    "decimal comma with semicolons": Kind(
        lines("localTime;value", "2026-03-{day}T{clock}:00;{value}", "0,5"),
        {},
        "--profile wattgate --decimal comma",
        HALVES,
    ),
    "thousands marks": Kind(
        lines("Start,Wh", '{day}/03/2026 {clock},"{value}"', "1,500.5"),
        {},
        "--profile english-spreadsheet --decimal point --thousands comma",
        1500.5 * len(DAYS) * 48,
    ),
    "a number that may have a thousands mark": Kind(
        lines("Start,Wh", '{day}/03/2026 {clock},"{value}"', "1,500"),
        {"marks": ("decimal", "comma")},
        "--profile english-spreadsheet --thousands comma|--decimal comma",
        1.5 * len(DAYS) * 48,
    ),
    "tabs in UTF-16": Kind(
        lines("Start\tEnd\tkWh", "{day}/03/2026 {clock}\t\t{value}").replace("\t\t", "\t").replace("\tEnd", ""),
        {},
        "--profile english-spreadsheet",
        HALVES,
        "utf-16",
    ),
    "a declared delimiter": Kind(
        "sep=;\n" + lines("Datum;Uhrzeit;Verbrauch (kWh)", "{day}.03.2026;{clock};{value}", "0,5"),
        START,
        "--profile german-spreadsheet --times start|end",
        HALVES,
    ),
    "day or month first": Kind(
        lines("when,usage kWh", "{day}/03/2026 {clock},{value}", days=["02", "03"]),
        {**START, "date_order": DateOrder.DAY_FIRST},
        "--profile spreadsheet --delimiter comma --decimal point --unit kWh --times start|end "
        "--date-order day-first|month-first --column time=when --column value=usage kWh",
        48.0,
    ),
    "day first, as a day 13 shows": Kind(
        lines("when,usage kWh", "{day}/03/2026 {clock},{value}"),
        START,
        "--profile spreadsheet --delimiter comma --decimal point --date-order day-first --unit kWh --times start|end "
        "--column time=when --column value=usage kWh",
        HALVES,
    ),
    "hours before and after noon": Kind(
        "\n".join(["localTime,value", "2026-03-02 12:30:00 AM,0.5", "2026-03-02 01:00:00 PM,0.25"]),
        {},
        "--profile wattgate",
        0.75,
    ),
    "24:00": Kind(
        "localTime,value\n2026-03-02T23:30:00,0.5\n2026-03-02T24:00:00,0.25\n", {}, "--profile wattgate", 0.75
    ),
    "start and end": Kind(
        "Start,End,kWh\n02/03/2026 00:00,02/03/2026 00:30,0.5\n02/03/2026 00:30,02/03/2026 01:00,0.25\n",
        {"date_order": "day-first"},
        "--profile english-spreadsheet --date-order day-first|month-first",
        0.75,
    ),
    "a preamble of account lines": Kind(
        "Account;A-1\nName;Ada Byron\n\n" + lines("Von;kWh", "{day}.03.2026 {clock};{value}", "0,5"),
        {},
        "--profile german-spreadsheet",
        HALVES,
    ),
    "mean power": Kind(
        "Start,End,kW\n02/03/2026 00:00,02/03/2026 00:30,3\n02/03/2026 00:30,02/03/2026 01:00,1\n",
        {"date_order": "day-first"},
        "--profile english-spreadsheet --date-order day-first|month-first",
        2.0,
    ),
    "meter points with an apostrophe": Kind(
        "Start,kWh,MPAN\n02/03/2026 00:00,0.5,'2300000000116\n02/03/2026 00:30,0.25,'2300000000116\n",
        {"date_order": "day-first"},
        "--profile english-spreadsheet --date-order day-first|month-first",
        0.75,
    ),
    "one line a day with 48 columns": Kind(
        f"Day,{','.join(CLOCKS)}\n" + "".join(f"2026-03-{day},{','.join(['0.5'] * 48)}\n" for day in DAYS),
        {"unit": "kWh"},
        "--profile wide --decimal point --unit kWh|Wh|MWh|kW|W|m3",
        HALVES,
    ),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.every_case("each is a kind of file that was refused without a way in")
def test_a_kind_of_file_is_read_as_its_inspection_proposes(name: str) -> None:
    kind = KINDS[name]
    content = kind.content.encode(kind.encoding)
    best = inspect_sample(content, is_whole=True, zone=LONDON).fits[0]
    assert " ".join(option_words(best)) == kind.words
    assert {question.option for question in best.questions} == {*kind.answers}
    answers: dict[str, Any] = dict(
        value if isinstance(value, tuple) else (name, value) for name, value in kind.answers.items()
    )
    answered = with_options(with_options(best.profile, best.options), ProfileOptions(**answers))
    events = list(ReadingFile(io.BytesIO(content), answered, LONDON))
    assert [event for event in events if isinstance(event, RefusedLine)] == []
    assert sum(event.value for event in events if isinstance(event, FileReading)) == pytest.approx(kind.total)


def test_a_meter_point_that_a_spreadsheet_rounded_is_left_out() -> None:
    content = "Start,kWh,MPAN\n02/03/2026 00:00,0.5,2.3E+12\n"
    best = inspect_sample(content.encode(), is_whole=True, zone=LONDON).fits[0]
    assert " ".join(option_words(best)).endswith("--column time=Start --column value=kWh")
    few = content.replace("2.3E+12", "'2300000000116") + "02/03/2026 00:30,0.5,'2300000000116\n" * 20
    best = inspect_sample((few + content.splitlines()[1]).encode(), is_whole=True, zone=LONDON).fits[0]
    ((_, reason),) = best.refused
    assert "leave it out with --column meter_point=" in reason


@pytest.mark.parametrize("content", [b"", b"\n\n", b"words without a table\n", b"\xff\xfe", b"<feed/>", b"100,NEM12\n"])
def test_files_that_no_profile_reads(content: bytes) -> None:
    assert inspect_sample(content, is_whole=True, zone=LONDON).fits == []


@pytest.mark.parametrize("times", ["start", "end"])
def test_midnight_with_the_date_of_the_day_that_ends_is_refused(times: str) -> None:
    """It was stored a day too early, without a word. Two meters of one day are no such file."""
    profile = with_options(packaged_profile("german-spreadsheet"), ProfileOptions(times=Times(times), interval="PT15M"))

    def refused(content: str) -> list[int]:
        events = ReadingFile(io.BytesIO(content.encode()), profile, LONDON)
        return [event.line for event in events if isinstance(event, RefusedLine)]

    quarters = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 15, 30, 45)]
    days = ("29.06.2025", "30.06.2025")
    header, last = "Datum;Verbrauch (kWh)\n", [*quarters[1:], "00:00"]
    assert refused(header + "".join(f"{day} {clock};0,1\n" for day in days for clock in last)) == [97, 193]
    assert refused(header + "".join(f"{day} {clock};0,1\n" for day in days for clock in quarters)) == []
    falling = [f"{day} {clock};0,1\n" for day in days for clock in quarters][::-1]
    assert refused(header + "".join(falling)) == []
    profile = packaged_profile("wattgate")
    two_meters = [f"{meter},2025-06-30T{clock}:00,0.1\n" for meter in ("a", "b") for clock in quarters]
    assert refused("resourceId,localTime,value\n" + "".join(two_meters)) == []


def test_an_archive_is_not_inspected() -> None:
    with pytest.raises(BadInput, match="gunzip"):
        inspect_sample(b"\x1f\x8b\x08", is_whole=True, zone=LONDON)
