"""Where a home's live power comes from, and what it comes to. Pure.

Instants and spans are milliseconds; held power is W times milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import msgspec

from wattgate.clock import from_ms
from wattgate.energy.buckets import HALF_HOUR_MS, MINUTE_MS
from wattgate.energy.storage_fields import ReadingField
from wattgate.energy.timeline import ENERGY_DECIMALS

MAX_HOLD_MS = 2 * MINUTE_MS
"""How long a reading of power stands for what came after it, where no other one does."""

MAX_UNKNOWN_MS = MAX_HOLD_MS
"""For how much of a half hour power may be unknown while what was held of it still is an estimate of its energy."""

_BILLION: int = 10**ENERGY_DECIMALS
_INTEGRAL_PER_KWH = 3_600 * 10**6
"""The held power of a kWh."""


class PowerIntegral(NamedTuple):
    """What the readings of the half hour (UTC) from `at` on held: the positive ones, the others, and for how long.

    A reading belongs with all that it held to the half hour in which it was taken.
    """

    at: int
    positive: int
    negative: int
    known_ms: int


class DisplayPower(msgspec.Struct, frozen=True, gc=False):
    """A home's power at the meter in W; `net` is what comes in less what goes out."""

    net: float
    imported: float
    exported: float
    at: datetime
    unit: str = "W"


@dataclass(frozen=True, slots=True)
class PowerSource:
    """A field that tells power: its newest reading, and what it held in the half hour in which that was taken.

    `exports` is whether the field tells what goes out. `held` has what was held until `held_to`.
    """

    resource_id: str
    field: ReadingField
    exports: bool
    at: int
    watts: float
    integral: PowerIntegral
    integrated_to: int

    def integral_at(self, now: int) -> PowerIntegral:
        """What is held of the half hour, by now."""
        return _extend_integral(self, min(now, self.at + MAX_HOLD_MS))

    def with_reading(self, at: int, watts: float) -> "tuple[PowerSource, PowerIntegral | None]":
        """With a newer reading; and the half hour, if that is over with it."""
        slot, held = at - at % HALF_HOUR_MS, self.integral_at(at)
        following = replace(self, at=at, watts=watts, integral=held, integrated_to=at)
        if slot == held.at:
            return following, None
        return replace(following, integral=PowerIntegral(slot, 0, 0, 0)), held


def _extend_integral(source: PowerSource, until: int) -> PowerIntegral:
    more = max(0, until - source.integrated_to)
    at, positive, negative, known = source.integral
    gain = round(source.watts * more)
    return PowerIntegral(at, positive + max(gain, 0), negative + max(-gain, 0), known + more)


def to_watts(value: float, unit: str) -> float:
    """Power in W of a reading in W or kW."""
    return value * 1000 if unit.lower() == "kw" else value


def can_estimate_energy(integral: PowerIntegral, now: int) -> bool:
    """Whether power was known for long enough to tell the energy of a half hour, as far as it has come."""
    return min(now - integral.at, HALF_HOUR_MS) - integral.known_ms <= MAX_UNKNOWN_MS


def integral_to_energy(integral: int) -> int:
    """Held power as energy, in billionths of a kWh."""
    return integral * _BILLION // _INTEGRAL_PER_KWH


def total_power(sources: Sequence[PowerSource]) -> DisplayPower | None:
    """The power of a home by its sources; None where there are none.

    A meter that tells what comes in tells what goes out below zero, unless another field does that.
    """
    if not sources:
        return None
    inward = [source.watts for source in sources if not source.exports]
    outward = [max(0.0, source.watts) for source in sources if source.exports]
    imported = sum(max(0.0, one) for one in inward)
    exported = sum(outward) if outward else sum(max(0.0, -one) for one in inward)
    return DisplayPower(imported - exported, imported, exported, from_ms(min(source.at for source in sources)))
