"""Commands that import files: readings, tariffs, and the registry of the meter network."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import UTC
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn, Protocol, TypeVar
from zoneinfo import ZoneInfo

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TimeRemainingColumn

from wattgate.app.cli.gateway_context import err, out, run_async, with_gateway
from wattgate.app.cli.imports.home_resources import resources_of_home
from wattgate.app.cli.imports.network import import_network
from wattgate.app.cli.imports.reading_targets import UnitOptions
from wattgate.app.cli.imports.readings import ImportReport, import_csv
from wattgate.app.cli.imports.tariffs import import_tariffs
from wattgate.app.homes.home_selection import HomeChoice, Meter, find_home
from wattgate.app.settings import Settings
from wattgate.clock import format_iso_ms
from wattgate.db.queries.displays import DEFAULT_ZONE
from wattgate.energy.unit_conversion import DEFAULT_CALORIFIC_VALUE, DEFAULT_VOLUME_CORRECTION, GasProperties
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.transport.bulk_recorder import BulkReport, ReportRefusal
from wattgate.principal import Principal, Role
from wattgate.time_zones import time_zone_problem

R = TypeVar("R", bound=BulkReport, covariant=True)

MAX_SHOWN_REFUSALS = 20
"""Maximum number of refused lines that are printed; `--refused FILE` writes all of them."""


class Unit(Enum):
    """The units of values that an import converts."""

    WH = "Wh"
    KWH = "kWh"
    M3 = "m3"


network_app = typer.Typer(no_args_is_help=True, help="Fill the registry of the meter network.")
tariff_app = typer.Typer(no_args_is_help=True, help="Import tariffs and prices.")
readings_app = typer.Typer(no_args_is_help=True, help="Import readings.")

JsonLinesArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines file: one JSON object in each line.")
]
ApplicationOption = Annotated[str, typer.Option(help="ID of the application that owns the resources.")]
ResourceOption = Annotated[str | None, typer.Option(help="Resource ID for all lines, if the file has no resourceId.")]
HomeOption = Annotated[str | None, typer.Option(help="Name or ID of the home whose readings the file has.")]
HomeApplicationOption = Annotated[
    str | None,
    typer.Option(
        help="ID of the application that owns the resources. Required without --home. With --home, the ID or name of "
        "the application of the home, if homes have the same name."
    ),
]
HomeUserOption = Annotated[
    str | None, typer.Option(help="Username or user ID of the owner of the home, if homes have the same name.")
]
TimeZoneOption = Annotated[
    str | None,
    typer.Option(help="IANA time zone of the column localTime. Default: that of the home, or UTC without --home."),
]
UnitOption = Annotated[
    Unit | None,
    typer.Option(help="Unit of all values, which are converted. Default: those of the fields.", case_sensitive=False),
]
CalorificValueOption = Annotated[
    float | None,
    typer.Option(min=10, max=150, help=f"Energy of gas in MJ/m3, to convert m3. Default: {DEFAULT_CALORIFIC_VALUE}."),
]
VolumeCorrectionOption = Annotated[
    float | None,
    typer.Option(
        min=0.5,
        max=2,
        help=f"Factor that corrects a volume of gas, to convert m3. Default: {DEFAULT_VOLUME_CORRECTION}.",
    ),
]
RefusedFileOption = Annotated[
    Path | None, typer.Option(help="File to write every rejected line number and its reason to.")
]


@readings_app.command("import")
def readings_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV file with a header line.")],
    home: HomeOption = None,
    application: HomeApplicationOption = None,
    user: HomeUserOption = None,
    resource: ResourceOption = None,
    electricity: Annotated[bool, typer.Option("--electricity", help="Use the electricity of the home.")] = False,
    gas: Annotated[bool, typer.Option("--gas", help="Use the gas of the home.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Use the exported electricity of the home.")] = False,
    time_zone: TimeZoneOption = None,
    unit: UnitOption = None,
    calorific_value: CalorificValueOption = None,
    volume_correction: VolumeCorrectionOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the import would do. Store nothing.")] = False,
    refused: RefusedFileOption = None,
) -> None:
    """Record the readings of a CSV file of any size.

    Columns: value; at (UTC, or with an offset) or localTime; resourceId; field; quality. With --home, also mpxn and
    classifier, or none of them if the home has only one matching resource. A reading replaces the stored one of the
    same resource, field and instant. The command reports each line that it rejects and records the others. The exit
    status is 1 if a line was rejected.

    Example: wattgate readings import readings.csv --home "My home" --electricity --unit Wh
    """
    meters = [meter for meter, chosen in zip(Meter, (electricity, gas, export), strict=True) if chosen]
    importer = partial(
        _import_readings,
        choice=_parse_home_choice(home, application, user, resource, meters),
        application=application,
        resource_id=resource,
        zone=_parse_zone(time_zone) if time_zone else None,
        units=_parse_units(unit, calorific_value, volume_correction),
        dry_run=dry_run,
    )
    _run_import(file, refused, importer, partial(_describe_readings, dry_run=dry_run))


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
    importer = partial(import_tariffs, principal=principal, resource_id=resource)
    _run_import(file, refused, importer, partial(_describe_report, outcome="tariffs and prices set"))


@network_app.command("import")
def network_import(file: JsonLinesArgument, refused: RefusedFileOption = None) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size.

    Each line has a `kind`: meterPoint (mpxn, postcode, smetsVersion, eligible), device (eui, mpxn, deviceType,
    manufacturer, model, firmwareVersion, status, commissionedAt), reading (mpxn, classifier, at, value, quality) or
    register (mpxn, classifier, at, value, unit). A line replaces the stored record of the same key. The command reports
    each line that it rejects and stores the others. The exit status is 1 if a line was rejected.

    Example: wattgate network import network.jsonl
    """
    _run_import(file, refused, import_network, partial(_describe_report, outcome="records stored"))


async def _import_readings(
    file: BinaryIO,
    *,
    runner: Runner,
    choice: HomeChoice | None,
    application: str | None,
    resource_id: str | None,
    zone: ZoneInfo | None,
    **options: Any,
) -> ImportReport:
    """Import a file of readings of the home that is meant, or of an application if `choice` is None."""
    if choice is None:
        principal = Principal(Role.SYSTEM, application_id=application)
        return await import_csv(
            file, runner=runner, principal=principal, resource_id=resource_id, zone=zone or UTC, **options
        )
    home = await find_home(runner, choice)
    resources = await resources_of_home(runner, home, choice)
    principal = Principal(Role.SYSTEM, application_id=home.application_id)
    home_zone = zone or ZoneInfo(home.time_zone or DEFAULT_ZONE)
    return await import_csv(
        file, runner=runner, principal=principal, resource_id=None, zone=home_zone, home=resources, **options
    )


def _parse_home_choice(
    home: str | None, application: str | None, user: str | None, resource: str | None, meters: list[Meter]
) -> HomeChoice | None:
    """Return the home that the options mean, or None if they mean an application."""
    if len(meters) + (resource is not None and home is not None) > 1:
        raise typer.BadParameter("Use only one of --electricity, --gas, --export and --resource.")
    if home is not None:
        return HomeChoice(home, application, user, meters[0] if meters else None, resource)
    if application is None:
        raise typer.BadParameter("Use --home, or --application with the ID of an application.")
    if user is not None or meters:
        raise typer.BadParameter("--user, --electricity, --gas and --export need --home.")
    return None


def _parse_units(unit: Unit | None, calorific_value: float | None, volume_correction: float | None) -> UnitOptions:
    if unit is None:
        if calorific_value is not None or volume_correction is not None:
            raise typer.BadParameter("--calorific-value and --volume-correction need --unit.")
        return UnitOptions()
    gas = GasProperties(
        DEFAULT_CALORIFIC_VALUE if calorific_value is None else Decimal(repr(calorific_value)),
        DEFAULT_VOLUME_CORRECTION if volume_correction is None else Decimal(repr(volume_correction)),
    )
    return UnitOptions(unit.value, gas)


def _describe_readings(report: ImportReport, *, dry_run: bool) -> str:
    lines = ["Dry run: nothing is stored."] if dry_run else []
    verb = "would be recorded" if dry_run else "recorded"
    lines += [
        f"{report.recorded:,} readings {verb} from {report.lines:,} lines, {report.refused:,} refused, "
        f"{report.repeated:,} repeated exactly",
        f"{report.added:,} new, {report.replaced:,} with another value than the stored one, "
        f"{report.unchanged:,} stored already",
    ]
    lines += [
        f"{one.target.classifier} {one.target.field.name}: {one.count:,} readings from {format_iso_ms(one.first)} "
        f"to {format_iso_ms(one.last)}, sum {one.total:,} {one.target.field.unit}"
        for one in report.series
        if one.first is not None and one.last is not None
    ]
    return "\n".join(lines)


class FileImporter(Protocol[R]):
    """Import a file into the gateway.

    The importer calls `refuse` with the number of each refused line and the reason, and `progress` with the number of
    bytes read so far.
    """

    def __call__(
        self, file: BinaryIO, /, *, runner: Runner, refuse: ReportRefusal, progress: Callable[[int], None]
    ) -> Awaitable[R]: ...


def _describe_report(report: BulkReport, *, outcome: str) -> str:
    return f"{report.recorded:,} {outcome} from {report.lines:,} lines, {report.refused:,} refused"


def _run_import(file: Path, refused: Path | None, importer: FileImporter[R], describe: Callable[[R], str]) -> NoReturn:
    """Import a file and print the counts of its report. Exit with 1 if a line was refused, else with 0."""
    report = run_async(_import_with_progress(file, refused, importer))
    out.print(describe(report), soft_wrap=True)
    raise typer.Exit(1 if report.refused else 0)


async def _import_with_progress(file: Path, refused: Path | None, importer: FileImporter[R]) -> R:
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
    if problem := time_zone_problem(name):
        raise typer.BadParameter(problem, param_hint="--time-zone")
    return ZoneInfo(name)
