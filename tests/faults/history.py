"""Comparison of the readings that displays received with those that were sent and acknowledged, without I/O.

Readings of a resource are numbered from 0 in the order in which they are sent, and the number is the value. The numbers
alone show which readings are missing, duplicate or out of order.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

MAX_REPORT_DELAY = timedelta(seconds=5)
"""Maximum time between the first reading after a gap and the report of the gap.

A gateway that could not publish events reports them when it reaches Redis again. Other gateways may publish before.
"""


class Ledger:
    """The readings sent for each resource: their times, the number of attempts, and the acknowledged ones."""

    def __init__(self, resource_ids: Iterable[str]) -> None:
        self._instants: dict[str, list[datetime]] = {resource_id: [] for resource_id in resource_ids}
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._acknowledged: dict[str, set[int]] = {resource_id: set() for resource_id in self._instants}

    def add(self, resource_id: str, at: datetime) -> int:
        """Add a reading of a resource, and return its number."""
        self._instants[resource_id].append(at)
        return len(self._instants[resource_id]) - 1

    def attempt(self, resource_id: str, number: int) -> None:
        """Record an attempt to send a reading."""
        self._attempts[resource_id, number] += 1

    def acknowledge(self, resource_id: str, number: int) -> None:
        self._acknowledged[resource_id].add(number)

    @property
    def resource_ids(self) -> list[str]:
        return list(self._instants)

    @property
    def count(self) -> int:
        """The number of acknowledged readings."""
        return sum(map(len, self._acknowledged.values()))

    @property
    def retried(self) -> int:
        """The number of readings that were sent more than once."""
        return sum(attempts > 1 for attempts in self._attempts.values())

    def acknowledged(self, resource_id: str) -> set[int]:
        return self._acknowledged[resource_id]

    def newest(self, resource_id: str) -> int:
        """Return the newest acknowledged number, or -1."""
        return max(self._acknowledged[resource_id], default=-1)

    def attempts(self, resource_id: str, number: int) -> int:
        return self._attempts[resource_id, number]

    def instant(self, resource_id: str, number: int) -> datetime | None:
        """Return the time of a reading, or None if it was never sent."""
        instants = self._instants.get(resource_id, [])
        return instants[number] if 0 <= number < len(instants) else None


@dataclass(frozen=True, slots=True)
class Connected:
    """The display has subscribed at a gateway."""

    gateway: int


@dataclass(frozen=True, slots=True)
class PositionReceived:
    """The display received its position. `recovered` is None at the start, and False if readings are lost."""

    recovered: bool | None
    position: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReadingShown:
    """The display received a reading with a position.

    In a backfill, only the last reading has a position that the display did not have before.
    """

    resource_id: str
    number: int
    at: datetime
    position: str


@dataclass(frozen=True, slots=True)
class SubscriptionEnded:
    """The gateway rejected the subscription, or ended it with an error."""

    code: str


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection has ended, with the close code if there was one."""

    code: int | None = None


Entry = Connected | PositionReceived | ReadingShown | SubscriptionEnded | Disconnected


@dataclass(slots=True)
class Findings:
    """The results of a check: counts, and problems in words."""

    shown: int = 0
    connections: int = 0
    recovered: int = 0
    reported_losses: int = 0
    reported_missing: int = 0
    """Readings that never arrived, after `recovered: false`."""

    reported_late: int = 0
    """Readings that were skipped shortly before `recovered: false`."""

    conflated: int = 0
    """Readings that newer ones replaced for a slow display."""

    repeated: int = 0
    """Readings that arrived twice because a meter sent them twice."""

    gaps: int = 0
    duplicates: int = 0
    disorders: int = 0
    problems: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Findings") -> "Findings":
        for field_ in fields(self):
            setattr(self, field_.name, getattr(self, field_.name) + getattr(other, field_.name))
        return self


class _ResourceState:
    """The readings of one resource at a display.

    `last` is the newest number since the start or the last reported loss, `newest_ever` the newest of all. `live` is
    true after the first reading that is not part of a backfill.
    """

    __slots__ = ("last", "live", "newest_ever")

    def __init__(self) -> None:
        self.newest_ever = self.last = -1
        self.live = False


class _HistoryChecker:
    """Check a history entry by entry."""

    def __init__(self, name: str, ledger: Ledger, conflates: bool) -> None:
        self._name = name
        self._ledger = ledger
        self._conflates = conflates
        self._resource_states: dict[str, _ResourceState] = {}
        self._has_position = False
        self._position = ""
        self._loss_reported = False
        """Whether the last position came with `recovered: false`."""

        self._backfill_position: str | None = None
        """The position of all but the last reading of the current backfill. None outside a backfill."""

        self._unreported_gaps: list[tuple[ReadingShown, int]] = []
        """Readings with the number of missing ones before each. The gateway has not reported these gaps."""

        self.findings = Findings()

    def add(self, entry: Entry) -> None:
        match entry:
            case Connected():
                self.findings.connections += 1
            case PositionReceived():
                self._on_position(entry)
                self._position = entry.position
            case ReadingShown():
                self._on_reading(entry)
                self._position = entry.position

    def end(self, resource_ids: Iterable[str]) -> None:
        """Check that the display has the newest readings of these resources.

        A test can close a display during a backfill that repeats readings. Readings that it received earlier count too.
        """
        self._settle_gaps()
        in_backfill = self._backfill_position is not None
        for resource_id in resource_ids:
            state = self._resource_states.get(resource_id, _ResourceState())
            last = state.newest_ever if in_backfill else state.last
            newest = self._ledger.newest(resource_id)
            if last != newest:
                self._add_problem(f"ends at {last} of {resource_id}, and {newest} was acknowledged")

    def _on_position(self, entry: PositionReceived) -> None:
        self._loss_reported = entry.recovered is False
        if entry.recovered:
            self.findings.recovered += 1
            if not self._has_position:
                self._add_problem("received recovered: true without an earlier position")
            return
        if self._loss_reported:
            self.findings.reported_losses += 1
            self._settle_gaps(entry.at)
        self._has_position = True
        self._backfill_position = entry.position if entry.position == self._position else None
        for state in self._resource_states.values():
            state.live, state.last = False, -1

    def _on_reading(self, reading: ReadingShown) -> None:
        self.findings.shown += 1
        resource_id, number = reading.resource_id, reading.number
        if self._ledger.instant(resource_id, number) != reading.at:
            return self._add_problem(f"shows {number} of {resource_id} at {reading.at}, which was never sent")
        if not self._has_position:
            return self._add_problem(f"shows {number} of {resource_id} before its first position")
        state = self._resource_states.setdefault(resource_id, _ResourceState())
        if self._has_backfill_ended(state, reading):
            self._backfill_position = None
        if self._backfill_position is not None:
            self._on_backfill_reading(state, reading)
        elif state.live:
            self._on_live_reading(state, reading)
        else:
            self._on_first_live_reading(state, reading)
        state.newest_ever = max(state.newest_ever, number)
        if reading.position != self._backfill_position:
            self._backfill_position = None
        return None

    def _has_backfill_ended(self, state: _ResourceState, reading: ReadingShown) -> bool:
        """Return whether a reading after a loss is a live one, because it repeats a reading of the backfill.

        A new primary of Redis can have the position before the loss. Then the whole backfill has that position, and the
        first reading with another one is live.
        """
        return self._loss_reported and reading.position != self._backfill_position and reading.number <= state.last

    def _on_backfill_reading(self, state: _ResourceState, reading: ReadingShown) -> None:
        """Check a reading of a backfill. Skipped readings count as reported."""
        if reading.number <= state.last:
            self.findings.disorders += 1
            self._add_problem(f"received {reading.number} after {state.last} of {reading.resource_id} in a backfill")
        if state.newest_ever >= 0:
            self.findings.reported_missing += max(0, reading.number - state.newest_ever - 1)
        state.last = reading.number

    def _on_first_live_reading(self, state: _ResourceState, reading: ReadingShown) -> None:
        """Check the first live reading. It may repeat the backfill, but must not leave a gap after it."""
        state.live = True
        if state.last < state.newest_ever:
            self.findings.disorders += 1
            self._add_problem(
                f"received a backfill up to {state.last} of {reading.resource_id}, and had shown {state.newest_ever}"
            )
        if reading.number > state.last + 1:
            self._record_gap(reading, state.last)
        state.last = reading.number

    def _on_live_reading(self, state: _ResourceState, reading: ReadingShown) -> None:
        number, last = reading.number, state.last
        state.last = max(last, number)
        if number > last + 1:
            self._record_gap(reading, last)
        elif number <= last and self._ledger.attempts(reading.resource_id, number) > 1:
            self.findings.repeated += 1
        elif number == last:
            self.findings.duplicates += 1
            self._add_problem(f"shows {number} of {reading.resource_id} twice")
        elif number < last:
            self.findings.disorders += 1
            self._add_problem(f"shows {number} after {last} of {reading.resource_id}")

    def _record_gap(self, reading: ReadingShown, last: int) -> None:
        missing = reading.number - last - 1
        if self._conflates:
            self.findings.conflated += missing
            return
        self._unreported_gaps.append((reading, missing))

    def _settle_gaps(self, reported_at: datetime | None = None) -> None:
        """Count the gaps: as reported late if the report came in time, else as problems."""
        for reading, missing in self._unreported_gaps:
            if reported_at is not None and reported_at - reading.at <= MAX_REPORT_DELAY:
                self.findings.reported_late += missing
            else:
                self.findings.gaps += missing
                self._add_problem(f"misses {missing} of {reading.resource_id} before {reading.number} without a report")
        self._unreported_gaps.clear()

    def _add_problem(self, sentence: str) -> None:
        self.findings.problems.append(f"{self._name} {sentence}")


def check_history(
    name: str, history: Sequence[Entry], resource_ids: Iterable[str], ledger: Ledger, *, conflates: bool = False
) -> Findings:
    """Check the history of a display that was subscribed to these resources to the end.

    `conflates` is true for a slow display, for which newer readings may replace older ones.
    """
    check = _HistoryChecker(name, ledger, conflates)
    for entry in history:
        check.add(entry)
    check.end(resource_ids)
    return check.findings


def count_lost(stored: Mapping[str, Sequence[tuple[datetime, int]]], ledger: Ledger) -> int:
    """Return the number of acknowledged readings without a row."""
    return sum(
        len(ledger.acknowledged(resource_id) - {number for _, number in stored.get(resource_id, ())})
        for resource_id in ledger.resource_ids
    )


def check_stored(stored: Mapping[str, Sequence[tuple[datetime, int]]], ledger: Ledger) -> list[str]:
    """Return problems of the rows (time, number) of each resource: missing, duplicate and unknown ones."""
    problems = []
    for resource_id in ledger.resource_ids:
        rows = Counter(stored.get(resource_id, ()))
        known = {(ledger.instant(resource_id, number), number) for _, number in rows}
        numbers = Counter(number for _, number in rows.elements())
        problems += [
            f"{resource_id} has no row of {number}"
            for number in sorted(ledger.acknowledged(resource_id) - set(numbers))
        ]
        problems += [
            f"{resource_id} has {count} rows of {number}" for number, count in sorted(numbers.items()) if count > 1
        ]
        problems += [f"{resource_id} has a row of {number} at {at}, never sent" for at, number in set(rows) - known]
    return problems
