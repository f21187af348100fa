"""A CSV file of readings into the database: streamed in batches, so that memory does not grow with the file.

The header names the columns, in any order: `value`; `at` (ISO 8601; UTC where it has no offset) or `localTime` (the
wall clock of a time zone); `resourceId` unless one resource is given for the file; `field` where it is not the
resource's first.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import BinaryIO

from strawberry import ID

from wattgate.errors import BadInput
from wattgate.graphql.resolvers.readings import MAX_READINGS, record_readings
from wattgate.graphql.runner import Runner
from wattgate.graphql.types.resources import NewReading, NewReadings
from wattgate.principal import Principal

MAX_LINE = 64 * 1024

Refuse = Callable[[int, str], None]
"""Told the number of each refused line and why; the header is line 1."""


@dataclass(slots=True)
class Report:
    """What became of a file: lines with a reading in them, readings recorded, lines refused, bytes read."""

    lines: int = 0
    recorded: int = 0
    refused: int = 0


class BadLine(ValueError):
    """A line that holds no reading; the message says why."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a line's values stand, and what is the same for all lines."""

    value: int
    at: int | None
    local_time: int | None
    resource: int | None
    field: int | None
    delimiter: str
    resource_id: str | None
    zone: tzinfo

    @classmethod
    def of(cls, header: str, resource_id: str | None, zone: tzinfo) -> "Columns":
        """Read the header. BadInput where a column is missing or one too many."""
        delimiter = ";" if header.count(";") > header.count(",") else ","
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        place: dict[str, int] = {name: names.index(name) for name in names}
        if "value" not in place:
            raise BadInput("the header has no column `value`")
        if ("at" in place) == ("localtime" in place):
            raise BadInput("the header has either a column `at` or a column `localTime`")
        if ("resourceid" in place) == (resource_id is not None):
            raise BadInput("either the header has a column `resourceId`, or one resource is named for the file")
        return cls(
            value=place["value"],
            at=place.get("at"),
            local_time=place.get("localtime"),
            resource=place.get("resourceid"),
            field=place.get("field"),
            delimiter=delimiter,
            resource_id=resource_id,
            zone=zone,
        )


@dataclass(slots=True)
class _Batch:
    """Readings by resource and field, with the line that each stands on."""

    readings: dict[tuple[str, str | None], list[tuple[int, NewReading]]] = field(default_factory=dict)
    size: int = 0

    def add(self, key: tuple[str, str | None], line: int, reading: NewReading) -> None:
        self.readings.setdefault(key, []).append((line, reading))
        self.size += 1


async def import_csv(
    file: BinaryIO,
    *,
    runner: Runner,
    principal: Principal,
    resource_id: str | None,
    zone: tzinfo,
    refuse: Refuse,
    progress: Callable[[int], None],
) -> Report:
    """Record every reading of the file that can be; the others are refused by line and reason.

    `progress` is told the bytes read so far. A reading that is already stored is replaced, also by a later line.
    """
    report = Report()

    def refused(line: int, reason: str) -> None:
        report.refused += 1
        refuse(line, reason)

    lines = lines_of(file)
    columns = Columns.of(next(lines, ""), resource_id, zone)
    latest: dict[str, datetime] = {}
    batch = _Batch()
    for number, text in enumerate(lines, start=2):
        if not text.strip():
            continue
        report.lines += 1
        try:
            batch.add(*_parsed(columns, number, text, latest))
        except BadLine as bad:
            refused(number, str(bad))
        if batch.size >= MAX_READINGS:
            report.recorded += await _record(runner, principal, batch, refused)
            progress(file.tell())
            batch = _Batch()
    report.recorded += await _record(runner, principal, batch, refused)
    progress(file.tell())
    return report


def lines_of(file: BinaryIO) -> Iterator[str]:
    """The lines of the file as text; one that is too long to be a reading comes cut, so that it is refused."""
    while raw := file.readline(MAX_LINE):
        text = raw.decode("utf-8-sig" if file.tell() == len(raw) else "utf-8", errors="replace")
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(MAX_LINE)
        yield text


def _parsed(
    columns: Columns, number: int, text: str, latest: dict[str, datetime]
) -> tuple[tuple[str, str | None], int, NewReading]:
    try:
        cells = next(csv.reader([text], delimiter=columns.delimiter))
        resource_id = columns.resource_id or cells[columns.resource or 0].strip()
        value = Decimal(cells[columns.value].strip())
        field_name = cells[columns.field].strip() or None if columns.field is not None else None
        at = _instant(columns, cells, latest.get(resource_id))
    except csv.Error as error:
        raise BadLine(f"is not CSV: {error}") from None
    except IndexError:
        raise BadLine("has too few columns") from None
    except InvalidOperation:
        raise BadLine(f"{cells[columns.value]!r} is not a number") from None
    latest[resource_id] = at
    return (resource_id, field_name), number, NewReading(at=at, value=value)


def _instant(columns: Columns, cells: list[str], previous: datetime | None) -> datetime:
    """The instant of a line. A wall-clock time that comes twice is the second one where the first has passed."""
    text = cells[columns.at if columns.at is not None else columns.local_time or 0].strip()
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadLine(f"{text!r} is not an ISO 8601 time") from None
    if columns.at is not None:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    if time.tzinfo is not None:
        raise BadLine(f"{text!r} has an offset; localTime is the wall clock of {columns.zone}")
    first, second = (time.replace(tzinfo=columns.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first.astimezone(columns.zone).replace(tzinfo=None) != time:
        raise BadLine(f"{text} does not exist in {columns.zone}: the clocks went forward")
    return second if previous is not None and first <= previous < second else first


async def _record(runner: Runner, principal: Principal, batch: _Batch, refuse: Refuse) -> int:
    """Record a batch without the readings that the gateway refuses; how many are stored."""
    while batch.readings:
        keys = list(batch.readings)
        series = [
            NewReadings(
                resource_id=ID(resource_id),
                field=field_name,
                readings=[reading for _, reading in batch.readings[resource_id, field_name]],
            )
            for resource_id, field_name in keys
        ]
        try:
            done = await runner.run(record_readings, principal, {"series": series})
        except BadInput as error:
            refusals = _refusals(error, keys, batch)
            if not refusals:
                raise
            for line, reason in sorted(refusals.items()):
                refuse(line, reason)
            batch = _without(batch, refusals)
        else:
            return int(done.recorded)
    return 0


def _refusals(error: BadInput, keys: list[tuple[str, str | None]], batch: _Batch) -> dict[int, str]:
    """The reason for each line that a refused call names, by its path ("series", i, ...)."""
    reasons: dict[int, str] = {}
    for problem in error.problems:
        match problem.path:
            case ("series", int() as position, "readings", int() as index):
                line, _ = batch.readings[keys[position]][index]
                reasons[line] = problem.message
            case ("series", int() as position, *_):
                reasons |= {line: problem.message for line, _ in batch.readings[keys[position]]}
    return reasons


def _without(batch: _Batch, lines: Mapping[int, str]) -> _Batch:
    left = _Batch()
    for key, readings in batch.readings.items():
        for line, reading in readings:
            if line not in lines:
                left.add(key, line, reading)
    return left
