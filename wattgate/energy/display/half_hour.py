"""The part of frames that stays the same for the length of a half hour, and is computed once for it. No I/O."""

from dataclasses import dataclass
from decimal import Decimal

from wattgate.energy.display.ambient import AmbientReference
from wattgate.energy.display.meter import Meter, TimeSpan
from wattgate.energy.display.rate_schedule import DisplaySlot, DisplayTariff


@dataclass(frozen=True, slots=True)
class HalfHourContent:
    """The content from `start` to `end` at most: until then, neither the rate nor the time of day changes.

    `utc_offset_minutes` is how far the home's clocks are ahead of UTC. `billed_meter` is the meter from which the
    content was computed. A block tariff's rate depends on the energy of the meter. `periods` are the day and the month,
    and `standing_charges` the charges (pence with VAT) of the days of each that have begun.
    """

    start: int
    end: int
    utc_offset_minutes: int
    billed_meter: Meter | None
    tariff: DisplayTariff | None
    cheapest: DisplaySlot | None
    reference: AmbientReference | None
    periods: tuple[TimeSpan, TimeSpan]
    standing_charges: tuple[Decimal, Decimal]

    def applies(self, now: int, billed_meter: Meter | None) -> bool:
        """Return whether the content is right at an instant for a meter."""
        return self.start <= now < self.end and billed_meter is self.billed_meter


@dataclass(slots=True)
class HalfHourCache:
    """The newest content. The states of a home that follow each other by readings share it."""

    content: HalfHourContent | None = None
