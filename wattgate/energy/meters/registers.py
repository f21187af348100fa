"""Energy of regular intervals from the readings of a cumulative register. No I/O.

Between two successive readings, the register is assumed to rise evenly, if they are at most MAX_GAP_MS apart. The
energy of an interval is the difference of the register at both of its ends. So the sum of intervals is exactly the
difference of the register, and registers that are read at ends of intervals give the exact energy between them.

A register with n digits begins anew after its highest number. A register that falls otherwise was replaced, or one of
the readings is wrong: the energy between is unknown.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from wattgate.energy.buckets import HOUR_MS

MAX_GAP_MS = 2 * HOUR_MS
"""The longest time between two readings in which the register is interpolated."""

MAX_UNITS_PER_HOUR = 100
"""The most energy in an hour, in units of the register: kWh or m3. A faster register is wrong, or another one."""

MIN_DIGITS = 4
"""The fewest digits of a register that begins anew after its highest number."""


class RegisterPoint(NamedTuple):
    """A reading of a register: its instant in ms, and its value as a scaled integer."""

    at: int
    value: int


def register_rise(before: RegisterPoint, after: RegisterPoint, decimals: int) -> int | None:
    """Return how much a register rose between two readings, or None if that is unknown.

    Values are integers times 10 to the power of `-decimals`.
    """
    unit = 10**decimals
    most = MAX_UNITS_PER_HOUR * unit * (after.at - before.at) // HOUR_MS + unit  # whole units may arrive at once
    rise = after.value - before.value
    if rise < 0:
        digits = len(str(before.value // unit))
        if digits < MIN_DIGITS or after.value < 0:
            return None
        rise += 10**digits * unit
    return rise if rise <= most else None


def derive_energy(
    points: Sequence[RegisterPoint], *, decimals: int, energy_decimals: int, interval_ms: int, phase_ms: int
) -> dict[int, int]:
    """Return the energy of each interval whose ends the readings of a register enclose, by the start of the interval.

    `points` are in the order of time. Energy has `energy_decimals`. An interval with unknown energy is left out.
    """
    energy: dict[int, int] = {}
    for part in _continuous_parts(_without_wrong(points, decimals), decimals):
        first = part[0].at + (phase_ms - part[0].at) % interval_ms
        edges = range(first, part[-1].at + 1, interval_ms)
        levels = list(_levels(part, edges, decimals, energy_decimals))
        for start, (level, next_level) in zip(edges, pairwise(levels), strict=False):
            energy[start] = next_level - level
    return energy


def _without_wrong(points: Sequence[RegisterPoint], decimals: int) -> list[RegisterPoint]:
    """Return the points without single ones that do not fit between their neighbours, which fit each other."""
    kept = list(points[:1])
    for point, following in zip(points[1:], [*points[2:], None], strict=False):
        is_wrong = (
            following is not None
            and register_rise(kept[-1], point, decimals) is None
            and register_rise(kept[-1], following, decimals) is not None
        )
        if not is_wrong:
            kept.append(point)
    return kept


def _continuous_parts(points: Sequence[RegisterPoint], decimals: int) -> Iterator[list[RegisterPoint]]:
    """Yield the parts in which the rise between all points is known. Values continue after the highest number."""
    part = list(points[:1])
    for before, after in pairwise(points):
        rise = register_rise(before, after, decimals) if after.at - before.at <= MAX_GAP_MS else None
        if rise is None:
            yield part
            part = [after]
        else:
            part.append(RegisterPoint(after.at, part[-1].value + rise))
    if part:
        yield part


def _levels(points: Sequence[RegisterPoint], edges: range, decimals: int, energy_decimals: int) -> Iterator[int]:
    """Yield the register at each edge, which lies between two points, rounded down to the decimals of the energy.

    Rounded levels and not rounded differences, so that the differences add up.
    """
    position = 0
    for edge in edges:
        while position + 1 < len(points) and points[position + 1].at <= edge:
            position += 1
        at, value = points[position]
        numerator, denominator = value * 10**energy_decimals, 10**decimals
        if edge > at:
            next_at, next_value = points[position + 1]
            elapsed, length = edge - at, next_at - at
            numerator = (value * length + (next_value - value) * elapsed) * 10**energy_decimals
            denominator = length * 10**decimals
        yield numerator // denominator
