"""What displays were shown, held against what was sent and acknowledged. Pure.

Readings of a resource are numbered from 0 in the order in which they are sent, and the number is the value; so what is
missing, doubled or out of order shows in the numbers alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

LATE = timedelta(seconds=5)
"""How long after a reading that follows a gap a display may be told of it: a gateway that cannot reach Redis to tell
of what it could not publish is heard once it does, and others may have published in between."""


class Ledger:
    """What was sent of each resource, when it says that it was read, how often, and what was acknowledged."""

    def __init__(self, resource_ids: Iterable[str]) -> None:
        self._instants: dict[str, list[datetime]] = {resource_id: [] for resource_id in resource_ids}
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._acknowledged: dict[str, set[int]] = {resource_id: set() for resource_id in self._instants}

    def add(self, resource_id: str, at: datetime) -> int:
        """Enter another reading of a resource; its number."""
        self._instants[resource_id].append(at)
        return len(self._instants[resource_id]) - 1

    def attempt(self, resource_id: str, number: int) -> None:
        """Enter that a reading is sent, for the first time or again."""
        self._attempts[resource_id, number] += 1

    def acknowledge(self, resource_id: str, number: int) -> None:
        self._acknowledged[resource_id].add(number)

    @property
    def resource_ids(self) -> list[str]:
        return list(self._instants)

    @property
    def count(self) -> int:
        """How many readings were acknowledged."""
        return sum(map(len, self._acknowledged.values()))

    @property
    def retried(self) -> int:
        """How many readings were sent more than once."""
        return sum(attempts > 1 for attempts in self._attempts.values())

    def acknowledged(self, resource_id: str) -> set[int]:
        return self._acknowledged[resource_id]

    def newest(self, resource_id: str) -> int:
        """The newest number that was acknowledged, or -1."""
        return max(self._acknowledged[resource_id], default=-1)

    def attempts(self, resource_id: str, number: int) -> int:
        return self._attempts[resource_id, number]

    def instant(self, resource_id: str, number: int) -> datetime | None:
        """When a reading was made; None where there never was such a reading."""
        instants = self._instants.get(resource_id, [])
        return instants[number] if 0 <= number < len(instants) else None


@dataclass(frozen=True, slots=True)
class Came:
    """The display has subscribed at a gateway."""

    gateway: int


@dataclass(frozen=True, slots=True)
class Told:
    """Where the display stands: all that it missed follows (True), or some of it may be lost (False), or it begins."""

    recovered: bool | None
    position: str
    when: datetime


@dataclass(frozen=True, slots=True)
class Shown:
    """A reading, and where the display stands with it.

    Of the readings that make up for what is lost, only the last has a position that the display had not before.
    """

    resource_id: str
    number: int
    at: datetime
    position: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The gateway does not take the subscription, or ends it."""

    code: str


@dataclass(frozen=True, slots=True)
class Left:
    """The connection is gone, with a code where the gateway has said one."""

    code: int | None = None


Entry = Came | Told | Shown | Refused | Left


@dataclass(slots=True)
class Findings:
    """What a history comes to, in counts, and in sentences about what must not be."""

    shown: int = 0
    connections: int = 0
    recovered: int = 0
    told_of_loss: int = 0
    lost_as_told: int = 0
    """Readings that were never shown, after the display was told that some may be lost."""

    told_late: int = 0
    """Readings that were passed over shortly before the display was told so."""

    conflated: int = 0
    """Readings that were passed over for a display that reads slowly."""

    repeated: int = 0
    """Readings that came again because they had been sent again."""

    gaps: int = 0
    duplicates: int = 0
    disorders: int = 0
    wrong: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Findings") -> "Findings":
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        return self


class _Stream:
    """What a display was shown of one resource.

    `last` is the newest number since it began or was told of a loss, `ever` the newest of all. It is `live` once a
    reading has come that is no part of what makes up for a loss.
    """

    __slots__ = ("ever", "last", "live")

    def __init__(self) -> None:
        self.ever = self.last = -1
        self.live = False


class _Check:
    """Goes through a history, entry by entry."""

    def __init__(self, name: str, ledger: Ledger, conflates: bool) -> None:
        self._name = name
        self._ledger = ledger
        self._conflates = conflates
        self._streams: dict[str, _Stream] = {}
        self._begun = False
        self._position = ""
        self._filling: str | None = None
        """The position of readings that make up for what is lost, all but the last."""

        self._missed: list[tuple[Shown, int]] = []
        """Readings with how many are missing before each, of which the display is not told yet."""

        self.findings = Findings()

    def take(self, entry: Entry) -> None:
        match entry:
            case Came():
                self.findings.connections += 1
            case Told():
                self._tell(entry)
                self._position = entry.position
            case Shown():
                self._show(entry)
                self._position = entry.position

    def end(self, resource_ids: Iterable[str]) -> None:
        """What a display that watches these resources shows in the end must be their newest readings."""
        self._account_for_gaps()
        for resource_id in resource_ids:
            stream = self._streams.get(resource_id, _Stream())
            shown, newest = stream.last, self._ledger.newest(resource_id)
            if shown != newest:
                self._wrong(f"ends at {shown} of {resource_id}, and {newest} was acknowledged")

    def _tell(self, told: Told) -> None:
        if told.recovered:
            self.findings.recovered += 1
            if not self._begun:
                self._wrong("is told that it has missed nothing, and had never begun")
            return
        if told.recovered is False:
            self.findings.told_of_loss += 1
            self._account_for_gaps(told.when)
        self._begun = True
        self._filling = told.position if told.position == self._position else None
        for stream in self._streams.values():
            stream.live, stream.last = False, -1

    def _show(self, shown: Shown) -> None:
        self.findings.shown += 1
        resource_id, number = shown.resource_id, shown.number
        if self._ledger.instant(resource_id, number) != shown.at:
            return self._wrong(f"shows {number} of {resource_id} at {shown.at}, which was never sent")
        if not self._begun:
            return self._wrong(f"shows {number} of {resource_id} before it was told where it stands")
        stream = self._streams.setdefault(resource_id, _Stream())
        if self._filling is not None:
            self._fill(stream, shown)
        elif stream.live:
            self._follow(stream, shown)
        else:
            self._begin(stream, shown)
        stream.ever = max(stream.ever, number)
        if shown.position != self._filling:
            self._filling = None
        return None

    def _fill(self, stream: _Stream, shown: Shown) -> None:
        """A reading that comes from the database. Those it leaves out are lost as told."""
        if shown.number <= stream.last:
            self.findings.disorders += 1
            self._wrong(f"is filled with {shown.number} after {stream.last} of {shown.resource_id}")
        if stream.ever >= 0:
            self.findings.lost_as_told += max(0, shown.number - stream.ever - 1)
        stream.last = shown.number

    def _begin(self, stream: _Stream, shown: Shown) -> None:
        """The first live reading. It may have been among what was filled, and may not leave a gap after it."""
        stream.live = True
        if stream.last < stream.ever:
            self.findings.disorders += 1
            self._wrong(f"was filled up to {stream.last} of {shown.resource_id}, and had shown {stream.ever}")
        if shown.number > stream.last + 1:
            self._miss(shown, stream.last)
        stream.last = shown.number

    def _follow(self, stream: _Stream, shown: Shown) -> None:
        number, last = shown.number, stream.last
        stream.last = max(last, number)
        if number > last + 1:
            self._miss(shown, last)
        elif number <= last and self._ledger.attempts(shown.resource_id, number) > 1:
            self.findings.repeated += 1
        elif number == last:
            self.findings.duplicates += 1
            self._wrong(f"shows {number} of {shown.resource_id} twice")
        elif number < last:
            self.findings.disorders += 1
            self._wrong(f"shows {number} after {last} of {shown.resource_id}")

    def _miss(self, shown: Shown, last: int) -> None:
        missing = shown.number - last - 1
        if self._conflates:
            self.findings.conflated += missing
            return
        self._missed.append((shown, missing))

    def _account_for_gaps(self, told: datetime | None = None) -> None:
        """Gaps are no secret where the display was told of them by an instant."""
        for shown, missing in self._missed:
            if told is not None and told - shown.at <= LATE:
                self.findings.told_late += missing
            else:
                self.findings.gaps += missing
                self._wrong(f"misses {missing} of {shown.resource_id} before {shown.number}, and was not told")
        self._missed.clear()

    def _wrong(self, sentence: str) -> None:
        self.findings.wrong.append(f"{self._name} {sentence}")


def check_history(
    name: str, history: Sequence[Entry], resource_ids: Iterable[str], ledger: Ledger, *, conflates: bool = False
) -> Findings:
    """What a display's history comes to, which watched these resources to the end.

    `conflates` says that it read slowly, so that readings may have been passed over for newer ones.
    """
    check = _Check(name, ledger, conflates)
    for entry in history:
        check.take(entry)
    check.end(resource_ids)
    return check.findings


def count_lost(stored: Mapping[str, Sequence[tuple[datetime, int]]], ledger: Ledger) -> int:
    """How many readings were acknowledged of which there is no row."""
    return sum(
        len(ledger.acknowledged(one) - {number for _, number in stored.get(one, ())}) for one in ledger.resource_ids
    )


def check_stored(stored: Mapping[str, Sequence[tuple[datetime, int]]], ledger: Ledger) -> list[str]:
    """What is wrong with the rows (instant, number) of each resource: none may be missing, doubled or unknown."""
    wrong = []
    for resource_id in ledger.resource_ids:
        rows = Counter(stored.get(resource_id, ()))
        known = {(ledger.instant(resource_id, number), number) for _, number in rows}
        numbers = Counter(number for _, number in rows.elements())
        wrong += [
            f"{resource_id} has no row of {one}" for one in sorted(ledger.acknowledged(resource_id) - set(numbers))
        ]
        wrong += [f"{resource_id} has {count} rows of {one}" for one, count in sorted(numbers.items()) if count > 1]
        wrong += [f"{resource_id} has a row of {number} at {at}, never sent" for at, number in set(rows) - known]
    return wrong
