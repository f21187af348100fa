"""Import a CSV file of readings in batches, so that memory does not grow with the file.

The header names the columns, in any order:

- `value`
- either `at` (ISO 8601; UTC if it has no offset) or `localTime` (local time in the time zone of the import)
- `resourceId`, unless the import has one resource for all lines
- `field`, optional; the default is the first field of the resource
- `quality`, optional; the default is ACTUAL
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, BinaryIO

from wattgate.app.cli.imports.line_reader import read_numbered_lines
from wattgate.clock import to_ms
from wattgate.errors import BadInput
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.bulk_recording import SeriesKey
from wattgate.graphql.transport.bulk_recorder import (
    BulkRecorder,
    BulkReport,
    InvalidLine,
    ReportRefusal,
    parse_number,
    parse_quality,
)
from wattgate.principal import Principal


@dataclass(frozen=True, slots=True)
class CsvColumns:
    """The column index of each value in a line, and the values that are the same for all lines."""

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
    def from_header(cls, header: str, resource_id: str | None, zone: tzinfo) -> "CsvColumns":
        """Parse the header. Raise BadInput if a column is missing or conflicts with another column or an option."""
        delimiter = ";" if header.count(";") > header.count(",") else ","
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        positions: dict[str, int] = {name: names.index(name) for name in names}
        if "value" not in positions:
            raise BadInput("the header has no column `value`; add it")
        if ("at" in positions) == ("localtime" in positions):
            raise BadInput("the header must have exactly one of the columns `at` and `localTime`")
        if ("resourceid" in positions) == (resource_id is not None):
            raise BadInput("use either the column `resourceId` or the option --resource, not both and not neither")
        return cls(
            value=positions["value"],
            at=positions.get("at"),
            local_time=positions.get("localtime"),
            resource=positions.get("resourceid"),
            field=positions.get("field"),
            quality=positions.get("quality"),
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
    refuse: ReportRefusal,
    progress: Callable[[int], None],
) -> BulkReport:
    """Record the reading of each valid line. Call `refuse` with the number and reason of each other line.

    Call `progress` with the number of bytes read so far. A reading replaces the stored one of the same instant, also
    if an earlier batch of this file stored it (`bulk_recorder.BATCH_SIZE`). If two readings in one batch contradict
    each other, the first is recorded and the second is refused.
    """

    async def run(operation: Operation, arguments: dict[str, Any]) -> Any:
        progress(file.tell())
        return await runner.run(operation, principal, arguments)

    lines = read_numbered_lines(file)
    _, header = next(lines, (1, ""))
    columns = CsvColumns.from_header(header, resource_id, zone)
    bulk, latest = BulkRecorder(run, refuse), dict[SeriesKey, datetime]()
    for number, text in lines:
        try:
            reading = _parse_line(columns, text, latest)
        except InvalidLine as error:
            bulk.refuse_line(number, str(error))
        else:
            await bulk.add(number, *reading)
    report = await bulk.finish()
    progress(file.tell())
    return report


def _parse_line(
    columns: CsvColumns, text: str, latest_by_series: dict[SeriesKey, datetime]
) -> tuple[SeriesKey, int, float, int]:
    try:
        cells = next(csv.reader([text], delimiter=columns.delimiter))
        resource_id = columns.resource_id or cells[columns.resource or 0].strip()
        value = parse_number(cells[columns.value].strip())
        field_name = cells[columns.field].strip() or None if columns.field is not None else None
        quality = parse_quality("" if columns.quality is None else cells[columns.quality].strip())
        series = resource_id, field_name
        at = _parse_instant(columns, cells, latest_by_series.get(series))
    except csv.Error as error:
        raise InvalidLine(f"is not CSV: {error}") from None
    except IndexError:
        raise InvalidLine("has too few columns") from None
    latest_by_series[series] = at
    return series, to_ms(at), value, quality


def _parse_instant(columns: CsvColumns, cells: list[str], previous: datetime | None) -> datetime:
    """Return the instant of a line in UTC.

    A local time occurs twice when the clocks go back. It means the second occurrence if `previous`, the last instant of
    the same series, is at or after the first occurrence and before the second.
    """
    text = cells[columns.at if columns.at is not None else columns.local_time or 0].strip()
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidLine(f"{text!r} is not an ISO 8601 time") from None
    if columns.at is None and time.tzinfo is not None:
        raise InvalidLine(f"{text!r} has an offset, but localTime is local time in {columns.zone}. Use the column `at`")
    try:
        if columns.at is not None:
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        earlier, later = (time.replace(tzinfo=columns.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    except OverflowError:
        raise InvalidLine(f"{text} is outside the supported range of times") from None
    if earlier.astimezone(columns.zone).replace(tzinfo=None) != time:
        raise InvalidLine(f"{text} does not exist in {columns.zone}: the clocks went forward")
    return later if previous is not None and earlier <= previous < later else earlier
