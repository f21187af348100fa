"""Carry out `wattgate home import`."""

import csv
import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

import typer

from wattgate.app.cli.actions.file_imports import run_import
from wattgate.app.cli.actions.home_setup import page_address
from wattgate.app.cli.consoles import err
from wattgate.app.cli.imports.homes import HomeResult, HomeTable, HomeTableReport, LineReport, import_homes
from wattgate.app.cli.passwords import generate_password
from wattgate.app.homes.applications import require_application
from wattgate.app.homes.setup import HomeSetup
from wattgate.app.homes.table import HomeDefaults
from wattgate.app.settings import Settings
from wattgate.delivery.templates.language.cultures import is_culture
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role
from wattgate.private_files import append_private, write_private
from wattgate.time_zones import time_zone_problem

INTERRUPTED = 130
"""The exit status after Ctrl+C, as shells have it."""

REPORT_HEADER = ("line", "result", "user", "name", "veId", "text")


def home_import(
    *,
    file: Path,
    application: str | None,
    time_zone: str | None,
    culture: str | None,
    passwords: Path | None,
    report: Path | None,
    dry_run: bool,
) -> None:
    """Set up the homes of a table."""
    _check_options(file, time_zone, culture, passwords, report)
    defaults = HomeDefaults(time_zone, culture)
    with ExitStack() as files:
        choose_password = None
        if passwords is not None and not dry_run:
            choose_password = partial(_choose_password, files.enter_context(append_private(passwords)))
        report_line: Callable[[LineReport], None] = _ignore
        if report is not None:
            written = files.enter_context(write_private(report))
            csv.writer(written).writerow(REPORT_HEADER)
            report_line = partial(_write_line, written)
        importer = partial(
            _import_homes,
            application=application,
            defaults=defaults,
            choose_password=choose_password,
            report_line=report_line,
            dry_run=dry_run,
        )
        try:
            run_import(file, None, importer, partial(_describe_report, dry_run=dry_run), option="--report")
        except KeyboardInterrupt:
            err.print("Interrupted. The homes so far stay. Run the same command again to continue.")
            raise typer.Exit(INTERRUPTED) from None


def _check_options(
    file: Path, time_zone: str | None, culture: str | None, passwords: Path | None, report: Path | None
) -> None:
    problems = []
    if time_zone is not None and (problem := time_zone_problem(time_zone)):
        problems.append(Problem(("--time-zone",), problem))
    if culture is not None and not is_culture(culture):
        problems.append(Problem(("--culture",), f"{culture!r} is not a language and region such as en-GB"))
    written = [("--passwords", passwords), ("--report", report)]
    for option, path in written:
        if path is not None and path.exists() and path.samefile(file):
            problems.append(Problem((option,), f"{path} is the table. Give the name of another file"))
    if passwords is not None and passwords == report:
        problems.append(Problem(("--report",), f"{report} is also the file of --passwords. Give another name"))
    if problems:
        raise BadInput("The table cannot be imported. Nothing was changed.", problems=problems)


async def _import_homes(
    file: BinaryIO,
    *,
    application: str | None,
    runner: Runner,
    defaults: HomeDefaults,
    **options: Any,
) -> HomeTableReport:
    choose_password, report_line, dry_run = (
        options.pop(name) for name in ("choose_password", "report_line", "dry_run")
    )
    applications = await runner.list_applications()
    found = require_application(applications, application)
    setup = HomeSetup(application_id=found.application_id, application_count=len(applications))
    table = HomeTable(
        Principal(Role.SYSTEM, application_id=found.application_id),
        defaults,
        page_address("display", Settings(), setup),
        choose_password,
        report_line,
        dry_run,
    )
    return await import_homes(file, table=table, runner=runner, **options)


def _choose_password(file: IO[str], username: str) -> str:
    """Return a new password, after it is in the file: no later run can show it."""
    password = generate_password()
    csv.writer(file).writerow((username, password))
    file.flush()
    os.fsync(file.fileno())
    return password


def _write_line(file: IO[str], line: LineReport) -> None:
    csv.writer(file).writerow((line.line, line.result, line.user, line.name, line.ve_id, line.text))
    file.flush()


def _ignore(line: LineReport) -> None:
    """Take the result of a line that nobody reads."""


def _describe_report(report: HomeTableReport, *, dry_run: bool) -> str:
    shown = (
        (HomeResult.WOULD_CREATE, HomeResult.EXISTS)
        if dry_run
        else (HomeResult.CREATED, HomeResult.COMPLETED, HomeResult.UNCHANGED)
    )
    counts = ", ".join(f"{report.results.get(result, 0):,} {result}" for result in shown)
    note = " Dry run: nothing was changed." if dry_run else ""
    return f"{report.lines:,} homes: {counts}, {report.refused:,} refused.{note}"
