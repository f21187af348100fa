"""Commands that import files: readings, tariffs, and the registry of the meter network."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO, NoReturn, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TimeRemainingColumn

from wattgate.app.cli.gateway_context import err, out, run_async, with_gateway
from wattgate.app.cli.imports.network import import_network
from wattgate.app.cli.imports.readings import import_csv
from wattgate.app.cli.imports.tariffs import import_tariffs
from wattgate.app.settings import Settings
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.transport.bulk_recorder import BulkReport, ReportRefusal
from wattgate.principal import Principal, Role

MAX_SHOWN_REFUSALS = 20
"""Maximum number of refused lines that are printed; `--refused FILE` writes all of them."""

network_app = typer.Typer(no_args_is_help=True, help="Fill the registry of the meter network.")
tariff_app = typer.Typer(no_args_is_help=True, help="Import tariffs and prices.")
readings_app = typer.Typer(no_args_is_help=True, help="Import readings.")

JsonLinesArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines file: one JSON object in each line.")
]
ApplicationOption = Annotated[str, typer.Option(help="ID of the application that owns the resources.")]
ResourceOption = Annotated[str | None, typer.Option(help="Resource ID for all lines, if the file has no resourceId.")]
RefusedFileOption = Annotated[
    Path | None, typer.Option(help="File to write every rejected line number and its reason to.")
]


@readings_app.command("import")
def readings_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV file with a header line.")],
    application: ApplicationOption,
    resource: ResourceOption = None,
    time_zone: Annotated[str, typer.Option(help="IANA time zone of the column localTime.")] = "UTC",
    refused: RefusedFileOption = None,
) -> None:
    """Record the readings of a CSV file of any size.

    Columns: value; at (UTC, or with an offset) or localTime; resourceId; field; quality. A reading replaces the stored
    one of the same resource, field and instant. The command reports each line that it rejects and records the others.
    The exit status is 1 if a line was rejected.

    Example: wattgate readings import readings.csv --application APPLICATION --time-zone Europe/London
    """
    zone, principal = _parse_zone(time_zone), Principal(Role.SYSTEM, application_id=application)
    importer = partial(import_csv, principal=principal, resource_id=resource, zone=zone)
    _run_import(file, refused, importer, "readings recorded")


@tariff_app.command("import")
def tariff_import(
    file: JsonLinesArgument,
    application: ApplicationOption,
    resource: ResourceOption = None,
    refused: RefusedFileOption = None,
) -> None:
    """Set tariffs, and prices of dynamic tariffs, from a JSON Lines file of any size.

    A line with `kind` is a tariff, with the members of the GraphQL input NewTariff. A line with at, rate and resourceId
    is the price of one half hour. The command reports each line that it rejects and sets the others. The exit status is
    1 if a line was rejected.

    Example: wattgate tariff import tariffs.jsonl --application APPLICATION
    """
    principal = Principal(Role.SYSTEM, application_id=application)
    _run_import(
        file, refused, partial(import_tariffs, principal=principal, resource_id=resource), "tariffs and prices set"
    )


@network_app.command("import")
def network_import(file: JsonLinesArgument, refused: RefusedFileOption = None) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size.

    Each line has a `kind`: meterPoint (mpxn, postcode, smetsVersion, eligible), device (eui, mpxn, deviceType,
    manufacturer, model, firmwareVersion, status, commissionedAt), reading (mpxn, classifier, at, value, quality) or
    register (mpxn, classifier, at, value, unit). A line replaces the stored record of the same key. The command reports
    each line that it rejects and stores the others. The exit status is 1 if a line was rejected.

    Example: wattgate network import network.jsonl
    """
    _run_import(file, refused, import_network, "records stored")


class FileImporter(Protocol):
    """Import a file into the gateway.

    The importer calls `refuse` with the number of each refused line and the reason, and `progress` with the number of
    bytes read so far.
    """

    def __call__(
        self, file: BinaryIO, /, *, runner: Runner, refuse: ReportRefusal, progress: Callable[[int], None]
    ) -> Awaitable[BulkReport]: ...


def _run_import(file: Path, refused: Path | None, importer: FileImporter, outcome: str) -> NoReturn:
    """Import a file and print the counts of its report. Exit with 1 if a line was refused, else with 0."""
    report = run_async(_import_with_progress(file, refused, importer))
    out.print(f"{report.recorded:,} {outcome} from {report.lines:,} lines, {report.refused:,} refused")
    raise typer.Exit(1 if report.refused else 0)


async def _import_with_progress(file: Path, refused: Path | None, importer: FileImporter) -> BulkReport:
    """Import a file with a progress bar. Print the first refused lines, and write all of them to the file `refused`."""
    size = await asyncio.to_thread(file.stat)
    columns = (BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeRemainingColumn())
    with (
        file.open("rb") as source,
        refused.open("w") if refused else nullcontext() as refused_file,
        Progress(*columns, console=err, transient=True) as bar,
    ):
        task = bar.add_task("", total=size.st_size)
        refused_count = 0

        def refuse(line: int, reason: str) -> None:
            nonlocal refused_count
            refused_count += 1
            if refused_file:
                refused_file.write(f"{line}: {reason}\n")
            if refused_count <= MAX_SHOWN_REFUSALS:
                bar.console.print(f"line {line}: {reason}", markup=False, highlight=False, soft_wrap=True)
            elif refused_count == MAX_SHOWN_REFUSALS + 1:
                bar.console.print(
                    "More refused lines are not shown. Use --refused FILE to write all of them to a file."
                )

        def progress(bytes_read: int) -> None:
            bar.update(task, completed=bytes_read)

        return await with_gateway(
            Settings(), lambda gateway: importer(source, runner=gateway.runner, refuse=refuse, progress=progress)
        )


def _parse_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise typer.BadParameter(
            f"{name} is not an IANA time zone, such as Europe/London", param_hint="--time-zone"
        ) from None
