"""The energy that a home's meters have counted, today and this month. Pure. Instants are ms since 1970 (UTC)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from wattgate.energy.display.energy_total import Tally, pieces_of
from wattgate.energy.display.power import Held, energy
from wattgate.energy.display.rates import Rates
from wattgate.energy.timeline import Blocks


class Kind(Enum):
    """What a meter of a home counts; the value is the classifier."""

    ELECTRICITY = "electricity.consumption"
    EXPORTED = "electricity.export"
    GAS = "gas.consumption"


class Span(NamedTuple):
    """Time from `start` to before `end`."""

    start: int
    end: int


class Count(NamedTuple):
    """What was counted in a day or month, and up to when no sample of it is missing."""

    span: Span
    tally: Tally
    complete_to: int

    def plus(self, at: int, more: Tally, complete_to: int) -> "Count":
        """With what was counted from an instant on, if that lies inside; it is known up to another one."""
        if not self.span.start <= at < self.span.end:
            return self
        known = complete_to if self.complete_to >= at else self.complete_to
        return Count(self.span, self.tally + more, known)


@dataclass(frozen=True, slots=True)
class Meter:
    """A series of energy that belongs to a home.

    What is not stored yet is estimated from `stored_to` on by the source at the place `source`, if there is one: by its
    power below zero if `reverse`. `block` is since when a block tariff counts, and what it has counted.
    """

    kind: Kind
    unit: str
    rates: Rates | None
    counts: tuple[Count, ...]
    stored_to: int
    source: int | None = None
    reverse: bool = False
    block: tuple[int, int] = (0, 0)

    def of(self, spans: Sequence[Span]) -> "Meter":
        """With counts of these days or months; one that begins has counted nothing yet."""
        known = {count.span: count for count in self.counts}
        return replace(self, counts=tuple(known.get(one) or Count(one, Tally(), one.start) for one in spans))

    def counted(self, at: int) -> int:
        """What counts towards the limits of the block tariff that holds at an instant."""
        rule = self.rates.rule(at) if self.rates else None
        return self.block[1] if isinstance(rule, Blocks) and rule.since == self.block[0] else 0

    def estimating(self, held: Held, known_to: int) -> "Meter":
        """With the energy of power that was held in a half hour, up to an instant."""
        if held.at < self.stored_to:
            return self
        some = energy(held.negative if self.reverse else held.positive)
        rule, counted = self.rates.rule(held.at) if self.rates else None, self.counted(held.at)
        more = Tally().plus(pieces_of(held.at, some, rule, counted))
        return replace(
            self,
            counts=tuple(count.plus(held.at, more, known_to) for count in self.counts),
            block=(rule.since, counted + some) if isinstance(rule, Blocks) else self.block,
        )
