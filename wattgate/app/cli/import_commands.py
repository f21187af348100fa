"""The commands that read files: readings, tariffs, and the registry of the meter network."""

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

network_app = typer.Typer(no_args_is_help=True, help="The registry of the local meter network.")
tariff_app = typer.Typer(no_args_is_help=True, help="Tariffs and prices.")
readings_app = typer.Typer(no_args_is_help=True, help="Readings.")

JsonLines = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines, one object a line.")]
Application = Annotated[str, typer.Option(help="The application whose resources these are.")]
OneResource = Annotated[str | None, typer.Option(help="The one resource of a file without resourceId.")]
Refused = Annotated[Path | None, typer.Option(help="Where to write every refused line and its reason.")]


@readings_app.command("import")
def readings_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV with a header line.")],
    application: Application,
    resource: OneResource = None,
    time_zone: Annotated[str, typer.Option(help="The wall clock of a column localTime.")] = "UTC",
    refused: Refused = None,
) -> None:
    """Record the readings of a CSV file of any size.

    Columns: value; at (UTC, or with an offset) or localTime; resourceId; field; quality. A reading that is stored
    already is replaced. Lines that cannot be recorded are refused and reported; the others are recorded. The exit
    status is 1 where a line was refused.
    """
    zone, principal = _zone(time_zone), Principal(Role.SYSTEM, application_id=application)
    work = partial(import_csv, principal=principal, resource_id=resource, zone=zone)
    _import(file, refused, work, "readings recorded")


@tariff_app.command("import")
def tariff_import(
    file: JsonLines, application: Application, resource: OneResource = None, refused: Refused = None
) -> None:
    """Set the tariffs, and the prices of dynamic tariffs, of a JSON Lines file of any size.

    A line with `kind` is a tariff, with the members of the GraphQL input NewTariff; a line with at, rate and
    resourceId is the price of a half hour. Lines that cannot be set are refused and reported; the others are set. The
    exit status is 1 where a line was refused.
    """
    principal = Principal(Role.SYSTEM, application_id=application)
    _import(file, refused, partial(import_tariffs, principal=principal, resource_id=resource), "tariffs and prices set")


@network_app.command("import")
def network_import(file: JsonLines, refused: Refused = None) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size.

    Each line has a `kind`: meterPoint (mpxn, postcode, smetsVersion, eligible), device (eui, mpxn, deviceType,
    manufacturer, model, firmwareVersion, status, commissionedAt), reading (mpxn, classifier, at, value, quality) or
    register (mpxn, classifier, at, value, unit). What is known already is replaced. Lines that cannot be kept are
    refused and reported; the exit status is 1 where one was.
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
