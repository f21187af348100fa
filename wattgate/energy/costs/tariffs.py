"""Terms of tariffs, their validation, the band of each minute of a week and season, and the basis of a cost. No I/O."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from operator import itemgetter
from typing import Protocol
from zoneinfo import ZoneInfo

import msgspec

from wattgate.clock import format_iso, from_ms, to_ms
from wattgate.energy.buckets import FIXED_LENGTHS_MS, HOUR_MS, MINUTE_MS
from wattgate.energy.quantities import STORED_DECIMALS, to_major
from wattgate.enums import ComponentBasis, NoValueReason, Period, TariffKind, Weekday
from wattgate.errors import Problem, ProblemPath
from wattgate.time_zones import time_zone_problem

DAY_MINUTES = 24 * 60
WEEK_MINUTES = 7 * DAY_MINUTES
"""Minutes of a week, from midnight on Monday."""

MAX_RATE = Decimal(10) ** 6
"""Maximum of a stored rate in hundredths, and of the other numbers of a tariff."""

MAX_PARTS = 50
"""Maximum number of bands, and of blocks, of a tariff."""

PEAK_MINUTES = (15, 30, 60)
"""The times of which the mean power can be charged for."""

MAX_PEAK_DAYS = 10

MAX_COMPONENTS = 20
"""Maximum number of components of a tariff."""

MAX_STEPS = 12
"""Maximum number of steps of a component's peak."""

MAX_SEASONS = 12
"""Maximum number of different seasons of a tariff's bands: one for each month."""

MAX_FACTOR = 100
"""Maximum factor of a price formula."""

WINDOW_BASES = (ComponentBasis.ENERGY, ComponentBasis.PEAK)
"""The bases of components that can have a window."""

MIN_VALID_FROM = datetime(2000, 1, 1, tzinfo=UTC)
MAX_AHEAD = timedelta(days=2 * 366)
"""How far in the future a tariff may become valid, and a price may begin."""

_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)
_BLOCK_PERIODS = (Period.P1D, Period.P1W, Period.P1M, Period.P3M, Period.P1Y)
PRICE_PERIODS = (Period.PT5M, Period.PT15M, Period.PT30M, Period.PT1H)
"""How long a price of a dynamic tariff may hold."""

MAX_PRICE_MS = HOUR_MS
"""The longest time for which a price holds."""

_ALLOWED_PARTS = {
    TariffKind.FLAT: {"rate"},
    TariffKind.TIME_OF_USE: {"rate", "bands"},
    TariffKind.BLOCK: {"blocks", "blockPeriod"},
    TariffKind.DYNAMIC: {"pricePeriod", "priceFormula"},
}


RATE_DECIMALS = 6
"""Decimal places of stored rates: a millionth of a hundredth of the currency."""


class TariffBand(msgspec.Struct):
    """Hours of some weekdays that have their own rate, in the wall-clock time of the tariff's zone ("HH:MM").

    If `end` is not after `start`, the band ends on the next day. It belongs to the weekday on which it starts. With a
    season, it holds only on the local days of each year from `season_start` to `season_end` ("MM-DD"), both inclusive.
    If `season_end` is before `season_start`, the season ends in the next year. Its hours end at its last midnight.
    """

    name: str
    rate: Decimal
    weekdays: list[Weekday]
    start: str
    end: str
    season_start: str | None = None
    season_end: str | None = None


class ComponentWindow(msgspec.Struct, frozen=True):
    """Hours of some weekdays, and of a season, in which a component counts. The members are those of a band."""

    weekdays: tuple[Weekday, ...]
    start: str
    end: str
    season_start: str | None = None
    season_end: str | None = None


class PeakStep(msgspec.Struct):
    """The charge of a month whose peak is below a limit (kW). The last step has no limit."""

    rate: Decimal
    up_to: Decimal | None = None


Window = TariffBand | ComponentWindow


class TariffBlock(msgspec.Struct):
    """The rate of a period's energy up to a limit (kWh). The last block has no limit."""

    rate: Decimal
    up_to: Decimal | None = None


class PriceFormula(msgspec.Struct, frozen=True):
    """How a dynamic tariff makes its rate from a stored price: the price times `factor`, between `floor` and `cap`.

    Floor and cap are hundredths for a unit without VAT. They hold for the sum of the rate and of the components of
    energy that are `in_limits`.
    """

    factor: Decimal = Decimal(1)
    floor: Decimal | None = None
    cap: Decimal | None = None


class TariffComponent(msgspec.Struct):
    """A charge beside the rate of energy and the standing charge, such as a levy, a discount or the fee of a month.

    `rate` is for one unit of `basis`. Without a `vat_rate` (a percentage), the VAT of the tariff applies. With a
    `window`, a component of energy charges only for the energy in it. With `in_limits`, the floor and the cap of the
    price formula hold for the sum with it.

    The other members are those of a peak. It is the highest mean power of `peak_minutes` in a month, or the mean of the
    highest ones of `peak_days` different days. It is at least `minimum` (kW). With a `window`, only times that begin in
    it count, and a month without a day of its season has no charge. With `steps`, the month has the charge of the step
    in which its peak lies, and `rate` is 0.
    """

    name: str
    basis: ComponentBasis
    rate: Decimal
    vat_rate: Decimal | None = None
    peak_minutes: int | None = None
    peak_days: int | None = None
    minimum: Decimal | None = None
    window: ComponentWindow | None = None
    steps: list[PeakStep] = msgspec.field(default_factory=list)
    in_limits: bool = False


class TariffTerms(Protocol):
    """The terms of a tariff: the columns of the table of tariffs.

    Rates and the standing charge are hundredths of the currency per unit and per day; `vat_rate` is a percentage.
    `price_period` is the time for which each price of a dynamic tariff holds.
    """

    tariff_id: str
    name: str
    kind: TariffKind
    currency: str
    rate: Decimal | None
    bands: list[TariffBand]
    blocks: list[TariffBlock]
    block_period: Period | None
    price_period: Period | None
    price_formula: PriceFormula | None
    standing_charge: Decimal
    components: list[TariffComponent]
    vat_rate: Decimal
    time_zone: str
    valid_from: datetime
    version: int


def price_length_ms(tariff: TariffTerms) -> int:
    """Return how long each price of a dynamic tariff holds."""
    return FIXED_LENGTHS_MS[tariff.price_period or Period.PT30M]


def band_changes(bands: Sequence[Window]) -> list[tuple[int, int | None]]:
    """Return the minutes of the week at which another band begins, with its index; None outside all. Ignore seasons.

    The first minute is 0. Where bands overlap, the later one to begin counts.
    """
    changes, covered_to = list[tuple[int, int | None]](), 0
    for start, end, index in _intervals(bands):
        if start > covered_to:
            changes.append((covered_to, None))
        changes.append((start, index))
        covered_to = max(covered_to, end)
    return changes if covered_to == WEEK_MINUTES else [*changes, (covered_to, None)]


def day_of_year(day: date) -> str:
    """Return a day in the form of seasons, "MM-DD"."""
    return f"{day.month:02d}-{day.day:02d}"


def seasons(bands: Sequence[Window]) -> list[tuple[str, list[int]]]:
    """Return the days of the year ("MM-DD") from which other bands hold, with their indexes. The first day is 01-01."""
    if all(band.season_start is None for band in bands):
        return [("01-01", list(range(len(bands))))]
    firsts = {"01-01"}
    for band in bands:
        if band.season_start and band.season_end:
            firsts |= {band.season_start, day_of_year(_leap_day(band.season_end) + timedelta(days=1))}
    return [
        (first, [index for index, band in enumerate(bands) if _is_in_season(band, first)]) for first in sorted(firsts)
    ]


def window_test(window: ComponentWindow) -> Callable[[datetime], bool]:
    """Return the test of whether a wall-clock time is in a window."""
    changes = band_changes([window])

    def contains(local: datetime) -> bool:
        minute = local.weekday() * DAY_MINUTES + local.hour * 60 + local.minute
        _, inside = changes[bisect_right(changes, minute, key=itemgetter(0)) - 1]
        return inside is not None and _is_in_season(window, day_of_year(local))

    return contains


def has_season_in(window: ComponentWindow, first: date, last: date) -> bool:
    """Return whether some day from `first` to `last`, both of one year, is in the season of a window."""
    start, end = day_of_year(first), day_of_year(last)
    if window.season_start is None:
        return True
    return _is_in_season(window, start) or start <= window.season_start <= end


def _is_in_season(window: Window, day: str) -> bool:
    """Return whether a day of the year is in a season. 29 February is between its neighbours."""
    first, last = window.season_start, window.season_end
    if first is None or last is None:
        return True
    return first <= day <= last if first <= last else day >= first or day <= last


def _leap_day(day: str) -> date:
    """Return a day of a season in a leap year, which has all of them."""
    return date.fromisoformat(f"2000-{day}")


def find_problems(tariff: TariffTerms, now: datetime) -> list[Problem]:
    """Return all problems of a tariff, with their paths (GraphQL names). A valid tariff has none.

    The terms are those to store, in hundredths. Problems state amounts in the major unit, as callers send them.
    """
    return [
        *_term_problems(tariff),
        *_part_problems(tariff),
        *_bands_problems(tariff),
        *_block_problems(tariff.blocks),
        *_formula_problems(tariff.price_formula),
        *_component_problems(tariff),
        *_validity_problems(tariff.valid_from, now),
    ]


def normalize_rates(tariff: TariffTerms) -> None:
    """Round the numbers of a valid tariff in place, to the form in which they are stored and read."""
    tariff.rate = None if tariff.rate is None else round(tariff.rate, RATE_DECIMALS)
    tariff.standing_charge = round(tariff.standing_charge, RATE_DECIMALS)
    tariff.vat_rate = round(tariff.vat_rate, RATE_DECIMALS)
    for band in tariff.bands:
        band.rate = round(band.rate, RATE_DECIMALS)
    for block in tariff.blocks:
        block.rate = round(block.rate, RATE_DECIMALS)
        block.up_to = None if block.up_to is None else round(block.up_to, RATE_DECIMALS)
    if formula := tariff.price_formula:
        floor, cap = (None if limit is None else round(limit, RATE_DECIMALS) for limit in (formula.floor, formula.cap))
        tariff.price_formula = PriceFormula(round(formula.factor, RATE_DECIMALS), floor, cap)
    for component in tariff.components:
        component.rate = round(component.rate, RATE_DECIMALS)
        component.vat_rate = None if component.vat_rate is None else round(component.vat_rate, RATE_DECIMALS)
        component.minimum = None if component.minimum is None else round(component.minimum, RATE_DECIMALS)
        for step in component.steps:
            step.rate = round(step.rate, RATE_DECIMALS)
            step.up_to = None if step.up_to is None else round(step.up_to, RATE_DECIMALS)


def rate_problems(rate: Decimal, *path: str | int) -> Iterator[Problem]:
    """Yield the problem of a rate in hundredths, if it cannot be stored. The problem states the major unit."""
    return _decimal_problems(rate, path, is_money=True)


def _number_problems(number: Decimal, *path: str | int) -> Iterator[Problem]:
    """Yield the problem of a percentage or an amount of energy, if it cannot be stored."""
    return _decimal_problems(number, path, is_money=False)


def _decimal_problems(number: Decimal, path: ProblemPath, *, is_money: bool) -> Iterator[Problem]:
    if not number.is_finite():
        yield Problem(path, f"{number} is not a number")
        return
    sent, maximum = (to_major(number), to_major(MAX_RATE)) if is_money else (number, MAX_RATE)
    if abs(number) > MAX_RATE:
        yield Problem(path, f"{sent:f} is not between -{maximum:,.0f} and {maximum:,.0f}")
    elif number != round(number, RATE_DECIMALS):
        decimals = RATE_DECIMALS + STORED_DECIMALS if is_money else RATE_DECIMALS
        yield Problem(path, f"{sent:f} has more than {decimals} decimal places")


def find_price_problem(at: datetime, rate: Decimal, tariff: TariffTerms, now: datetime) -> Problem | None:
    """Return the problem of a price of a dynamic tariff, or None."""
    for problem in rate_problems(rate, "rate"):
        return problem
    length = price_length_ms(tariff)
    local = at.astimezone(ZoneInfo(tariff.time_zone)).replace(tzinfo=UTC)
    if to_ms(local) % length or at != from_ms(to_ms(at)):
        return Problem(("at",), f"{format_iso(at)} does not begin a period of {length // MINUTE_MS} minutes")
    if to_ms(at) + length <= to_ms(tariff.valid_from):
        return Problem(
            ("at",), f"{format_iso(at)} is before the tariff is valid, from {format_iso(tariff.valid_from)} on"
        )
    if at > now + MAX_AHEAD:
        return Problem(("at",), f"{format_iso(at)} is more than two years ahead")
    return None


def _term_problems(tariff: TariffTerms) -> Iterator[Problem]:
    if not tariff.name.strip():
        yield Problem(("name",), "is empty")
    if tariff.rate is not None:
        yield from rate_problems(tariff.rate, "rate")
    yield from rate_problems(tariff.standing_charge, "standingCharge")
    yield from _vat_problems(tariff.vat_rate, "vatPercent")
    if problem := time_zone_problem(tariff.time_zone):
        yield Problem(("timeZone",), problem)


def _vat_problems(percent: Decimal, *path: str | int) -> Iterator[Problem]:
    yield from _number_problems(percent, *path)
    if percent.is_finite() and not 0 <= percent <= 100:
        yield Problem(path, f"{percent} is not between 0 and 100 percent")


def _part_problems(tariff: TariffTerms) -> Iterator[Problem]:
    """Yield the parts that the tariff's kind needs but lacks, and those that it must not have."""
    values = {
        "rate": tariff.rate,
        "bands": tariff.bands,
        "blocks": tariff.blocks,
        "blockPeriod": tariff.block_period,
        "pricePeriod": tariff.price_period,
        "priceFormula": tariff.price_formula,
    }
    kind = tariff.kind.value
    for name in sorted(_ALLOWED_PARTS[tariff.kind] - {"rate", "pricePeriod", "priceFormula"}):
        if not values[name]:
            yield Problem((name,), f"is missing: a {kind} tariff needs it")
    for name, value in values.items():
        if name not in _ALLOWED_PARTS[tariff.kind] and value not in (None, []):
            yield Problem((name,), f"does not belong to a {kind} tariff")
    if tariff.kind is TariffKind.FLAT and tariff.rate is None:
        yield Problem(("rate",), f"is missing: a {kind} tariff needs it")
    if tariff.block_period is not None and tariff.block_period not in _BLOCK_PERIODS:
        yield Problem(("blockPeriod",), f"{tariff.block_period.value} is not a day, week, month, quarter or year")
    if tariff.price_period is not None and tariff.price_period not in PRICE_PERIODS:
        yield Problem(("pricePeriod",), f"{tariff.price_period.value} is not 5, 15, 30 or 60 minutes")
    for name, parts, maximum in (
        ("bands", len(tariff.bands), MAX_PARTS),
        ("blocks", len(tariff.blocks), MAX_PARTS),
        ("components", len(tariff.components), MAX_COMPONENTS),
    ):
        if parts > maximum:
            yield Problem((name,), f"are more than {maximum}")


def _bands_problems(tariff: TariffTerms) -> list[Problem]:
    bands = tariff.bands[:MAX_PARTS]
    problems = [problem for index, band in enumerate(bands) for problem in _band_problems(band, "bands", index)]
    if problems or tariff.kind is not TariffKind.TIME_OF_USE or not bands:
        return problems
    if len({(band.season_start, band.season_end) for band in bands if band.season_start}) > MAX_SEASONS:
        return [Problem(("bands",), f"have more than {MAX_SEASONS} seasons")]
    parts, gap, first = seasons(bands), None, ""
    for first, indexes in parts:
        within = f" in the season from {first}" if len(parts) > 1 else ""
        active = [bands[index] for index in indexes]
        for (later, earlier), minute in sorted(_find_overlaps(active).items()):
            message = f"{active[later].name!r} overlaps {active[earlier].name!r} on {_format_minute(minute)}{within}"
            problems.append(Problem(("bands", indexes[later]), message))
        gaps = [minute for minute, band in band_changes(active) if band is None]
        if gap is None and gaps:
            gap = f"{_format_minute(gaps[0])}{within}"
        if problems:  # later seasons may have thousands of the same overlaps
            break
    if gap is not None and tariff.rate is None:
        problems.append(Problem(("rate",), f"is missing: no band covers {gap}"))
    is_year_checked = first == parts[-1][0]
    if gap is None and tariff.rate is not None and is_year_checked:
        problems.append(Problem(("rate",), "never applies: the bands cover the whole week"))
    return problems


def _band_problems(band: TariffBand, *path: str | int) -> Iterator[Problem]:
    if not band.name.strip():
        yield Problem((*path, "name"), "is empty")
    yield from rate_problems(band.rate, *path, "rate")
    yield from _window_problems(band, *path)


def _window_problems(window: Window, *path: str | int) -> Iterator[Problem]:
    if not window.weekdays:
        yield Problem((*path, "weekdays"), "are empty: name the days on which it starts")
    if len(set(window.weekdays)) < len(window.weekdays):
        yield Problem((*path, "weekdays"), "name a day twice")
    for name in ("start", "end"):
        edge = getattr(window, name)
        if not _TIME_OF_DAY.fullmatch(edge):
            yield Problem((*path, name), f"{edge!r} is not a time from 00:00 to 23:59")
    for name, day, other in (
        ("seasonStart", window.season_start, window.season_end),
        ("seasonEnd", window.season_end, window.season_start),
    ):
        if day is None and other is not None:
            yield Problem((*path, name), "is missing: a season needs its first and its last day")
        if day is not None and not _is_day_of_year(day):
            yield Problem((*path, name), f"{day!r} is no day of a year. Write month and day, such as 11-01")


def _is_day_of_year(text: str) -> bool:
    try:
        return day_of_year(_leap_day(text)) == text
    except ValueError:
        return False


def _find_overlaps(bands: Sequence[TariffBand]) -> dict[tuple[int, int], int]:
    """Return the first minute in which two bands overlap, by their positions, the later one first. Ignore seasons."""
    first_minutes: dict[tuple[int, int], int] = {}
    running = list[tuple[int, int]]()  # the ends and indexes of intervals that have begun
    for start, end, index in _intervals(bands):
        running = [other for other in running if other[0] > start]
        for _, other in running:
            if other != index:
                first_minutes.setdefault((max(index, other), min(index, other)), start)
        running.append((end, index))
    return first_minutes


def _block_problems(blocks: Sequence[TariffBlock]) -> Iterator[Problem]:
    for index, block in enumerate(blocks[:MAX_PARTS]):
        path: ProblemPath = ("blocks", index)
        yield from rate_problems(block.rate, *path, "rate")
        yield from _limit_problems(block, (*path, "upTo"), "block", is_last=index == len(blocks) - 1)
    if not _limits_ascend(blocks):
        yield Problem(("blocks",), "do not ascend from 0")


def _limit_problems(
    part: "TariffBlock | PeakStep", path: ProblemPath, name: str, *, is_last: bool
) -> Iterator[Problem]:
    """Yield the problems of the limit of a block or step."""
    if part.up_to is None:
        if not is_last:
            yield Problem(path, f"only the last {name} has no limit")
        return
    yield from _number_problems(part.up_to, *path)
    if is_last:
        yield Problem(path, f"the last {name} has no limit")


def _limits_ascend(parts: "Sequence[TariffBlock | PeakStep]") -> bool:
    limits = [Decimal(0), *(part.up_to for part in parts if part.up_to is not None and part.up_to.is_finite())]
    return all(before < limit for before, limit in pairwise(limits))


def _formula_problems(formula: PriceFormula | None) -> Iterator[Problem]:
    if formula is None:
        return
    yield from _number_problems(formula.factor, "priceFormula", "factor")
    if formula.factor.is_finite() and not 0 < formula.factor <= MAX_FACTOR:
        yield Problem(("priceFormula", "factor"), f"{formula.factor:f} is not above 0 and at most {MAX_FACTOR}")
    for name, limit in (("floor", formula.floor), ("cap", formula.cap)):
        if limit is not None:
            yield from rate_problems(limit, "priceFormula", name)
    limits = [limit for limit in (formula.floor, formula.cap) if limit is not None and limit.is_finite()]
    if len(limits) == 2 and limits[0] > limits[1]:
        message = f"{to_major(limits[0]):f} is above the cap of {to_major(limits[1]):f}"
        yield Problem(("priceFormula", "floor"), message)


def _component_problems(tariff: TariffTerms) -> Iterator[Problem]:
    formula, names = tariff.price_formula, set[str]()
    has_limits = formula is not None and (formula.floor is not None or formula.cap is not None)
    for index, component in enumerate(tariff.components[:MAX_COMPONENTS]):
        path: ProblemPath = ("components", index)
        if not component.name.strip():
            yield Problem((*path, "name"), "is empty")
        elif component.name in names:
            yield Problem((*path, "name"), f"{component.name!r} is the name of an earlier component")
        names.add(component.name)
        yield from rate_problems(component.rate, *path, "rate")
        if component.vat_rate is not None:
            yield from _vat_problems(component.vat_rate, *path, "vatPercent")
        if component.in_limits and component.basis is not ComponentBasis.ENERGY:
            message = f"belongs to a component of ENERGY, not of a {component.basis.value}"
            yield Problem((*path, "inLimits"), message)
        elif component.in_limits and not has_limits:
            yield Problem((*path, "inLimits"), "needs a `priceFormula` with a floor or a cap")
        if component.window is not None and component.basis in WINDOW_BASES:
            yield from _window_problems(component.window, *path, "window")
        yield from _peak_problems(component, path)


def _peak_problems(component: TariffComponent, path: ProblemPath) -> Iterator[Problem]:
    parts = {
        "peakMinutes": component.peak_minutes,
        "peakDays": component.peak_days,
        "minimumKilowatts": component.minimum,
        "steps": component.steps,
    }
    if component.window is not None and component.basis not in WINDOW_BASES:
        message = f"belongs to a component of ENERGY or of a PEAK, not of a {component.basis.value}"
        yield Problem((*path, "window"), message)
    if component.basis is not ComponentBasis.PEAK:
        for name, value in parts.items():
            if value not in (None, []):
                yield Problem((*path, name), f"belongs to a component of a PEAK, not of a {component.basis.value}")
        return
    if component.peak_minutes not in (None, *PEAK_MINUTES):
        yield Problem((*path, "peakMinutes"), f"{component.peak_minutes} is not 15, 30 or 60")
    if component.peak_days is not None and not 1 <= component.peak_days <= MAX_PEAK_DAYS:
        yield Problem((*path, "peakDays"), f"{component.peak_days} is not between 1 and {MAX_PEAK_DAYS}")
    if component.minimum is not None:
        yield from _number_problems(component.minimum, *path, "minimumKilowatts")
        if component.minimum < 0:
            yield Problem((*path, "minimumKilowatts"), f"{component.minimum} is negative")
    yield from _step_problems(component, path)


def _step_problems(component: TariffComponent, path: ProblemPath) -> Iterator[Problem]:
    if component.steps and component.rate:
        yield Problem((*path, "rate"), "is the price of a kW. Write 0, because the steps have the charges")
    if len(component.steps) > MAX_STEPS:
        yield Problem((*path, "steps"), f"are more than {MAX_STEPS}")
    for index, step in enumerate(component.steps[:MAX_STEPS]):
        yield from rate_problems(step.rate, *path, "steps", index, "rate")
        is_last = index == len(component.steps) - 1
        yield from _limit_problems(step, (*path, "steps", index, "upToKilowatts"), "step", is_last=is_last)
    if not _limits_ascend(component.steps[:MAX_STEPS]):
        yield Problem((*path, "steps"), "do not ascend from 0")


def _validity_problems(valid_from: datetime, now: datetime) -> Iterator[Problem]:
    if valid_from < MIN_VALID_FROM:
        yield Problem(("validFrom",), f"{format_iso(valid_from)} is before {format_iso(MIN_VALID_FROM)}")
    if valid_from > now + MAX_AHEAD:
        yield Problem(("validFrom",), f"{format_iso(valid_from)} is more than two years ahead")


def _intervals(bands: Sequence[Window]) -> list[tuple[int, int, int]]:
    """Return the start and the end of each time that a band covers, in minutes of the week, and the band's index.

    They are in order of time. A time that crosses the end of the week is two of them.
    """
    intervals = list[tuple[int, int, int]]()
    for index, band in enumerate(bands):
        length = (_parse_minute(band.end) - _parse_minute(band.start)) % DAY_MINUTES or DAY_MINUTES
        for weekday in band.weekdays:
            start = weekday.value * DAY_MINUTES + _parse_minute(band.start)
            intervals.append((start, min(start + length, WEEK_MINUTES), index))
            if start + length > WEEK_MINUTES:
                intervals.append((0, start + length - WEEK_MINUTES, index))
    return sorted(intervals)


def _parse_minute(edge: str) -> int:
    hours, minutes = edge.split(":")
    return int(hours) * 60 + int(minutes)


def _format_minute(minute: int) -> str:
    weekday, minute = divmod(minute, DAY_MINUTES)
    return f"{Weekday(weekday).name} at {minute // 60:02d}:{minute % 60:02d}"


@dataclass(frozen=True, slots=True)
class CostBasis:
    """The tariffs that price the energy of a resource. Each applies from one of `starts` (ms) until the next one."""

    starts: Sequence[int]
    kinds: Sequence[TariffKind]

    @classmethod
    def from_tariffs(cls, tariffs: Sequence[TariffTerms]) -> "CostBasis":
        """Build the basis from tariffs that are ordered by their start."""
        return cls([to_ms(tariff.valid_from) for tariff in tariffs], [tariff.kind for tariff in tariffs])

    def no_value_reason(self, start: int, stop: int, *, has_readings: bool) -> NoValueReason:
        """Return why the energy in [start, stop) has no cost. `has_readings` says whether some energy is stored."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        kinds = self.kinds[first : bisect_left(self.starts, stop)]
        if not kinds:
            return NoValueReason.NO_TARIFF
        if not has_readings:
            return NoValueReason.NO_READINGS
        return NoValueReason.NO_PRICE if TariffKind.DYNAMIC in kinds else NoValueReason.NO_TARIFF
