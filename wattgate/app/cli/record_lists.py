"""Lists of records on the command line: their options, and their output as a table or as JSON."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from rich.markup import escape
from rich.table import Table

from wattgate.app.cli.consoles import CommandConsole, err, out, printable
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.reading_context import with_current_reader
from wattgate.app.cli.record_options import MAX_LIMIT
from wattgate.app.homes.applications import require_application
from wattgate.app.settings import Settings
from wattgate.clock import format_iso
from wattgate.db.rows.rows import Rows
from wattgate.operations.core.row_reader import RowReader
from wattgate.principal import Permission, Principal, Role

T = TypeVar("T")


def run_in_application(application: str | None, query: Callable[[Rows], Awaitable[T]]) -> T:
    """Return the result of a query on the rows of an application, which is named or the only one."""

    async def run(reader: RowReader) -> T:
        found = require_application(await reader.list_applications(), application)
        system = Principal(Role.SYSTEM, application_id=found.application_id)
        result: T = await reader.read(system, Permission.SYSTEM, query)
        return result

    return run_async(with_current_reader(Settings(), run))


def print_records(
    records: Sequence[Mapping[str, Any]], limit: int, *, as_json: bool, console: CommandConsole = out
) -> None:
    """Print up to `limit` records. Say on standard error if there are more."""
    shown = records[:limit]
    if as_json:
        console.print_json(data=[dict(record) for record in shown])
    elif shown:
        table = Table(*shown[0], box=None)
        for record in shown:
            table.add_row(*(escape(to_cell(value)) for value in record.values()))
        console.print(table, highlight=False)
    else:
        err.print("There are none.")
    if len(records) > limit:
        err.print(f"More than {limit:,} records. Use --limit to list up to {MAX_LIMIT:,}.")


def to_text(instant: datetime | None) -> str | None:
    """Return an instant in ISO 8601, or None."""
    return None if instant is None else format_iso(instant)


def to_cell(value: Any) -> str:
    """Return a value as the text of a table, in one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return printable(", ".join(map(str, value)))
    return "-" if value is None else printable(str(value))
