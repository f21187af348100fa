"""Ambient level of a home: whether present use, or the present price, is low or high against the usual one. No I/O."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import msgspec

from wattgate.energy.quantities import Power, Rate, to_major
from wattgate.enums import AmbientBasis, AmbientLevel, RateUnit

LOW_RATIO = 0.8
"""The level is LOW below 80 % of the usual value: the median power of the time of day, or the mean rate of the day."""

HIGH_POWER_RATIO, HIGH_PRICE_RATIO = 1.5, 1.25
"""Power is HIGH from 150 % of the top of its usual range, and a rate from 125 % of the mean rate.

Power is learned from half hours, and within each of them appliances switch on and off.
"""

USUAL_RANGE_TOP = 0.9
"""The usual range of power at a time of day ends at this quantile."""

MIN_USUAL_WATTS = 100.0
"""The lowest usual power in W. Below it, a fridge that switches on would change the level."""

MIN_HIGH_WATTS = 1000.0
"""The lowest power in W that can be HIGH. Below it, a lamp or a vacuum cleaner in a quiet hour would be HIGH."""

LEARNING_DAYS, MIN_KNOWN_DAYS = 14, 7
"""Levels are learned from this many days before today, if at least so many of them are known."""

DAY_SLOTS = 48


class PowerLevels(NamedTuple):
    """Thresholds in W: LOW below `low_below`, HIGH from `high_from`."""

    low_below: float
    high_from: float


class LearnedPower(NamedTuple):
    """The levels in each half hour of the wall-clock day, None where too few days are known, and the mean power (W).

    The mean is None unless the levels of all half hours are known.
    """

    levels: tuple[PowerLevels | None, ...] = (None,) * DAY_SLOTS
    mean_watts: float | None = None

    def within_budget(self, slot: int, watts: float) -> PowerLevels:
        """Return the levels in a half hour of a day that uses a mean power, and has the usual shape.

        Without a usual shape, the power is the same all day.
        """
        levels = self.levels[slot]
        if levels is None or not self.mean_watts:
            return power_levels(watts, watts)
        ratio = watts / self.mean_watts
        return PowerLevels(
            max(levels.low_below * ratio, LOW_RATIO * MIN_USUAL_WATTS), max(levels.high_from * ratio, MIN_HIGH_WATTS)
        )


class DisplayPowerLevels(NamedTuple):
    """The powers below which a level is LOW, and from which it is HIGH."""

    low_below: Power
    high_from: Power


class DisplayRateLevels(NamedTuple):
    """The rates below which a level is LOW, and from which it is HIGH."""

    low_below: Rate
    high_from: Rate


class DisplayAmbient(msgspec.Struct, frozen=True, gc=False):
    """A level, and the powers or rates between which it is MEDIUM. The others are None."""

    level: AmbientLevel
    basis: AmbientBasis
    power_levels: DisplayPowerLevels | None
    rate_levels: DisplayRateLevels | None


class AmbientReference(NamedTuple):
    """Thresholds for a value: imported power (W), or a rate in the major unit if the basis is PRICE.

    `power_levels` or `rate_levels` has the same thresholds with their unit.
    """

    basis: AmbientBasis
    low_below: float
    high_from: float
    power_levels: DisplayPowerLevels | None
    rate_levels: DisplayRateLevels | None

    def compare(self, value: float) -> DisplayAmbient:
        """Return the level of a value."""
        upper = AmbientLevel.MEDIUM if value < self.high_from else AmbientLevel.HIGH
        level = AmbientLevel.LOW if value < self.low_below else upper
        return DisplayAmbient(level, self.basis, self.power_levels, self.rate_levels)


def power_reference(levels: PowerLevels, basis: AmbientBasis) -> AmbientReference:
    """Return the reference of imported power."""
    low, high = float(round(levels.low_below)), float(round(levels.high_from))
    return AmbientReference(basis, low, high, DisplayPowerLevels(Power(low), Power(high)), None)


def price_reference(usual: Decimal, per: RateUnit, currency: str) -> AmbientReference:
    """Return the reference of a rate: the mean rate of its day, in hundredths. Both may be negative."""
    mean = float(usual)
    low, high = mean - abs(mean) * (1 - LOW_RATIO), mean + abs(mean) * (HIGH_PRICE_RATIO - 1)
    low_below, high_from = (Rate(to_major(Decimal(f"{rate:.2f}")), per, currency) for rate in (low, high))
    levels = DisplayRateLevels(low_below, high_from)
    return AmbientReference(AmbientBasis.PRICE, float(low_below.amount), float(high_from.amount), None, levels)


def power_levels(usual: float, range_top: float) -> PowerLevels:
    """Return the levels around a usual power (W), whose usual range ends at `range_top`."""
    return PowerLevels(LOW_RATIO * max(usual, MIN_USUAL_WATTS), max(HIGH_POWER_RATIO * range_top, MIN_HIGH_WATTS))


def power_within_budget(budget: Decimal, standing_charge: Decimal, rate: Decimal | None) -> float | None:
    """Return the constant power in W that spends a day's budget, less the standing charge, in 24 hours.

    None if the rate is unknown or not positive, or if the standing charge leaves nothing.
    """
    remaining = budget - standing_charge
    if rate is None or rate <= 0 or remaining <= 0:
        return None
    return float(remaining / 24 / rate * 1000)


def learn_power(days: Sequence[Sequence[float | None]]) -> LearnedPower:
    """Learn the levels from the mean power (W) in each half hour of several days; None where it is not known.

    A half hour is compared with the same one of each day and with its two neighbours, because nobody cooks at the same
    minute every day.
    """
    known_by_slot = [[watts for watts in slot if watts is not None] for slot in zip(*days, strict=True)]
    levels = tuple(_learn_levels(known_by_slot, slot) for slot in range(len(known_by_slot)))
    if not levels or None in levels:
        return LearnedPower(levels or (None,) * DAY_SLOTS)
    return LearnedPower(levels, sum(sum(known) / len(known) for known in known_by_slot) / len(known_by_slot))


def _learn_levels(known_by_slot: Sequence[Sequence[float]], slot: int) -> PowerLevels | None:
    if len(known_by_slot[slot]) < MIN_KNOWN_DAYS:
        return None
    pool = sorted(watts for known in known_by_slot[max(slot - 1, 0) : slot + 2] for watts in known)
    return power_levels(_quantile(pool, 0.5), _quantile(pool, USUAL_RANGE_TOP))


def _quantile(values: Sequence[float], quantile: float) -> float:
    """Return a quantile of sorted values. Between two of them, interpolate."""
    position = (len(values) - 1) * quantile
    index = int(position)
    following = values[min(index + 1, len(values) - 1)]
    return values[index] + (following - values[index]) * (position - index)
