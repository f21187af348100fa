"""Whether a home uses little or much at the moment, by what is usual. Pure."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from wattgate.enums import AmbientBasis, AmbientLevel

LOW_RATIO, HIGH_RATIO = 0.8, 1.25
"""LOW is below four fifths of what is usual, HIGH from five quarters of it on."""

MIN_USUAL_WATTS = 100.0
"""What is usual at least: below it, what a fridge does would change the level."""

LEARNING_DAYS, MIN_KNOWN_DAYS = 14, 7
"""From how many days before the present one it is learned what is usual, and how many of them must be known."""


class DisplayAmbient(msgspec.Struct, frozen=True, gc=False):
    """The level of something by its two thresholds: LOW below `low_below`, HIGH from `high_from` on."""

    level: AmbientLevel
    basis: AmbientBasis
    low_below: float
    high_from: float
    unit: str


def ambient_by_power(watts: float, usual: float, basis: AmbientBasis) -> DisplayAmbient:
    """The level of power by the power that is usual."""
    usual = max(usual, MIN_USUAL_WATTS)
    return _build_ambient(watts, float(round(usual * LOW_RATIO)), float(round(usual * HIGH_RATIO)), basis, "W")


def ambient_by_price(rate: Decimal, usual: float, unit: str) -> DisplayAmbient:
    """The level of a rate by the mean rate of its day, which may be below zero."""
    low, high = usual - abs(usual) * (1 - LOW_RATIO), usual + abs(usual) * (HIGH_RATIO - 1)
    return _build_ambient(float(rate), round(low, 2), round(high, 2), AmbientBasis.PRICE, unit)


def power_within_budget(pence_per_day: Decimal, standing_charge: Decimal, rate: Decimal | None) -> float | None:
    """The power in W, at all hours alike, that uses up what a day's budget leaves for energy; None where none does."""
    left = pence_per_day - standing_charge
    if rate is None or rate <= 0 or left <= 0:
        return None
    return float(left / 24 / rate * 1000)


def mean_by_time_of_day(days: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The mean of each time of day over some days; None where too few days are known."""
    found: list[float | None] = []
    for times in zip(*days, strict=True):
        known = [one for one in times if one is not None]
        found.append(sum(known) / len(known) if len(known) >= MIN_KNOWN_DAYS else None)
    return found


def _build_ambient(value: float, low_below: float, high_from: float, basis: AmbientBasis, unit: str) -> DisplayAmbient:
    upper = AmbientLevel.MEDIUM if value < high_from else AmbientLevel.HIGH
    level = AmbientLevel.LOW if value < low_below else upper
    return DisplayAmbient(level, basis, low_below, high_from, unit)
