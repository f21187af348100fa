"""Ambient level of a home: whether present use, or the present price, is low or high against the usual one. No I/O."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from wattgate.enums import AmbientBasis, AmbientLevel

LOW_RATIO, HIGH_RATIO = 0.8, 1.25
"""The level is LOW below 80 % of the usual value, and HIGH from 125 % of it."""

MIN_USUAL_WATTS = 100.0
"""The lowest usual power in W. Below it, a fridge that switches on would change the level."""

LEARNING_DAYS, MIN_KNOWN_DAYS = 14, 7
"""The usual power is the mean of this many days before today, if at least so many of them are known."""


class DisplayAmbient(msgspec.Struct, frozen=True, gc=False):
    """A level and its thresholds: LOW below `low_below`, HIGH from `high_from`, otherwise MEDIUM."""

    level: AmbientLevel
    basis: AmbientBasis
    low_below: float
    high_from: float
    unit: str


def ambient_by_power(watts: float, usual: float, basis: AmbientBasis) -> DisplayAmbient:
    """Return the level of power, compared with the usual power. Both are in W."""
    usual = max(usual, MIN_USUAL_WATTS)
    return _build_ambient(watts, float(round(usual * LOW_RATIO)), float(round(usual * HIGH_RATIO)), basis, "W")


def ambient_by_price(rate: Decimal, usual: float, unit: str) -> DisplayAmbient:
    """Return the level of a rate, compared with the mean rate of its day. Both may be negative."""
    low, high = usual - abs(usual) * (1 - LOW_RATIO), usual + abs(usual) * (HIGH_RATIO - 1)
    return _build_ambient(float(rate), round(low, 2), round(high, 2), AmbientBasis.PRICE, unit)


def power_within_budget(pence_per_day: Decimal, standing_charge: Decimal, rate: Decimal | None) -> float | None:
    """Return the constant power in W that spends a day's budget, less the standing charge, in 24 hours.

    None if the rate is unknown or not positive, or if the standing charge leaves nothing.
    """
    remaining = pence_per_day - standing_charge
    if rate is None or rate <= 0 or remaining <= 0:
        return None
    return float(remaining / 24 / rate * 1000)


def mean_by_time_of_day(days: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Return the mean over all days for each time of day; None where fewer than MIN_KNOWN_DAYS are known."""
    means: list[float | None] = []
    for values in zip(*days, strict=True):
        known = [value for value in values if value is not None]
        means.append(sum(known) / len(known) if len(known) >= MIN_KNOWN_DAYS else None)
    return means


def _build_ambient(value: float, low_below: float, high_from: float, basis: AmbientBasis, unit: str) -> DisplayAmbient:
    upper = AmbientLevel.MEDIUM if value < high_from else AmbientLevel.HIGH
    level = AmbientLevel.LOW if value < low_below else upper
    return DisplayAmbient(level, basis, low_below, high_from, unit)
