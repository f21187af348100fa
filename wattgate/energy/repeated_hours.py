"""Decide which occurrence of a repeated local time each line of a file means. No I/O.

When the clocks go back, an hour of local times occurs twice. A line with such a time may mean two instants. Only the
order of the lines can decide. The unit is the lines of one series on the local day of the clock change, in the order
of the file, whatever lines of other days or series are between them.

1. If the day is in the file several times as a whole, line by line the same, only the first copy counts. All copies
   have the same result. Later exact repeats of single lines with a unique time do not count either.
2. Two orders are trusted: strictly ascending and strictly descending instants. Missing lines do not matter. For
   ascending lines, the repeated times are one block, after all earlier and before all later times. They ascend, step
   back once, and ascend again. The step is the clock change: lines before it are the first occurrence, and lines after
   it the second. If they never step back, each position of the clock change is possible, so nothing is decided. If they
   step back twice, the lines are not in ascending order. For descending lines, the same holds in reverse.
3. If both orders are possible and have different results, nothing is decided.

Two equal local times that follow each other are a special case of the step. With hourly samples, 00:00, 01:00, 01:00,
02:00 is the ascending order. With half hours, 01:00, 01:00, 01:30 may be ascending with a gap, or sorted by local time
with a gap in the other hour. The orders differ, so nothing is decided. Equal times therefore decide only if the samples
of the day are so far apart that no other repeated time is possible.

If nothing is decided, the caller must refuse the lines with repeated times: with another order, two readings would be
exchanged, and no sum would show it. A file that differs from an ordered one only in that it exchanges two lines of the
same local time is the same text as an ordered file, so no algorithm can detect it.
"""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple


class DayLine(NamedTuple):
    """A line of the day: its local time in ms, whether that occurs twice, and what else the line says."""

    local: int
    is_repeated: bool
    content: Hashable


def resolve_repeated(lines: Sequence[DayLine], shift: int) -> list[int] | None:
    """Return for each line with a repeated time its occurrence, 0 or 1, or None if the order does not decide.

    The lines are those of one series on one day, in the order of the file. `shift` is how far the clocks go back (ms).
    """
    day = _first_copy(lines)
    counted = _without_repeats(day)
    ascending = _ascending_results(counted, shift)
    descending = [result[::-1] for result in _ascending_results(counted[::-1], shift)]
    results = ascending + [result for result in descending if result not in ascending]
    return results[0] * (len(lines) // len(day)) if len(results) == 1 else None


def _first_copy(lines: Sequence[DayLine]) -> Sequence[DayLine]:
    """Return the shortest sequence of which the lines are a whole number of copies."""
    # the prefix function of Knuth, Morris and Pratt: the longest proper prefix that is a suffix, at each position
    borders = [0] * len(lines)
    for position in range(1, len(lines)):
        length = borders[position - 1]
        while length and lines[position] != lines[length]:
            length = borders[length - 1]
        borders[position] = length + (lines[position] == lines[length])
    period = len(lines) - borders[-1] if lines else 0
    return lines[:period] if period and len(lines) % period == 0 else lines


def _without_repeats(lines: Sequence[DayLine]) -> list[DayLine]:
    """Return the lines without exact repeats of earlier ones, as far as their times are unique."""
    seen = set[DayLine]()
    kept = []
    for line in lines:
        if line.is_repeated or line not in seen:
            kept.append(line)
        seen.add(line)
    return kept


def _ascending_results(lines: Sequence[DayLine], shift: int) -> list[list[int]]:
    """Return the possible results if the instants ascend strictly: none, one, or two or more, which are cut to two."""
    positions = [position for position, line in enumerate(lines) if line.is_repeated]
    if not positions:
        return []
    before, after = lines[: positions[0]], lines[positions[-1] + 1 :]
    repeated = [line.local for line in lines[positions[0] : positions[-1] + 1]]
    if len(repeated) > len(positions):
        return []
    around = [*(line.local for line in before), min(repeated)], [max(repeated), *(line.local for line in after)]
    if any(next_ <= one for part in around for one, next_ in pairwise(part)):
        return []
    steps = [position for position, (one, next_) in enumerate(pairwise(repeated), start=1) if next_ <= one]
    if len(steps) > 1:
        return []
    undecided = [[occurrence] * len(repeated) for occurrence in (0, 1)]
    if not steps:
        return undecided
    (step,) = steps
    if repeated[step] == repeated[step - 1] and not _is_only_repeated_time(lines, shift):
        return undecided
    return [[0] * step + [1] * (len(repeated) - step)]


def _is_only_repeated_time(lines: Sequence[DayLine], shift: int) -> bool:
    """Return whether the samples of the day are so far apart that only one local time can occur twice."""
    times = sorted({line.local for line in lines})
    return all(next_ - one >= shift for one, next_ in pairwise(times))
