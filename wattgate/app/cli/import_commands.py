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

from wattgate.app.cli.gateway_context import err, out, run, with_gateway
from wattgate.app.cli.imports.network import import_network
from wattgate.app.cli.imports.readings import import_csv
from wattgate.app.cli.imports.tariffs import import_tariffs
from wattgate.app.settings import Settings
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.transport.bulk import Refuse, Report
from wattgate.principal import Principal, Role

SHOWN_REFUSALS = 20

network_app = typer.Typer(no_args_is_help=True, help="Fill the registry of the meter network.")
tariff_app = typer.Typer(no_args_is_help=True, help="Import tariffs and prices.")
readings_app = typer.Typer(no_args_is_help=True, help="Import readings.")

JsonLines = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines file: one JSON object in each line.")
]
Application = Annotated[str, typer.Option(help="ID of the application that owns the resources.")]
OneResource = Annotated[str | None, typer.Option(help="Resource ID for all lines, if the file has no resourceId.")]
Refused = Annotated[Path | None, typer.Option(help="File to write every rejected line number and its reason to.")]


@readings_app.command("import")
def readings_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV file with a header line.")],
    application: Application,
    resource: OneResource = None,
    time_zone: Annotated[str, typer.Option(help="IANA time zone of the column localTime.")] = "UTC",
    refused: Refused = None,
) -> None:
    """Record the readings of a CSV file of any size.

    Columns: value; at (UTC, or with an offset) or localTime; resourceId; field; quality. A reading replaces the stored
    one of the same resource, field and instant. The command reports each line that it rejects and records the others.
    The exit status is 1 if a line was rejected.

    Example: wattgate readings import readings.csv --application APPLICATION --time-zone Europe/London
    """
    zone, principal = _zone(time_zone), Principal(Role.SYSTEM, application_id=application)
    work = partial(import_csv, principal=principal, resource_id=resource, zone=zone)
    _import(file, refused, work, "readings recorded")


@tariff_app.command("import")
def tariff_import(
    file: JsonLines, application: Application, resource: OneResource = None, refused: Refused = None
) -> None:
    """Set tariffs, and prices of dynamic tariffs, from a JSON Lines file of any size.

    A line with `kind` is a tariff, with the members of the GraphQL input NewTariff. A line with at, rate and resourceId
    is the price of one half hour. The command reports each line that it rejects and sets the others. The exit status is
    1 if a line was rejected.

    Example: wattgate tariff import tariffs.jsonl --application APPLICATION
    """
    principal = Principal(Role.SYSTEM, application_id=application)
    _import(file, refused, partial(import_tariffs, principal=principal, resource_id=resource), "tariffs and prices set")


@network_app.command("import")
def network_import(file: JsonLines, refused: Refused = None) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size.

    Each line has a `kind`: meterPoint (mpxn, postcode, smetsVersion, eligible), device (eui, mpxn, deviceType,
    manufacturer, model, firmwareVersion, status, commissionedAt), reading (mpxn, classifier, at, value, quality) or
    register (mpxn, classifier, at, value, unit). A line replaces the stored record of the same key. The command reports
    each line that it rejects and stores the others. The exit status is 1 if a line was rejected.

    Example: wattgate network import network.jsonl
    """
    _import(file, refused, import_network, "records kept")


class Import(Protocol):
    """Reads a file into the gateway; it is given what to tell refused lines to, and the bytes read so far."""

    def __call__(
        self, file: BinaryIO, /, *, runner: Runner, refuse: Refuse, progress: Callable[[int], None]
    ) -> Awaitable[Report]: ...


def _import(file: Path, refused: Path | None, work: Import, what: str) -> NoReturn:
    """Import a file, say how much of what was done, and end with 1 where a line was refused."""
    report = run(_imported(file, refused, work))
    out.print(f"{report.recorded:,} {what} from {report.lines:,} lines, {report.refused:,} refused")
    raise typer.Exit(1 if report.refused else 0)


async def _imported(file: Path, refused: Path | None, work: Import) -> Report:
    """Import a file with a progress bar; the first refused lines are shown, all are written to `refused`."""
    size = await asyncio.to_thread(file.stat)
    columns = (BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeRemainingColumn())
    with (
        file.open("rb") as lines,
        refused.open("w") if refused else nullcontext() as sink,
        Progress(*columns, console=err, transient=True) as bar,
    ):
        task = bar.add_task("", total=size.st_size)
        told = 0

        def refuse(line: int, reason: str) -> None:
            nonlocal told
            told += 1
            if sink:
                sink.write(f"{line}: {reason}\n")
            if told <= SHOWN_REFUSALS:
                bar.console.print(f"line {line}: {reason}", markup=False, highlight=False, soft_wrap=True)
            elif told == SHOWN_REFUSALS + 1:
                bar.console.print("further refused lines are not shown; --refused FILE writes them all")

        def progress(done: int) -> None:
            bar.update(task, completed=done)

        return await with_gateway(
            Settings(), lambda gateway: work(lines, runner=gateway.runner, refuse=refuse, progress=progress)
        )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise typer.BadParameter(f"{name} is not an IANA time zone", param_hint="--time-zone") from None
