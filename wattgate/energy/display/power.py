"""Where a home's live power comes from, and what it comes to. Pure.

Instants and spans are milliseconds; held power is W times milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import msgspec

from wattgate.clock import from_ms
from wattgate.energy.buckets import HALF_HOUR, MINUTE
from wattgate.energy.storage_fields import Field
from wattgate.energy.timeline import ENERGY_DECIMALS

HOLDS = 2 * MINUTE
"""How long a reading of power stands for what came after it, where no other one does."""

MOST_UNKNOWN = HOLDS
"""For how much of a half hour power may be unknown while what was held of it still is an estimate of its energy."""

_BILLION: int = 10**ENERGY_DECIMALS
_HELD_EACH = 3_600 * 10**6
"""The held power of a kWh."""


class Held(NamedTuple):
    """What the readings of the half hour (UTC) from `at` on held: the positive ones, the others, and for how long.

    A reading belongs with all that it held to the half hour in which it was taken.
    """

    at: int
    positive: int
    negative: int
    known: int


class Power(msgspec.Struct, frozen=True, gc=False):
    """A home's power at the meter in W; `net` is what comes in less what goes out."""

    net: float
    imported: float
    exported: float
    at: datetime
    unit: str = "W"


@dataclass(frozen=True, slots=True)
class Source:
    """A field that tells power: its newest reading, and what it held in the half hour in which that was taken.

    `exports` is whether the field tells what goes out. `held` has what was held until `held_to`.
    """

    resource_id: str
    field: Field
    exports: bool
    at: int
    watts: float
    held: Held
    held_to: int

    def until(self, now: int) -> Held:
        """What is held of the half hour, by now."""
        return _grown(self, min(now, self.at + HOLDS))

    def take(self, at: int, watts: float) -> "tuple[Source, Held | None]":
        """With a newer reading; and the half hour, if that is over with it."""
        slot, held = at - at % HALF_HOUR, self.until(at)
        following = replace(self, at=at, watts=watts, held=held, held_to=at)
        if slot == held.at:
            return following, None
        return replace(following, held=Held(slot, 0, 0, 0)), held


def _grown(source: Source, until: int) -> Held:
    more = max(0, until - source.held_to)
    at, positive, negative, known = source.held
    gain = round(source.watts * more)
    return Held(at, positive + max(gain, 0), negative + max(-gain, 0), known + more)


def watts(value: float, unit: str) -> float:
    """Power in W of a reading in W or kW."""
    return value * 1000 if unit.lower() == "kw" else value


def is_estimate(held: Held, now: int) -> bool:
    """Whether power was known for long enough to tell the energy of a half hour, as far as it has come."""
    return min(now - held.at, HALF_HOUR) - held.known <= MOST_UNKNOWN


def energy(held: int) -> int:
    """Held power as energy, in billionths of a kWh."""
    return held * _BILLION // _HELD_EACH


def power(sources: Sequence[Source]) -> Power | None:
    """The power of a home by its sources; None where there are none.

    A meter that tells what comes in tells what goes out below zero, unless another field does that.
    """
    if not sources:
        return None
    inward = [source.watts for source in sources if not source.exports]
    outward = [max(0.0, source.watts) for source in sources if source.exports]
    imported = sum(max(0.0, one) for one in inward)
    exported = sum(outward) if outward else sum(max(0.0, -one) for one in inward)
    return Power(imported - exported, imported, exported, from_ms(min(source.at for source in sources)))
