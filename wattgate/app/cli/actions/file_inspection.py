"""Carry out `wattgate readings inspect` and `profiles`, and read the options that say what a file looks like."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import typer

from wattgate.app.cli.consoles import out, printable
from wattgate.app.cli.input_files import open_input
from wattgate.errors import BadInput
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.csv_columns import CsvColumns
from wattgate.reading_files.inspection import (
    SAMPLE_BYTES,
    Fit,
    Inspection,
    Sample,
    describe_time,
    inspect_sample,
    option_words,
    try_profile,
)
from wattgate.reading_files.line_reader import decode_lines
from wattgate.reading_files.profiles import (
    FileProfile,
    packaged_profile,
    packaged_profiles,
    parse_profile,
    profile_text,
)
from wattgate.time_zones import time_zone_problem
from wattgate.values.toml_files import MAX_TOML_BYTES

TRIED_LINES = 50
"""Lines of which one must be a reading in wattgate's own columns. If none is, the file is of another form."""


def load_profile(name: str) -> FileProfile:
    """Return a profile of the package by its name, or of a TOML file by its path."""
    path = Path(name)
    if path.suffix != ".toml" and not path.is_file():
        return packaged_profile(name)
    with open_input(path) as file:
        return parse_profile(file.read(MAX_TOML_BYTES + 1), path.name)


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Return the names of columns by their roles. Raise BadParameter for a text that is not ROLE=NAME."""
    columns = dict[str, str]()
    for text in texts:
        role, mark, name = text.partition("=")
        if not mark:
            raise typer.BadParameter(f"{text!r} is not ROLE=NAME, such as value=kWh.", param_hint="--column")
        columns[role] = name
    return columns


def native_problem(sample: bytes, *, names_resource: bool, names_home: bool) -> str | None:
    """Return why the start of a file has not wattgate's own columns, or None if it has.

    It has them if one of the first lines is a reading, or if there is none.
    """
    numbered = decode_lines(1, sample.splitlines(keepends=True)[: TRIED_LINES + 20])
    header = next(numbered, (1, ""))[1]
    try:
        columns = CsvColumns.from_header(header, names_resource=names_resource, names_home=names_home)
    except BadInput as error:
        return error.message
    problem = None
    for number, text in list(numbered)[:TRIED_LINES]:
        try:
            columns.parse_line(text)
        except InvalidLine as error:
            problem = problem or f"No reading is in the first lines. Line {number}: {error}"
        else:
            return None
    return problem


def command_options(fit: Fit) -> str:
    """Return the options of the command that imports the file."""
    return " ".join(word if "|" in word else shlex.quote(word) for word in option_words(fit))


def readings_inspect(*, file: Path, time_zone: str, profile: str | None) -> None:
    """Print what a file of readings looks like, and the command that imports it."""
    if problem := time_zone_problem(time_zone):
        raise typer.BadParameter(problem, param_hint="--time-zone")
    zone = ZoneInfo(time_zone)
    with open_input(file) as opened:
        sample = opened.read(SAMPLE_BYTES)
    inspection = inspect_sample(sample, is_whole=len(sample) < SAMPLE_BYTES, zone=zone)
    _print_form(inspection)
    fits = inspection.fits
    if profile is not None:
        fit = try_profile(Sample(sample, zone), load_profile(profile))
        if fit is None:
            raise BadInput(f"The profile {profile} does not fit the file. Leave out --profile to try all of them.")
        fits = [fit]
    if not fits:
        for problem in inspection.problems:
            out.print(printable(problem), markup=False, highlight=False, soft_wrap=True)
        out.print('No file profile fits. Write one of your own: see the guide "Load data".', soft_wrap=True)
        raise typer.Exit(1)
    _print_fit(file, fits[0])
    if len(fits) > 1:
        out.print(f"Other profiles that fit: {', '.join(fit.profile.name for fit in fits[1:])}", soft_wrap=True)


def _print_form(inspection: Inspection) -> None:
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
    certain = "" if inspection.encoding_is_certain else " (a guess: look at the letters below)"
    lines = [f"Encoding: {inspection.encoding}{certain}"]
    if inspection.delimiter is not None:
        lines.append(f"Delimiter: {names.get(inspection.delimiter, inspection.delimiter)}")
    if inspection.header is not None:
        lines.append(f"Columns: {', '.join(printable(name) for name in inspection.header[:20])}")
    lines.append("First lines:")
    lines += [f"  {printable(line.expandtabs(4))}" for line in inspection.lines]
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_fit(file: Path, fit: Fit) -> None:
    lines = [f"Profile: {fit.profile.name} ({fit.profile.title})"]
    if time := describe_time(fit):
        lines.append(f"Times: {time}")
    lines.append(f"First reading: {fit.first}")
    lines.append(f"{fit.readings:,} readings in the part that is inspected, {len(fit.refused):,} refused")
    lines += [f"  line {line}: {reason}" for line, reason in fit.refused[:5]]
    for question in fit.questions:
        lines.append(f"Ambiguous: {question.text}")
    lines.append("Import it with:")
    lines.append(f"  wattgate readings import {shlex.quote(str(file))} --home HOME {command_options(fit)}")
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def readings_profiles(*, name: str | None) -> None:
    """Print the file profiles, or the file of one."""
    if name is not None:
        out.print(profile_text(name), markup=False, highlight=False, soft_wrap=True, end="")
        return
    for profile in packaged_profiles():
        out.print(f"{profile.name:22} {profile.title}", markup=False, highlight=False, soft_wrap=True)
