"""A CSV file of readings into the database: streamed in batches, so that memory does not grow with the file.

The header names the columns, in any order: `value`; `at` (ISO 8601; UTC where it has no offset) or `localTime` (the
wall clock of a time zone); `resourceId` unless one resource is given for the file; `field` where it is not the
resource's first; `quality` where it is not ACTUAL.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, BinaryIO

from wattgate.app.cli.imports.line_reader import numbered_lines
from wattgate.clock import to_ms
from wattgate.errors import BadInput
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.bulk_recording import Series
from wattgate.graphql.transport.bulk import BadLine, Bulk, Refuse, Report, number_of, quality_code
from wattgate.principal import Principal


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a line's values stand, and what is the same for all lines."""

    value: int
    at: int | None
    local_time: int | None
    resource: int | None
    field: int | None
    quality: int | None
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
            quality=place.get("quality"),
            delimiter=delimiter,
            resource_id=resource_id,
            zone=zone,
        )


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

    `progress` is told the bytes read so far. A reading that is already stored is replaced, also by a line of a later
    batch (`bulk.BATCH`); within a batch the first of two that contradict each other is taken, and the second refused.
    """

    async def run(operation: Operation, arguments: dict[str, Any]) -> Any:
        progress(file.tell())
        return await runner.run(operation, principal, arguments)

    lines = numbered_lines(file)
    _, header = next(lines, (1, ""))
    columns = Columns.of(header, resource_id, zone)
    bulk, latest = Bulk(run, refuse), dict[Series, datetime]()
    for number, text in lines:
        try:
            reading = _parsed(columns, text, latest)
        except BadLine as bad:
            bulk.refuse(number, str(bad))
        else:
            await bulk.add(number, *reading)
    report = await bulk.finish()
    progress(file.tell())
    return report


def _parsed(columns: Columns, text: str, latest: dict[Series, datetime]) -> tuple[Series, int, float, int]:
    try:
        cells = next(csv.reader([text], delimiter=columns.delimiter))
        resource_id = columns.resource_id or cells[columns.resource or 0].strip()
        value = number_of(cells[columns.value].strip())
        field_name = cells[columns.field].strip() or None if columns.field is not None else None
        quality = quality_code("" if columns.quality is None else cells[columns.quality].strip())
        series = resource_id, field_name
        at = _instant(columns, cells, latest.get(series))
    except csv.Error as error:
        raise BadLine(f"is not CSV: {error}") from None
    except IndexError:
        raise BadLine("has too few columns") from None
    latest[series] = at
    return series, to_ms(at), value, quality


def _instant(columns: Columns, cells: list[str], previous: datetime | None) -> datetime:
    """The instant of a line. A wall-clock time that comes twice is the second one where the first has passed."""
    text = cells[columns.at if columns.at is not None else columns.local_time or 0].strip()
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadLine(f"{text!r} is not an ISO 8601 time") from None
    if columns.at is None and time.tzinfo is not None:
        raise BadLine(f"{text!r} has an offset; localTime is the wall clock of {columns.zone}")
    try:
        if columns.at is not None:
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        first, second = (time.replace(tzinfo=columns.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except OverflowError:
        raise BadLine(f"{text} is beyond every calendar") from None
    if first.astimezone(columns.zone).replace(tzinfo=None) != time:
        raise BadLine(f"{text} does not exist in {columns.zone}: the clocks went forward")
    return second if previous is not None and first <= previous < second else first
