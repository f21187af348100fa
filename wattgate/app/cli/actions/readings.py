"""Carry out the import of readings."""

from datetime import UTC
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

import typer

from wattgate.app.cli.actions.file_imports import run_import
from wattgate.app.cli.commands.import_commands import Unit
from wattgate.app.cli.imports.reading_targets import UnitOptions, resources_of_home
from wattgate.app.cli.imports.readings import ImportReport, import_csv
from wattgate.app.homes.home_selection import HomeChoice, Meter, find_home
from wattgate.clock import format_iso_ms
from wattgate.db.queries.displays import DEFAULT_ZONE
from wattgate.energy.meters.unit_conversion import DEFAULT_CALORIFIC_VALUE, DEFAULT_VOLUME_CORRECTION, GasProperties
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role
from wattgate.time_zones import time_zone_problem


def readings_import(
    *,
    file: Path,
    home: str | None,
    application: str | None,
    user: str | None,
    resource: str | None,
    electricity: bool,
    gas: bool,
    export: bool,
    time_zone: str | None,
    unit: Unit | None,
    calorific_value: float | None,
    volume_correction: float | None,
    dry_run: bool,
    refused: Path | None,
) -> None:
    """Record the readings of a CSV file of any size."""
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
    run_import(file, refused, importer, partial(_describe_readings, dry_run=dry_run))


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


def _parse_zone(name: str) -> ZoneInfo:
    if problem := time_zone_problem(name):
        raise typer.BadParameter(problem, param_hint="--time-zone")
    return ZoneInfo(name)
