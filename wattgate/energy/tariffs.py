"""What a tariff may say, and which of its bands holds when in a week. Pure."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from wattgate.clock import from_ms, iso, to_ms
from wattgate.energy.buckets import HALF_HOUR
from wattgate.enums import Period, TariffKind, Weekday
from wattgate.errors import Path, Problem

DAY_SLOTS = 48
WEEK_SLOTS = 7 * DAY_SLOTS
"""The half hours of a week, from Monday's midnight on."""

LARGEST_RATE = Decimal(10) ** 6
MOST_PARTS = 50
"""How many bands or blocks a tariff has at most."""

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=2 * 366)
"""How far ahead a tariff may be set."""

_EDGE = re.compile(r"^([01]\d|2[0-3]):(00|30)$", re.ASCII)
_CALENDAR = (Period.P1D, Period.P1W, Period.P1M, Period.P1Y)
_TAKES = {
    TariffKind.FLAT: {"rate"},
    TariffKind.TIME_OF_USE: {"rate", "bands"},
    TariffKind.BLOCK: {"blocks", "blockPeriod"},
    TariffKind.DYNAMIC: set[str](),
}


RATE_DECIMALS = 6
"""How exactly rates are kept: a millionth of a penny."""


class TariffBand(msgspec.Struct):
    """Hours of some weekdays that have a rate of their own, by the wall clock of the tariff's zone ("HH:MM").

    An end that is not after the start lies on the next day; such a band belongs to the weekday on which it starts.
    """

    name: str
    rate: Decimal
    weekdays: list[Weekday]
    start: str
    end: str


class TariffBlock(msgspec.Struct):
    """A rate for the energy of a period up to some amount (kWh); the last block has no limit."""

    rate: Decimal
    up_to: Decimal | None = None


class TariffTerms(Protocol):
    """The terms of a tariff, as the table of tariffs has them.

    Rates and the standing charge are pence per unit and pence per day; `vat_rate` is a percentage.
    """

    tariff_id: str
    name: str
    kind: TariffKind
    rate: Decimal | None
    bands: list[TariffBand]
    blocks: list[TariffBlock]
    block_period: Period | None
    standing_charge: Decimal
    vat_rate: Decimal
    time_zone: str
    valid_from: datetime
    version: int


def week_of(bands: Sequence[TariffBand]) -> list[int | None]:
    """By half hour of the week, the index of the band that holds in it; None outside every band."""
    week: list[int | None] = [None] * WEEK_SLOTS
    for index, band in enumerate(bands):
        for slot in _slots(band):
            week[slot] = index
    return week


def problems_of(tariff: TariffTerms, now: datetime) -> list[Problem]:
    """Everything that is wrong with a tariff, with its place in it (GraphQL names); none where it may be set."""
    return [
        *_problems_of_terms(tariff),
        *_problems_of_parts(tariff),
        *_problems_of_bands(tariff),
        *_problems_of_blocks(tariff.blocks),
        *_problems_of_validity(tariff.valid_from, now),
    ]


def settle(tariff: TariffTerms) -> None:
    """Bring the numbers of a tariff without problems to the form in which they are kept and read again."""
    tariff.rate = None if tariff.rate is None else round(tariff.rate, RATE_DECIMALS)
    tariff.standing_charge = round(tariff.standing_charge, RATE_DECIMALS)
    tariff.vat_rate = round(tariff.vat_rate, RATE_DECIMALS)
    for band in tariff.bands:
        band.rate = round(band.rate, RATE_DECIMALS)
    for block in tariff.blocks:
        block.rate = round(block.rate, RATE_DECIMALS)
        block.up_to = None if block.up_to is None else round(block.up_to, RATE_DECIMALS)


def problem_of_rate(rate: Decimal, *path: str | int) -> Iterator[Problem]:
    """The problem, if there is one, of a number that is to be kept as a rate."""
    if not rate.is_finite():
        yield Problem(path, f"{rate} is not a number")
    elif abs(rate) > LARGEST_RATE:
        yield Problem(path, f"{rate} is not between -{LARGEST_RATE:,} and {LARGEST_RATE:,}")
    elif rate != round(rate, RATE_DECIMALS):
        yield Problem(path, f"{rate} has more than {RATE_DECIMALS} decimal places")


def problem_of_price(at: datetime, rate: Decimal, tariff: TariffTerms) -> Problem | None:
    """What is wrong with a price of a dynamic tariff, if anything."""
    for problem in problem_of_rate(rate, "rate"):
        return problem
    if to_ms(at) % HALF_HOUR or at != from_ms(to_ms(at)):
        return Problem(("at",), f"{iso(at)} is not on the half hour")
    if to_ms(at) + HALF_HOUR <= to_ms(tariff.valid_from):
        return Problem(("at",), f"{iso(at)} is before the tariff is valid, from {iso(tariff.valid_from)} on")
    return None


def _problems_of_terms(tariff: TariffTerms) -> Iterator[Problem]:
    if not tariff.name.strip():
        yield Problem(("name",), "is empty")
    if tariff.rate is not None:
        yield from problem_of_rate(tariff.rate, "rate")
    yield from problem_of_rate(tariff.standing_charge, "standingCharge")
    yield from problem_of_rate(tariff.vat_rate, "vatRate")
    if tariff.vat_rate.is_finite() and not 0 <= tariff.vat_rate <= 100:
        yield Problem(("vatRate",), f"{tariff.vat_rate} is not between 0 and 100 percent")
    try:
        ZoneInfo(tariff.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield Problem(("timeZone",), f"{tariff.time_zone!r} is not an IANA time zone")


def _problems_of_parts(tariff: TariffTerms) -> Iterator[Problem]:
    """What a kind of tariff needs, and what it does not take."""
    given = {
        "rate": tariff.rate,
        "bands": tariff.bands,
        "blocks": tariff.blocks,
        "blockPeriod": tariff.block_period,
    }
    kind = tariff.kind.value
    for name in sorted(_TAKES[tariff.kind] - {"rate"}):
        if not given[name]:
            yield Problem((name,), f"is missing: a {kind} tariff needs it")
    for name, value in given.items():
        if name not in _TAKES[tariff.kind] and value not in (None, []):
            yield Problem((name,), f"does not belong to a {kind} tariff")
    if tariff.kind is TariffKind.FLAT and tariff.rate is None:
        yield Problem(("rate",), f"is missing: a {kind} tariff needs it")
    if tariff.block_period is not None and tariff.block_period not in _CALENDAR:
        yield Problem(("blockPeriod",), f"{tariff.block_period.value} is not a day, week, month or year")
    for name, parts in (("bands", len(tariff.bands)), ("blocks", len(tariff.blocks))):
        if parts > MOST_PARTS:
            yield Problem((name,), f"are more than {MOST_PARTS}")


def _problems_of_bands(tariff: TariffTerms) -> list[Problem]:
    bands = tariff.bands[:MOST_PARTS]
    problems = [problem for index, band in enumerate(bands) for problem in _problems_of_band(band, "bands", index)]
    if problems or tariff.kind is not TariffKind.TIME_OF_USE or not bands:
        return problems
    problems = list(_overlaps(bands))
    gap = next((slot for slot, band in enumerate(week_of(bands)) if band is None), None)
    if gap is not None and tariff.rate is None:
        problems.append(Problem(("rate",), f"is missing: no band holds on {_spoken(gap)}"))
    if gap is None and tariff.rate is not None:
        problems.append(Problem(("rate",), "applies never: the bands cover the whole week"))
    return problems


def _problems_of_band(band: TariffBand, *path: str | int) -> Iterator[Problem]:
    if not band.name.strip():
        yield Problem((*path, "name"), "is empty")
    yield from problem_of_rate(band.rate, *path, "rate")
    if not band.weekdays:
        yield Problem((*path, "weekdays"), "are empty")
    if len(set(band.weekdays)) < len(band.weekdays):
        yield Problem((*path, "weekdays"), "name a day twice")
    for name in ("start", "end"):
        edge = getattr(band, name)
        if not _EDGE.match(edge):
            yield Problem((*path, name), f"{edge!r} is not a half hour from 00:00 to 23:30")


def _overlaps(bands: Sequence[TariffBand]) -> Iterator[Problem]:
    """For each band that meets an earlier one: both, and where they meet first."""
    holds: dict[int, int] = {}
    for index, band in enumerate(bands):
        met: set[int] = set()
        for slot in sorted(_slots(band)):
            other = holds.setdefault(slot, index)
            if other != index and other not in met:
                met.add(other)
                message = f"{band.name!r} overlaps {bands[other].name!r} on {_spoken(slot)}"
                yield Problem(("bands", index), message)


def _problems_of_blocks(blocks: Sequence[TariffBlock]) -> Iterator[Problem]:
    for index, block in enumerate(blocks[:MOST_PARTS]):
        place: Path = ("blocks", index)
        yield from problem_of_rate(block.rate, *place, "rate")
        last = index == len(blocks) - 1
        if block.up_to is None:
            if not last:
                yield Problem((*place, "upTo"), "only the last block has no limit")
            continue
        yield from problem_of_rate(block.up_to, *place, "upTo")
        if last:
            yield Problem((*place, "upTo"), "the last block has no limit")
    limits = [Decimal(0), *(block.up_to for block in blocks if block.up_to is not None and block.up_to.is_finite())]
    if any(limit <= before for before, limit in pairwise(limits)):
        yield Problem(("blocks",), "do not ascend from 0")


def _problems_of_validity(valid_from: datetime, now: datetime) -> Iterator[Problem]:
    if valid_from < EARLIEST:
        yield Problem(("validFrom",), f"{iso(valid_from)} is before {iso(EARLIEST)}")
    if valid_from > now + AHEAD:
        yield Problem(("validFrom",), f"{iso(valid_from)} is more than two years ahead")


def _slots(band: TariffBand) -> Iterator[int]:
    """The half hours of the week in which a band holds."""
    start, end = _slot(band.start), _slot(band.end)
    length = (end - start) % DAY_SLOTS or DAY_SLOTS
    for weekday in band.weekdays:
        first = weekday.value * DAY_SLOTS + start
        yield from ((first + n) % WEEK_SLOTS for n in range(length))


def _slot(edge: str) -> int:
    hours, minutes = edge.split(":")
    return int(hours) * 2 + int(minutes) // 30


def _spoken(slot: int) -> str:
    weekday, slot = divmod(slot, DAY_SLOTS)
    return f"{Weekday(weekday).name} at {slot // 2:02d}:{slot % 2 * 30:02d}"
