"""Carry out the import of readings."""

import hashlib
import json
import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, tzinfo
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

import typer
from msgspec.structs import replace

from wattgate.app.cli.actions.file_imports import check_refused_file, run_import
from wattgate.app.cli.actions.file_inspection import command_options, load_profile, native_problem, parse_columns
from wattgate.app.cli.commands.import_commands import DecimalMark, Delimiter, ThousandsMark, Unit
from wattgate.app.cli.consoles import err
from wattgate.app.cli.gateway_context import system_of
from wattgate.app.cli.input_files import open_input
from wattgate.app.homes.home_selection import HomeChoice, Meter, find_home, resources_of_home
from wattgate.clock import format_iso_ms
from wattgate.db.queries.displays import DEFAULT_ZONE
from wattgate.energy.meters.unit_conversion import DEFAULT_CALORIFIC_VALUE, DEFAULT_VOLUME_CORRECTION, GasProperties
from wattgate.enums import DateOrder, Epoch, Times
from wattgate.errors import BadInput
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.files.file_import import ImportReport, SeriesReport, import_csv
from wattgate.operations.readings.files.file_targets import UnitOptions
from wattgate.principal import Principal, Role
from wattgate.private_files import write_private
from wattgate.reading_files.inspection import SAMPLE_BYTES, inspect_sample
from wattgate.reading_files.line_reader import check_is_text
from wattgate.reading_files.profiles import NATIVE, FileProfile, ProfileOptions, with_options
from wattgate.reading_files.reader import ReadingFile
from wattgate.time_zones import time_zone_problem

MAX_SHOWN_MONTHS = 36
"""Maximum number of months of a series that are printed."""

POWER = (Unit.W, Unit.KW)
"""The units that need the interval of a file profile."""

INTERRUPTED = 130
"""The exit status after Ctrl+C, as shells have it."""

CHECKPOINT_SUFFIX = ".wattgate-import"


class FileCheckpoint:
    """Notes beside a file how many of its readings are recorded, until all are.

    The note is used only for the same content and the same options. Without permission to write it, an interrupted
    import begins anew, which does no harm: readings that are stored already stay.
    """

    def __init__(self, file: Path, options: str) -> None:
        self._file, self._note = file, file.with_name(file.name + CHECKPOINT_SUFFIX)
        self._options = options
        self._key = ""

    def recorded(self) -> int:
        """Return how many readings an interrupted import of the same file has recorded."""
        if not self._file.is_file():
            return 0
        with self._file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256")
        digest.update(self._options.encode())
        self._key = digest.hexdigest()
        try:
            note = json.loads(self._note.read_text()[:1_000])
            return int(note["recorded"]) if note["key"] == self._key else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def save(self, recorded: int) -> None:
        """Note that so many readings are recorded."""
        if self._key and recorded:
            with suppress(OSError):
                new = self._note.with_name(self._note.name + ".new")
                with write_private(new) as note:
                    note.write(json.dumps({"key": self._key, "recorded": recorded}))
                os.replace(new, self._note)

    def finish(self) -> None:
        """Remove the note: all readings are recorded."""
        with suppress(OSError):
            self._note.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of the command."""

    file: Path
    home: str | None
    application: str | None
    user: str | None
    resource: str | None
    electricity: bool
    gas: bool
    export: bool
    time_zone: str | None
    unit: Unit | None
    calorific_value: float | None
    volume_correction: float | None
    profile: str | None
    decimal: DecimalMark | None
    thousands: ThousandsMark | None
    delimiter: Delimiter | None
    date_order: DateOrder | None
    times: Times | None
    interval: str | None
    encoding: str | None
    epoch: Epoch | None
    column: list[str] | None
    source: str | None
    combine: bool
    round_values: bool
    dry_run: bool
    refused: Path | None

    @property
    def form(self) -> ProfileOptions:
        """The options that override a file profile, but for the unit."""
        return ProfileOptions(
            encoding=self.encoding,
            delimiter=self.delimiter and self.delimiter.value,
            decimal=self.decimal and self.decimal.value,
            thousands=self.thousands and self.thousands.value,
            date_order=self.date_order,
            times=self.times,
            interval=self.interval,
            epoch=self.epoch,
            zone=self.time_zone,
            columns=parse_columns(self.column or ()),
        )


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
    profile: str | None,
    decimal: DecimalMark | None,
    thousands: ThousandsMark | None,
    delimiter: Delimiter | None,
    date_order: DateOrder | None,
    times: Times | None,
    interval: str | None,
    encoding: str | None,
    epoch: Epoch | None,
    column: list[str] | None,
    source: str | None,
    combine: bool,
    round_values: bool,
    dry_run: bool,
    refused: Path | None,
) -> None:
    """Record the readings of a file of any size."""
    _run(ImportOptions(**locals()))


def _run(options: ImportOptions) -> None:
    """Import the file that the options name, and print the report."""
    check_refused_file(options.file, options.refused)
    chosen = (options.electricity, options.gas, options.export)
    meters = [meter for meter, is_chosen in zip(Meter, chosen, strict=True) if is_chosen]
    choice = _parse_home_choice(options.home, options.application, options.user, options.resource, meters)
    zone = _parse_zone(options.time_zone) if options.time_zone else None
    units = _parse_units(options)
    profile = _parse_profile(options)
    opened = None
    if profile is None:
        _check_columns(options, zone or UTC)
    else:
        units = UnitOptions(None, units.gas, units.rounds)
        classifier = meters[0].value if meters else ""
        opened = partial(ReadingFile, profile=profile, classifier=classifier, source=options.source or "")
    meaning = (choice, options.application, options.resource, zone, units, profile, options.combine, options.source)
    importer = partial(
        _import_readings,
        choice=choice,
        application=options.application,
        resource_id=options.resource,
        zone=zone,
        opened=opened,
        units=units,
        dry_run=options.dry_run,
        combine=options.combine,
        checkpoint=FileCheckpoint(options.file, repr(meaning)),
    )
    try:
        run_import(options.file, options.refused, importer, partial(_describe_readings, dry_run=options.dry_run))
    except KeyboardInterrupt:
        err.print("Interrupted. Recorded readings stay. Run the same command again to continue.")
        raise typer.Exit(INTERRUPTED) from None


def _parse_profile(options: ImportOptions) -> FileProfile | None:
    """Return the profile of the file, which options override, or None if the file has wattgate's own columns."""
    form, unit = options.form, options.unit
    is_plain = form == ProfileOptions(zone=form.zone) and unit not in POWER and options.source is None
    if options.profile is None and is_plain:
        return None
    return with_options(load_profile(options.profile or NATIVE), replace(form, unit=unit.value if unit else None))


def _check_columns(options: ImportOptions, zone: tzinfo) -> None:
    """Raise BadInput with the profiles that fit if a file has not wattgate's own columns.

    The content of a pipe is not looked at.
    """
    file = options.file
    if file.is_fifo():  # it can be opened once only, if it has a name
        return
    with open_input(file) as opened:
        sample = opened.read(SAMPLE_BYTES)
    check_is_text(sample)
    problem = native_problem(sample, names_resource=options.resource is not None, names_home=options.home is not None)
    if problem is None:
        return
    inspection = inspect_sample(sample, is_whole=len(sample) < SAMPLE_BYTES, zone=zone)
    if not inspection.fits:
        reasons = " ".join(["No file profile fits.", *inspection.problems])
        raise BadInput(f"{problem}. {reasons} The file begins: {' | '.join(inspection.lines[:3])}")
    raise BadInput(
        f"{problem}. Nothing is recorded. The file fits the profile {inspection.fits[0].profile.name}. Look at it "
        f"with:\n  wattgate readings inspect {shlex.quote(str(file))}\n"
        f"and import it with the options:\n  {command_options(inspection.fits[0])}"
    )


async def _import_readings(
    file: BinaryIO,
    *,
    runner: Runner,
    choice: HomeChoice | None,
    application: str | None,
    resource_id: str | None,
    zone: ZoneInfo | None,
    opened: Callable[..., ReadingFile] | None,
    **options: Any,
) -> ImportReport:
    """Import a file of readings of the home that is meant, or of an application if `choice` is None."""
    if choice is None:
        principal = await system_of(runner, application)
        at = zone or UTC
        source = opened(file, zone=at) if opened else None
        return await import_csv(
            file, run=runner.run_as(principal), resource_id=resource_id, zone=at, source=source, **options
        )
    home = await find_home(runner, choice)
    resources = await resources_of_home(runner, home, choice)
    principal = Principal(Role.SYSTEM, application_id=home.application_id)
    home_zone = zone or ZoneInfo(home.time_zone or DEFAULT_ZONE)
    source = opened(file, zone=home_zone) if opened else None
    return await import_csv(
        file,
        run=runner.run_as(principal),
        resource_id=None,
        zone=home_zone,
        home=resources,
        source=source,
        **options,
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
        raise typer.BadParameter("Use --home, or --application with the name or ID of an application.")
    if user is not None or meters:
        raise typer.BadParameter("--user, --electricity, --gas and --export need --home.")
    return None


def _parse_units(options: ImportOptions) -> UnitOptions:
    unit, calorific_value, volume_correction = options.unit, options.calorific_value, options.volume_correction
    if unit is None and options.profile is None and (calorific_value is not None or volume_correction is not None):
        raise typer.BadParameter("--calorific-value and --volume-correction need --unit.")
    gas = GasProperties(
        DEFAULT_CALORIFIC_VALUE if calorific_value is None else Decimal(repr(calorific_value)),
        DEFAULT_VOLUME_CORRECTION if volume_correction is None else Decimal(repr(volume_correction)),
    )
    return UnitOptions(unit and unit.value, gas, options.round_values)


def _describe_readings(report: ImportReport, *, dry_run: bool) -> str:
    lines = ["Dry run: nothing is stored."] if dry_run else []
    verb = "would be recorded" if dry_run else "recorded"
    lines += [
        f"{report.recorded:,} readings {verb} from {report.lines:,} lines, {report.refused:,} refused, "
        f"{report.repeated:,} repeated exactly",
        f"{report.added:,} new, {report.replaced:,} with another value than the stored one, "
        f"{report.unchanged:,} stored already",
    ]
    if report.resumed:
        lines.append(
            f"{report.resumed:,} more readings were recorded before the interruption, and are not counted here"
        )
    for one in report.series:
        lines += _describe_series(one)
    return "\n".join(lines)


def _describe_series(series: SeriesReport) -> list[str]:
    """Return what a series contains: number, span and sum, the sums by month, and the gaps."""
    target, summary = series.target, series.summary
    if summary.first is None or summary.last is None:
        return []
    unit = target.field.unit
    lines = [
        f"{target.classifier} {target.field.name}: {summary.count:,} readings from {format_iso_ms(summary.first)} "
        f"to {format_iso_ms(summary.last)}, sum {summary.total:,} {unit}"
    ]
    if len(summary.months) > 1:
        lines += [
            f"  {month}: {summary.unscaled(total):,} {unit} in {count:,} readings"
            for month, (count, total) in list(summary.months.items())[:MAX_SHOWN_MONTHS]
        ]
        hidden = len(summary.months) - MAX_SHOWN_MONTHS
        lines += [f"  and {hidden:,} more months"] if hidden > 0 else []
    if summary.gap_count:
        lines.append(f"  {summary.missing:,} readings are missing in {summary.gap_count:,} gaps, the first ones:")
        lines += [
            f"    {format_iso_ms(gap.start)} to {format_iso_ms(gap.end)}: {gap.missing:,} readings"
            for gap in summary.gaps
        ]
    return lines


def _parse_zone(name: str) -> ZoneInfo:
    if problem := time_zone_problem(name):
        raise typer.BadParameter(problem, param_hint="--time-zone")
    return ZoneInfo(name)
