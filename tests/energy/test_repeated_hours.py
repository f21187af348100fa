"""Local times that occur twice: which instants they may mean, and what the order of lines decides."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.support.chance import examples
from wattgate.clock import to_ms
from wattgate.energy.local_times import LocalTimes, local_ms
from wattgate.energy.repeated_hours import DayLine, resolve_repeated

HOUR_MS, MINUTE_MS = 3_600_000, 60_000


def day_lines(text: str) -> list[DayLine]:
    """Return the lines of a day from times such as "00:30 01:00 01:30". The hour from 01:00 on occurs twice."""
    lines = []
    for number, word in enumerate(text.split()):
        time, _, content = word.partition("=")
        hours, minutes = map(int, time.split(":"))
        lines.append(DayLine((hours * 60 + minutes) * MINUTE_MS, hours == 1, content or number))
    return lines


@pytest.mark.parametrize(
    ("times", "occurrences"),
    [
        ("00:30 01:00 01:30 01:00 01:30 02:00", [0, 0, 1, 1]),
        ("02:00 01:30 01:00 01:30 01:00 00:30", [1, 1, 0, 0]),
        ("02:00 01:30 01:00 01:30 01:00", [1, 1, 0, 0]),
        ("01:00 01:30 01:00 01:30", [0, 0, 1, 1]),
        # gaps
        ("00:30 01:30 01:00 01:30 02:00", [0, 1, 1]),
        ("00:30 01:00 01:30 01:00 02:00", [0, 0, 1]),
        ("00:00 01:30 01:00 05:00", [0, 1]),
        ("05:00 01:00 01:30 00:00", [1, 0]),
        # hourly samples, and samples at any time
        ("00:00 01:00 01:00 02:00", [0, 1]),
        ("02:00 01:00 01:00 00:00", [1, 0]),
        ("00:59 01:00 01:20 01:59 01:03 01:04 01:58 03:00", [0, 0, 0, 1, 1, 1]),
        # the day twice, and a line after the night twice
        ("00:30=a 01:00=b 01:30=c 01:00=d 01:30=e " * 2, [0, 0, 1, 1, 0, 0, 1, 1]),
        ("00:30 01:00 01:30 01:00 01:30 02:00=a 03:00 02:00=a", [0, 0, 1, 1]),
    ],
)
def test_order_decides(times: str, occurrences: list[int]) -> None:
    assert resolve_repeated(day_lines(times), HOUR_MS) == occurrences


@pytest.mark.parametrize(
    "times",
    [
        "00:30 01:00 02:00",
        "00:30 01:00 01:30 02:00",
        "01:00 01:00",
        "01:00 01:30 01:00",
        "01:00 01:30",
        "01:30 01:00",
        # sorted by local time, with and without gaps
        "00:30 01:00 01:00 01:30 01:30 02:00",
        "02:00 01:30 01:30 01:00 01:00 00:30",
        "00:30 01:00 01:00 01:30 02:00",
        "00:30 01:00 01:30 01:30 02:00",
        "00:30 01:00 01:00 02:00",
        # neither ascending nor descending
        "00:30 01:30 01:00 01:30 01:00 02:00",
        "00:30 01:00 01:30 01:00 01:30 01:00 01:30 02:00",
        "02:00 01:00 01:30 01:00 01:30 00:30",
        "00:30 01:00 02:00 01:30 01:00 01:30",
        "01:00 01:30 01:00 01:30 02:00 00:30",
        "00:00 00:30 00:00 01:00 01:30 01:00 01:30",
        # the same two lines twice may be one hour twice
        "01:00=a 01:30=b 01:00=a 01:30=b",
        "",
    ],
)
def test_order_does_not_decide(times: str) -> None:
    assert resolve_repeated(day_lines(times), HOUR_MS) is None


@pytest.mark.parametrize(
    ("zone", "local", "instants"),
    [
        ("Europe/London", "2025-06-01T12:00:00", ["2025-06-01T11:00"]),
        ("Europe/London", "2025-10-26T00:59:59", ["2025-10-25T23:59:59"]),
        ("Europe/London", "2025-10-26T01:00:00", ["2025-10-26T00:00", "2025-10-26T01:00"]),
        ("Europe/London", "2025-10-26T02:00:00", ["2025-10-26T02:00"]),
        ("Europe/London", "2025-03-30T01:00:00", []),
        ("Europe/London", "2025-03-30T02:00:00", ["2025-03-30T01:00"]),
        ("Australia/Lord_Howe", "2025-04-06T01:30:00", ["2025-04-05T14:30", "2025-04-05T15:00"]),
        ("Antarctica/Troll", "2025-10-26T01:00:00", ["2025-10-25T23:00", "2025-10-26T01:00"]),
        ("UTC", "2025-10-26T01:00:00", ["2025-10-26T01:00"]),
    ],
)
def test_instants_of_a_local_time(zone: str, local: str, instants: list[str]) -> None:
    expected = tuple(to_ms(datetime.fromisoformat(instant).replace(tzinfo=UTC)) for instant in instants)
    assert LocalTimes(ZoneInfo(zone)).instants(datetime.fromisoformat(local)) == expected


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        ("Europe/London", {"2025-10-26"}),
        ("America/Havana", {"2025-11-02"}),  # 01:00 becomes 00:00
        ("America/Asuncion", {"2022-03-26"}),  # 24:00 becomes 23:00
        ("America/St_Johns", {"1990-10-27", "1990-10-28"}),  # 00:01 becomes 23:01
        ("Africa/Monrovia", set()),  # 1972-01-07: forward by 44 minutes and 30 seconds
    ],
)
def test_days_with_repeated_times(zone: str, days: set[str]) -> None:
    times = LocalTimes(ZoneInfo(zone))
    year = date.fromisoformat(min(days)).year if days else 1972
    all_days = [date(year, 1, 1) + timedelta(days=n) for n in range(365)]
    found = {day for day in all_days if times.day(day).night is not None}
    assert days <= {day.isoformat() for day in found}
    assert len({times.day(day).night for day in found}) == (1 if days else 0) or zone == "America/St_Johns"


class HalfHour(NamedTuple):
    """A half hour of the year: its instant, its local time, and all instants which that time may mean."""

    at: int
    local: datetime
    candidates: tuple[int, ...]


@cache
def year_of(zone: str) -> tuple[LocalTimes, list[HalfHour]]:
    """Return the half hours of 2025 in a zone, in ascending order."""
    times, tz = LocalTimes(ZoneInfo(zone)), ZoneInfo(zone)
    start, stop = (datetime(year, 1, 1, tzinfo=tz).astimezone(UTC) for year in (2025, 2026))
    half_hours = []
    while start < stop:
        local = start.astimezone(tz).replace(tzinfo=None)
        half_hours.append(HalfHour(to_ms(start), local, times.instants(local)))
        start += timedelta(minutes=30)
    return times, half_hours


def resolve_year(zone: str, lines: list[HalfHour]) -> dict[int, int | None]:
    """Return the instant of each line, or None if it is refused, as an import resolves them."""
    times, _ = year_of(zone)
    nights = defaultdict[int, list[int]](list)
    instants: dict[int, int | None] = {}
    for number, line in enumerate(lines):
        night = times.day(line.local.date()).night
        if night is not None:
            nights[night].append(number)
        if len(line.candidates) == 1:
            instants[number] = line.candidates[0]
    for numbers in nights.values():
        of_night = [lines[number] for number in numbers]
        repeated = [number for number in numbers if len(lines[number].candidates) == 2]
        first, second = lines[repeated[0]].candidates
        day = [DayLine(local_ms(line.local), len(line.candidates) == 2, line.at) for line in of_night]
        occurrences = resolve_repeated(day, second - first)
        for position, number in enumerate(repeated):
            candidates = lines[number].candidates
            instants[number] = None if occurrences is None else candidates[occurrences[position]]
    return instants


Order = Callable[[list[HalfHour], random.Random], list[HalfHour]]


def shuffled(lines: list[HalfHour], chance: random.Random) -> list[HalfHour]:
    return chance.sample(lines, len(lines))


def blocks(size: int) -> Order:
    def shuffle_blocks(lines: list[HalfHour], chance: random.Random) -> list[HalfHour]:
        parts = [lines[n : n + size] for n in range(0, len(lines), size)]
        return [line for part in chance.sample(parts, len(parts)) for line in part[:: chance.choice((1, -1))]]

    return shuffle_blocks


def exchanged(lines: list[HalfHour], chance: random.Random) -> list[HalfHour]:
    """Exchange a few lines of the night on which the clocks go back."""
    lines = lines[:: chance.choice((1, -1))]
    night = [number for number, line in enumerate(lines) if len(line.candidates) == 2]
    near = range(max(night[0] - 3, 0), min(night[-1] + 4, len(lines)))
    for _ in range(chance.randrange(1, 4)):
        one, other = chance.sample(near, 2)
        lines[one], lines[other] = lines[other], lines[one]
    return lines


def sorted_by_local_time(lines: list[HalfHour], chance: random.Random) -> list[HalfHour]:
    return sorted(lines[:: chance.choice((1, -1))], key=lambda line: line.local)


def interleaved(lines: list[HalfHour], chance: random.Random) -> list[HalfHour]:
    """Deal the lines into several piles, and put the piles on each other."""
    count = chance.randrange(2, 60)
    return [line for pile in range(count) for line in lines[pile::count]]


ORDERS: dict[str, Order] = {
    "ascending": lambda lines, _: list(lines),
    "descending": lambda lines, _: lines[::-1],
    "days": blocks(48),
    "small blocks": blocks(5),
    "pairs": blocks(2),
    "shuffled": shuffled,
    "exchanged": exchanged,
    "sorted by local time": sorted_by_local_time,
    "interleaved": interleaved,
}
ZONES = ("Europe/London", "Australia/Lord_Howe", "America/Havana", "Antarctica/Troll", "America/St_Johns")


def ordered_texts(zone: str) -> Iterator[list[HalfHour]]:
    """Yield the half hours of the days with repeated times in ascending and in descending order."""
    times, half_hours = year_of(zone)
    night = [line for line in half_hours if times.day(line.local.date()).night is not None]
    yield from (night, night[::-1])


@given(
    zone=st.sampled_from(ZONES),
    order=st.sampled_from(sorted(ORDERS)),
    seed=st.integers(0, 2**32),
    dropped=st.sampled_from([0, 0, 1, 4, 500]),
)
@example(zone="Europe/London", order="ascending", seed=0, dropped=0)
@example(zone="Europe/London", order="descending", seed=0, dropped=0)
@hypothesis_settings(max_examples=examples(60))
def test_any_order_of_a_year_gives_the_exact_year_or_refuses_named_lines(
    zone: str, order: str, seed: int, dropped: int
) -> None:
    times, half_hours = year_of(zone)
    chance = random.Random(seed)
    missing = set(chance.sample(range(len(half_hours)), dropped))
    present = [line for number, line in enumerate(half_hours) if number not in missing]
    lines = ORDERS[order](present, chance)
    instants = resolve_year(zone, lines)
    refused = [lines[number] for number, at in instants.items() if at is None]
    assert all(len(line.candidates) == 2 and line.at in line.candidates for line in refused)
    night = [line for line in lines if times.day(line.local.date()).night is not None]
    true_instants = {number: line.at for number, line in enumerate(lines)}
    for text in ordered_texts(zone):
        kept = [line for line in text if line in night]
        if [line.local for line in kept] == [line.local for line in night]:
            # the file is the same text as an ordered one, also if two lines of one local time are exchanged
            numbers = [number for number, line in enumerate(lines) if line in set(night)]
            true_instants |= {number: line.at for number, line in zip(numbers, kept, strict=True)}
            assert dropped or not refused
            break
    stored = {number: at for number, at in instants.items() if at is not None}
    assert stored == {number: true_instants[number] for number in stored}
    assert len(set(stored.values())) == len(stored)
