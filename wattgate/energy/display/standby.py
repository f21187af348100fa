"""Standby power of a home: the power that it always draws, from its hourly energy. No I/O.

The method is that of the idle load in "Home Idle Load" (Delforge, Schmidt, Schmidt; NRDC, 2015), which reads hourly
energy of smart meters: the lowest hours of days. Here it is the median of the lowest night hour of each complete day.
The night is from 21:00 to 06:00, because solar panels hide part of the use by day. The median ignores a night with a
guest or a power cut. A load that runs all night, such as a storage heater, counts as standby.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from wattgate.clock import from_ms
from wattgate.energy.buckets import HOUR_MS
from wattgate.enums import NoStandbyReason

DAYS = 28
"""The number of complete days before today that are read."""

MIN_DAYS = 14
"""The minimum of complete days without which the standby power is unknown."""

HOURS_PER_YEAR = Decimal(8_766)
"""The mean hours of a year, with leap years."""

WATTS_PER_KILOWATT = 1_000
_NIGHT_HOURS = frozenset({21, 22, 23, 0, 1, 2, 3, 4, 5})


class HourOfEnergy(NamedTuple):
    """A bucket of energy in kWh between two instants in milliseconds. It is complete if no sample is missing."""

    start: int
    stop: int
    energy: float | None
    is_complete: bool


@dataclass(frozen=True, slots=True)
class StandbyPower:
    """The standby power in W, and the number of days that it comes from. Without a power, `reason` says why."""

    watts: int | None
    days: int
    reason: NoStandbyReason | None = None

    @property
    def yearly_energy(self) -> Decimal | None:
        """The energy of a year in kWh."""
        return None if self.watts is None else Decimal(round(self.watts * HOURS_PER_YEAR / WATTS_PER_KILOWATT))


def find_standby_power(hours: Iterable[HourOfEnergy], zone: tzinfo) -> StandbyPower:
    """Return the standby power from the hours of whole local days. A day with an incomplete hour does not count."""
    lowest = [
        min(night)
        for day in _hours_by_day(hours, zone).values()
        if all(hour.is_complete for _, hour in day) and (night := _night_energy(day))
    ]
    if len(lowest) < MIN_DAYS:
        return StandbyPower(None, len(lowest), NoStandbyReason.TOO_FEW_DAYS)
    watts = round(median(lowest) * WATTS_PER_KILOWATT)
    if watts <= 0:  # a battery or panels supply the home, so the meter does not show its standby power
        return StandbyPower(None, len(lowest), NoStandbyReason.NO_NIGHT_USE)
    return StandbyPower(watts, len(lowest))


def mean_price(spans: Sequence[tuple[int, Decimal | None]], stop: int) -> Decimal | None:
    """Return the mean of prices over time, because standby draws in each hour. None if a price is unknown.

    A span begins at its instant and ends at that of the next one, or at `stop`.
    """
    total, begun = Decimal(0), None
    ends = [*(start for start, _ in spans[1:]), stop]
    for (start, price), end in zip(spans, ends, strict=True):
        if end <= start:
            continue
        if price is None:
            return None
        begun = start if begun is None else begun
        total += price * (end - start)
    return None if begun is None else total / (stop - begun)


def _hours_by_day(hours: Iterable[HourOfEnergy], zone: tzinfo) -> Mapping[date, list[tuple[datetime, HourOfEnergy]]]:
    days: dict[date, list[tuple[datetime, HourOfEnergy]]] = {}
    for hour in hours:
        local = from_ms(hour.start).astimezone(zone)
        days.setdefault(local.date(), []).append((local, hour))
    return days


def _night_energy(day: Sequence[tuple[datetime, HourOfEnergy]]) -> list[float]:
    """Return the energy of the night hours. A part of an hour, beside a clock change, is left out."""
    return [
        hour.energy
        for local, hour in day
        if local.hour in _NIGHT_HOURS and hour.stop - hour.start == HOUR_MS and hour.energy is not None
    ]
