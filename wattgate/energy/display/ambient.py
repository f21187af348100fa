"""Whether a home uses little or much at the moment, by what is usual. Pure."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from wattgate.enums import AmbientBasis, AmbientLevel

BELOW, FROM = 0.8, 1.25
"""LOW is below four fifths of what is usual, HIGH from five quarters of it on."""

LEAST_WATTS = 100.0
"""What is usual at least: below it, what a fridge does would change the level."""

DAYS, ENOUGH_DAYS = 14, 7
"""From how many days before the present one it is learned what is usual, and how many of them must be known."""


class Ambient(msgspec.Struct, frozen=True, gc=False):
    """The level of something by its two thresholds: LOW below `low_below`, HIGH from `high_from` on."""

    level: AmbientLevel
    basis: AmbientBasis
    low_below: float
    high_from: float
    unit: str


def by_power(watts: float, usual: float, basis: AmbientBasis) -> Ambient:
    """The level of power by the power that is usual."""
    usual = max(usual, LEAST_WATTS)
    return _ambient(watts, float(round(usual * BELOW)), float(round(usual * FROM)), basis, "W")


def by_price(rate: Decimal, usual: float, unit: str) -> Ambient:
    """The level of a rate by the mean rate of its day, which may be below zero."""
    low, high = usual - abs(usual) * (1 - BELOW), usual + abs(usual) * (FROM - 1)
    return _ambient(float(rate), round(low, 2), round(high, 2), AmbientBasis.PRICE, unit)


def within_budget(pence_a_day: Decimal, standing: Decimal, rate: Decimal | None) -> float | None:
    """The power in W, at all hours alike, that uses up what a day's budget leaves for energy; None where none does."""
    left = pence_a_day - standing
    if rate is None or rate <= 0 or left <= 0:
        return None
    return float(left / 24 / rate * 1000)


def learned(days: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The mean of each time of day over some days; None where too few days are known."""
    found: list[float | None] = []
    for times in zip(*days, strict=True):
        known = [one for one in times if one is not None]
        found.append(sum(known) / len(known) if len(known) >= ENOUGH_DAYS else None)
    return found


def _ambient(value: float, low_below: float, high_from: float, basis: AmbientBasis, unit: str) -> Ambient:
    upper = AmbientLevel.MEDIUM if value < high_from else AmbientLevel.HIGH
    level = AmbientLevel.LOW if value < low_below else upper
    return Ambient(level, basis, low_below, high_from, unit)
