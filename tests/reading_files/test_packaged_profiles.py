"""Each profile of the package reads its example: the sums by month, the number, and the first and last instant."""

import io
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from wattgate.clock import format_iso, from_ms
from wattgate.energy.local_times import LocalTimes
from wattgate.enums import Times
from wattgate.reading_files.derived_energy import FileReading, RefusedLine
from wattgate.reading_files.inspection import inspect_sample, option_words
from wattgate.reading_files.profiles import (
    FileProfile,
    ProfileOptions,
    packaged_profile,
    profile_names,
    with_options,
)
from wattgate.reading_files.reader import ReadingFile

EXAMPLES = Path(__file__).parents[1] / "data" / "reading_files"
IN_KWH = {"kWh": Decimal(1), "Wh": Decimal("0.001"), "": Decimal(1)}

LONDON, PARIS, BERLIN, AMSTERDAM = (
    ZoneInfo(name) for name in ("Europe/London", "Europe/Paris", "Europe/Berlin", "Europe/Amsterdam")
)


def read(content: bytes, profile: FileProfile, zone: tzinfo = UTC) -> tuple[list[FileReading], list[RefusedLine]]:
    events = list(ReadingFile(io.BytesIO(content), profile, zone))
    readings = [event for event in events if isinstance(event, FileReading)]
    return readings, [event for event in events if isinstance(event, RefusedLine)]


Summary = dict[str, tuple[dict[str, str], int, str, str]]


def summary(readings: list[FileReading], zone: tzinfo) -> Summary:
    """Return the sums in kWh by month, the number, and the first and last start of each classifier.

    Of a local time that occurs twice, it counts the first one: the import decides these by the order of the lines.
    """
    local, found = LocalTimes(zone), dict[str, list[tuple[datetime, Decimal]]]()
    for one in readings:
        at = one.time if one.time.tzinfo else from_ms(local.instants(one.time)[0])
        at = at.astimezone(UTC) - timedelta(milliseconds=one.shift_ms)
        energy = Decimal(repr(one.value)) * IN_KWH[one.series.unit]
        found.setdefault(one.series.classifier, []).append((at, energy))
    result = {}
    for classifier, rows in found.items():
        months = dict[str, Decimal]()
        for at, energy in rows:
            month = at.astimezone(zone).strftime("%Y-%m")
            months[month] = months.get(month, Decimal(0)) + energy
        first, last = min(rows)[0], max(rows)[0]
        sums = {month: f"{total.normalize():f}" for month, total in months.items()}
        result[classifier] = (sums, len(rows), format_iso(first)[:16], format_iso(last)[:16])
    return result


CASES: dict[str, tuple[str, ZoneInfo, ProfileOptions, Summary]] = {
    "dutch-p1": (
        "dutch-p1.csv",
        AMSTERDAM,
        ProfileOptions(),
        {
            "electricity.consumption": ({"2026-03": "15.482"}, 188, "2026-03-27T23:00", "2026-03-29T21:45"),
            "electricity.export": ({"2026-03": "2.46"}, 188, "2026-03-27T23:00", "2026-03-29T21:45"),
        },
    ),
    "enedis-load-curve": (
        "enedis-load-curve.csv",
        PARIS,
        ProfileOptions(),
        {"": ({"2026-10": "52.9435"}, 98, "2026-10-23T22:00", "2026-10-25T22:30")},
    ),
    "english-spreadsheet": (
        "english-spreadsheet.csv",
        LONDON,
        ProfileOptions(),
        {"": ({"2026-03": "54.269", "2026-04": "17.976"}, 190, "2026-03-29T00:00", "2026-04-01T22:30")},
    ),
    "french-spreadsheet": (
        "french-spreadsheet.csv",
        PARIS,
        ProfileOptions(encoding="cp1252"),
        {"": ({"2026-10": "55.375"}, 146, "2026-10-23T22:00", "2026-10-26T22:30")},
    ),
    "german-spreadsheet": (
        "german-spreadsheet.txt",
        BERLIN,
        ProfileOptions(times=Times.START),
        {"": ({"2026-01": "36.4", "2026-02": "18.264"}, 144, "2026-01-29T23:00", "2026-02-01T22:30")},
    ),
    "glow": (
        "glow.csv",
        LONDON,
        ProfileOptions(),
        {"": ({"2026-10": "37.207"}, 98, "2026-10-23T23:00", "2026-10-25T23:30")},
    ),
    "green-button": (
        "green-button.xml",
        LONDON,
        ProfileOptions(),
        {
            "electricity.consumption": ({"2026-03": "20.8559"}, 47, "2026-03-07T05:00", "2026-03-09T03:00"),
            "electricity.export": ({"2026-03": "5"}, 24, "2026-03-07T05:00", "2026-03-08T04:00"),
        },
    ),
    "n3rgy": (
        "n3rgy.csv",
        LONDON,
        ProfileOptions(times=Times.END),
        {"": ({"2026-02": "18.392", "2026-03": "18.008"}, 96, "2026-02-28T00:00", "2026-03-01T23:30")},
    ),
    "nem12": (
        "nem12.csv",
        LONDON,
        ProfileOptions(),
        {
            "electricity.consumption": ({"2026-04": "31.024"}, 96, "2026-04-03T14:00", "2026-04-05T13:30"),
            "electricity.export": ({"2026-04": "29.072"}, 96, "2026-04-03T14:00", "2026-04-05T13:30"),
        },
    ),
    "octopus": (
        "octopus.csv",
        LONDON,
        ProfileOptions(),
        {"": ({"2026-03": "35.909"}, 94, "2026-03-28T00:00", "2026-03-29T22:30")},
    ),
    "wattgate": (
        "wattgate.csv",
        LONDON,
        ProfileOptions(),
        {"": ({"2026-10": "37.207"}, 98, "2026-10-23T23:00", "2026-10-25T23:30")},
    ),
    "wide": (
        "wide.csv",
        LONDON,
        ProfileOptions(decimal="point", unit="kWh"),
        {"": ({"2026-03": "36.197", "2026-10": "37.687"}, 192, "2026-03-28T00:00", "2026-10-25T23:30")},
    ),
}


def test_each_profile_has_an_example() -> None:
    assert {*profile_names()} - {"spreadsheet"} == CASES.keys()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.every_case("each is the form of one source")
def test_a_profile_reads_its_example(name: str) -> None:
    file, zone, options, expected = CASES[name]
    profile = with_options(packaged_profile(name), options)
    readings, refused = read((EXAMPLES / file).read_bytes(), profile, zone)
    assert refused == []
    assert summary(readings, zone) == expected


@pytest.mark.parametrize("name", CASES)
@pytest.mark.every_case("each is the form of one source")
def test_inspection_proposes_the_profile_of_an_example(name: str) -> None:
    """The command has the options that the test of the profile needs, or asks for them."""
    file, zone, options, _ = CASES[name]
    content = (EXAMPLES / file).read_bytes()
    best = inspect_sample(content, is_whole=True, zone=zone).fits[0]
    words = option_words(best)
    assert words[:2] == ["--profile", name]
    asked = {question.option for question in best.questions}
    assert asked == {name for name in ("times", "unit", "epoch") if getattr(options, name) is not None}
    assert ("--encoding" in words) == (options.encoding is not None)
