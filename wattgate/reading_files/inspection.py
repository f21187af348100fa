"""Inspect a file of readings: its form, the questions that it leaves open, and the options that read it.

Each profile of the package is tried on the start of the file. A fact that a profile leaves open is decided only if the
file excludes all other answers, such as a day 13. Otherwise it is a question.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import accumulate, islice, pairwise, starmap, takewhile
from operator import le
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np
from charset_normalizer import from_bytes

from wattgate.clock import to_ms
from wattgate.enums import DateOrder, Times
from wattgate.errors import BadInput, TooLarge
from wattgate.reading_files.cells import Ambiguous, InvalidLine, parse_clock, parse_date, parse_time
from wattgate.reading_files.derived_energy import FileReading, common_spacing_ms
from wattgate.reading_files.line_reader import (
    Check,
    check_is_text,
    find_codec,
    marked_encoding,
    no_check,
    open_utf8,
    text_lines,
)
from wattgate.reading_files.profiles import (
    DELIMITERS,
    MAX_COLUMNS,
    FileProfile,
    Format,
    ProfileOptions,
    packaged_profile,
    packaged_profiles,
    with_options,
)
from wattgate.reading_files.reader import ReadingFile, split_line

SAMPLE_BYTES = 512 * 1024
"""The start of a file that is inspected."""

SAMPLE_LINES, SAMPLE_CELLS = 4_000, 50_000
"""Maximum lines, and marks that may delimit cells, of the start of a file that profiles are tried on."""

MAX_TRIED = 1_000_000
"""Maximum readings and refused lines of all profiles and answers that are tried on the start of a file."""

SHOWN_LINES, SHOWN_CHARACTERS = 6, 200
MAX_REASON_CHARACTERS = 300
MAX_QUESTIONS = 8
MAX_EXAMPLES = 1_000
"""Readings among which an example is found that answers to a question read differently."""

MIN_RISING = 8
"""Minimum number of values that never fall, from which they look like those of a register."""

REGISTER = (
    "The values never fall, as those of a register do not. If they are readings of a register, their sum is not the "
    "energy: use a profile with registers, such as dutch-p1."
)
DAY_MS = 86_400_000
MAX_REFUSED_SHARE = 0.1
"""A profile fits if it refuses at most this share of the lines of the sample."""

_INTERVALS = ("PT30M", "PT1H", "PT15M", "PT5M", "PT10M", "PT24H")
"""Usual intervals of readings."""

MARKS = "marks"
"""The question about the marks of numbers, whose choices are whole options."""

GENERIC = "spreadsheet"
"""The profile of a table whose columns are named by options."""

_UNIT_IN_NAME = re.compile(r"(?<![a-z0-9])(mwh|kwh|wh|kw|w|m3|m³)(?![a-z0-9])")
_UNIT_NAMES: Mapping[str, str] = MappingProxyType(
    {"mwh": "MWh", "kwh": "kWh", "wh": "Wh", "kw": "kW", "w": "W", "m3": "m3", "m³": "m3"}
)
_ENCODINGS = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "iso8859_15", "shift_jis", "gb18030")
"""The encodings of spreadsheets that are not Unicode."""

_NAMES_OF_HOURS = frozenset(
    {"hour", "hour ending", "period", "settlement period", "interval", "stunde", "heure", "uur"}
)
_UNCLEAR_DATE = re.compile(r"(?:^|[^0-9])[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{2}", re.ASCII)
_NO_ENERGY = re.compile(r"(?<![a-z])[km]?va(?:r?h?)(?![a-z])")
"""Units of reactive and apparent power and energy. Nobody pays for them by the kilowatt hour."""

_NUMBER = re.compile(r"[+-]?[0-9][0-9.,' \u00a0\u202f]{0,30}")

_VARIANTS = (
    ProfileOptions(),
    ProfileOptions(decimal="comma"),
    ProfileOptions(decimal="point", thousands="comma"),
    ProfileOptions(decimal="comma", thousands="point"),
    ProfileOptions(decimal="comma", thousands="space"),
    ProfileOptions(decimal="point", thousands="apostrophe"),
)
"""Marks of numbers that are tried, the usual first."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that the file does not decide: the question, the option that answers it, and its choices."""

    text: str
    option: str
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class Fit:
    """A profile that reads the file with these options, as far as the sample shows."""

    profile: FileProfile
    options: ProfileOptions
    questions: list[Question] = field(default_factory=list)
    readings: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)
    first: str = ""
    total: float = 0.0
    never_falls: bool = False
    interval: timedelta | None = None


@dataclass(slots=True)
class Inspection:
    """The form of a file, as far as its start shows it. `fits` are the profiles that read it, the best first.

    `content` is the inspected part in UTF-8. `tried` counts the readings and refused lines of all that was tried. For a
    file that is no table, `problems` says why no profile reads it.
    """

    encoding: str
    encoding_is_certain: bool
    lines: list[str]
    delimiter: str | None = None
    header: list[str] | None = None
    fits: list[Fit] = field(default_factory=list)
    content: bytes = b""
    tried: int = 0
    kind: Format = Format.TABLE
    problems: list[str] = field(default_factory=list)


class _ReadSample(NamedTuple):
    """The result of a profile on a sample: the refused lines, and facts about the readings."""

    refused: Sequence[tuple[int, str]]
    readings: int = 0
    lines: int = 0
    first: str = ""
    total: float = 0.0
    never_falls: bool = False
    interval: timedelta | None = None


@dataclass(slots=True)
class Sample:
    """The start of a file in UTF-8, and what the profiles that were tried read of it.

    Questions that depend on each other try the same profile many times.
    """

    content: bytes
    zone: tzinfo
    check: Check = no_check
    tried: int = 0
    _known: dict[str, _ReadSample | BadInput] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Return why profiles do not read the sample, each reason once."""
        known = self._known.values()
        errors = [one.message for one in known if isinstance(one, BadInput) and not isinstance(one, Ambiguous)]
        refused = [reason for one in known if isinstance(one, _ReadSample) for _, reason in one.refused[:1]]
        return list(dict.fromkeys([*errors, *refused]))

    def read(self, profile: FileProfile) -> _ReadSample:
        """Return what a profile reads. Raise BadInput if it does not fit, and Ambiguous if it leaves a fact open."""
        key = repr(profile)
        if key not in self._known:
            try:
                self._known[key] = self._read(profile)
            except BadInput as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, BadInput):
            raise known.with_traceback(None)
        return known

    def count(self, events: int) -> None:
        """Count readings and refused lines. Raise TooLarge above the maximum."""
        self.check()
        self.tried += events
        if self.tried > MAX_TRIED:
            raise TooLarge(
                "The file may be read in too many ways, so the inspection ends. Name its form with --profile, and the "
                "columns with --column."
            )

    def _read(self, profile: FileProfile) -> _ReadSample:
        source = ReadingFile(io.BytesIO(self.content), profile, self.zone)
        at, first, values, refused = list[int](), "", list[float](), list[tuple[int, str]]()
        for event in source.parts():
            self.count(event is not None)
            if event is None:
                continue
            if isinstance(event, FileReading):
                first = first or f"{event.time.isoformat(' ')}: {event.value:g} {event.series.unit}".rstrip()
                time = event.time if event.time.tzinfo else event.time.replace(tzinfo=UTC)
                at.append(to_ms(time))
                values.append(event.value)
            else:
                refused.append((event.line, event.reason[:MAX_REASON_CHARACTERS]))
        spacing = common_spacing_ms(np.unique(np.array(at, np.int64)))
        return _ReadSample(
            refused,
            len(at),
            source.lines,
            first,
            round(sum(values), 6),
            len(values) >= MIN_RISING and values[0] < values[-1] and all(starmap(le, pairwise(values))),
            timedelta(milliseconds=spacing) if spacing and spacing <= DAY_MS else None,
        )


def inspect_sample(
    sample: bytes,
    *,
    is_whole: bool,
    zone: tzinfo,
    given: ProfileOptions = ProfileOptions(),
    profile: FileProfile | None = None,
    check: Check = no_check,
) -> Inspection:
    """Inspect the start of a file, or the whole of a small one. Raise BadInput for a file that is no text.

    `given` are answers that are known. With `profile`, only this one is tried. The inspection ends with
    the error that `check` raises.
    """
    check_is_text(sample)
    encoding, is_certain = find_encoding(sample)
    if given.encoding is not None:
        encoding, is_certain = given.encoding, True
    content = _whole_lines(sample, encoding, is_whole=is_whole)
    lines = text_lines(content)
    shows_order = not any(map(_UNCLEAR_DATE.search, lines))
    inspection = Inspection(encoding, is_certain, [line[:SHOWN_CHARACTERS] for line in lines[:SHOWN_LINES]])
    inspection.content = content
    option = ProfileOptions(encoding=None if marked_encoding(sample) or encoding == "utf-8" else encoding)
    given, kind = msgspec.structs.replace(given, encoding=None), _kind(lines)
    tried = Sample(content, zone, check)
    for candidate in _profiles_to_try(kind, profile):
        check()
        if fit := try_profile(tried, _with_open_order(candidate, shows_order=shows_order), given):
            fit.profile = candidate
            if fit.options.date_order is candidate.time.date_order and not _asks_for_order(fit):
                fit.options = msgspec.structs.replace(fit.options, date_order=None)
            inspection.fits.append(fit)
    if not inspection.fits and kind is Format.TABLE and (profile is None or profile.name == GENERIC):
        inspection.fits += _generic_fits(tried, lines, given)
    inspection.tried, inspection.kind = tried.tried, kind
    if not inspection.fits and kind is not Format.TABLE:
        inspection.problems = tried.problems()
    inspection.fits.sort(key=lambda fit: (len(fit.refused), len(fit.questions), "spreadsheet" in fit.profile.name))
    for fit in inspection.fits:
        fit.options = _merged(fit.options, option)
    if kind is Format.TABLE:
        inspection.delimiter, inspection.header = _find_table(lines)
    if inspection.delimiter and inspection.header:
        for fit in inspection.fits:
            if fit.never_falls:
                fit.questions.append(Question(REGISTER, "column"))
            _ask_for_ignored_columns(fit, lines, inspection.delimiter, inspection.header, check)
    return inspection


def _profiles_to_try(kind: Format, chosen: FileProfile | None) -> list[FileProfile]:
    if chosen is not None:
        return [chosen] if chosen.name != GENERIC else []
    return [profile for profile in packaged_profiles() if profile.format is kind and profile.name != GENERIC]


def _with_open_order(profile: FileProfile, *, shows_order: bool) -> FileProfile:
    """Return a profile without its order of day and month, if the dates of a file do not show their order.

    Dates with points have the day first. The others have both orders, also in files with the columns of the profile.
    """
    if profile.time.date_order is DateOrder.YEAR_FIRST or shows_order:
        return profile
    return msgspec.structs.replace(profile, time=msgspec.structs.replace(profile.time, date_order=None))


def _asks_for_order(fit: Fit) -> bool:
    return any(question.option == "date_order" for question in fit.questions)


def find_encoding(sample: bytes) -> tuple[str, bool]:
    """Return the encoding of a text, and whether that is certain: by a byte order mark, or as valid UTF-8."""
    if marked := marked_encoding(sample):
        return marked, True
    for position, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = sample[position:2_000:2]
        if len(half) > 10 and half.count(0) > len(half) // 2:
            return encoding, True
    try:
        sample[: len(sample) - 4 if len(sample) >= SAMPLE_BYTES else None].decode()
    except UnicodeDecodeError:
        best = from_bytes(sample[: SAMPLE_BYTES // 8], cp_isolation=[*_ENCODINGS]).best()
        return find_codec(best.encoding if best else _ENCODINGS[0]), False
    return "utf-8", True


def _whole_lines(sample: bytes, encoding: str, *, is_whole: bool) -> bytes:
    """Return the sample in UTF-8, without a last line that is cut off."""
    content = open_utf8(io.BytesIO(sample), encoding).read().removeprefix(b"\xef\xbb\xbf")
    lines = content.splitlines(keepends=True)
    if not is_whole and lines:
        lines.pop()
    cells = accumulate(sum(line.count(mark.encode()) for mark in DELIMITERS.values()) for line in lines)
    count = sum(1 for _ in takewhile(SAMPLE_CELLS.__ge__, islice(cells, SAMPLE_LINES)))
    return b"".join(lines[: max(count, 1)])


def _kind(lines: Sequence[str]) -> Format:
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith("100,NEM12"):
        return Format.NEM12
    return Format.GREEN_BUTTON if first.startswith("<") else Format.TABLE


def try_profile(sample: Sample, profile: FileProfile, given: ProfileOptions | None = None) -> Fit | None:
    """Return how a profile reads the sample, or None if it does not fit."""
    variants = _VARIANTS if profile.format is Format.TABLE else _VARIANTS[:1]  # the other forms say their marks
    tried = (_try_marks(sample, profile, _merged(marks, given)) for marks in variants)
    usual = next(tried)
    if usual is not None and not usual.refused:
        return usual
    fits = [fit for fit in (usual, *tried) if fit is not None]
    if not fits:
        return None
    fewest = min(len(fit.refused) for fit in fits)
    best = [fit for fit in fits if len(fit.refused) == fewest]
    chosen = best[0]
    marks = {fit.total: fit for fit in reversed(best)}
    if chosen is not usual and len(marks) > 1:
        shown = " or ".join(dict.fromkeys(fit.first for fit in best))
        choices = tuple(" ".join(_mark_words(fit.options)) for fit in reversed(marks.values()))
        text = f"Numbers have one kind of mark alone, so the first reading may be {shown}. Use {' or '.join(choices)}."
        chosen.questions.append(Question(text, MARKS, choices))
        chosen.options = msgspec.structs.replace(chosen.options, decimal=None, thousands=None)
    return chosen


def _mark_words(options: ProfileOptions) -> list[str]:
    marks = (("--thousands", options.thousands),) if options.thousands else (("--decimal", options.decimal),)
    return [word for name, mark in marks for word in (name, mark or "")]


def _try_marks(sample: Sample, profile: FileProfile, options: ProfileOptions) -> Fit | None:
    fit = Fit(profile, options)
    for _ in range(MAX_QUESTIONS):
        try:
            return _read_sample(sample, fit)
        except Ambiguous as asked:
            answers = list(_answers(sample, fit, asked))
            if not answers:
                return None
            fit = answers[0]
            if len(answers) > 1 or not asked.choices:
                fit.questions.append(_question(asked))
        except BadInput:
            return None
    return None


def _answers(sample: Sample, fit: Fit, asked: Ambiguous) -> Iterator[Fit]:
    """Yield the profile with each answer that the sample allows, the one with the fewest refused lines first."""
    if asked.option == "interval":
        interval = _common_interval(sample, fit)
        yield Fit(fit.profile, _merged(fit.options, ProfileOptions(interval=interval)), fit.questions)
        return
    tried = list[tuple[int, Fit]]()
    for choice in asked.choices:
        answer = Fit(fit.profile, _merged(fit.options, ProfileOptions(**{asked.option: choice})), [*fit.questions])
        refused = _count_refused(sample, Fit(fit.profile, answer.options))
        if refused is not None:
            tried.append((refused, answer))
        elif asked.option == "times":  # only the interval does not fit, and that says nothing about starts and ends
            tried.append((0, answer))
    fewest = min((refused for refused, _ in tried), default=0)
    if asked.option == "times":
        yield from (answer for _, answer in tried)
        return
    yield from (answer for refused, answer in tried if refused == fewest)


def _count_refused(sample: Sample, fit: Fit) -> int | None:
    """Return how many lines of the sample a profile refuses, or None if it does not fit.

    Other open questions get their first answer here.
    """
    for _ in range(MAX_QUESTIONS):
        try:
            return len(_read_sample(sample, fit, at_least=0).refused)
        except Ambiguous as asked:
            if asked.option in ("columns", "source"):
                return None
            if asked.option == "decimal":  # a wrong mark refuses each line, and would hide what the lines decide
                return _fewest_refused(sample, fit, asked)
            answer = _common_interval(sample, fit) if asked.option == "interval" else asked.choices[0]
            given: dict[str, Any] = {asked.option: answer}
            fit = Fit(fit.profile, _merged(fit.options, ProfileOptions(**given)))
        except BadInput:
            return None
    return None


def _fewest_refused(sample: Sample, fit: Fit, asked: Ambiguous) -> int | None:
    """Return the fewest lines that a profile refuses with one of the choices."""
    counts = list[int]()
    for choice in asked.choices:
        given: dict[str, Any] = {asked.option: choice}
        trial = Fit(fit.profile, _merged(fit.options, ProfileOptions(**given)))
        refused = _count_refused(sample, trial)
        counts += [] if refused is None else [refused]
    return min(counts, default=None)


def _common_interval(sample: Sample, fit: Fit) -> str:
    """Return the first usual interval that the times of the sample have, or half hours if they have none."""
    for interval in _INTERVALS:
        trial = Fit(fit.profile, _merged(fit.options, ProfileOptions(interval=interval)))
        if _count_refused(sample, trial) is not None:
            return interval
    return _INTERVALS[0]


def format_interval(interval: timedelta) -> str:
    """Return an interval as an ISO 8601 duration, such as PT30M."""
    minutes = interval // timedelta(minutes=1)
    return f"PT{minutes // 60}H" if minutes % 60 == 0 else f"PT{minutes}M"


def _question(asked: Ambiguous) -> Question:
    choices = tuple(str(getattr(choice, "value", choice)) for choice in asked.choices)
    return Question(asked.message, asked.option, choices)


def _read_sample(sample: Sample, fit: Fit, *, at_least: int = 1) -> Fit:
    """Read the sample. Raise BadInput if the profile does not fit."""
    read = sample.read(with_options(fit.profile, fit.options))
    if read.readings < at_least or (len(read.refused) > MAX_REFUSED_SHARE * read.lines + 1 and at_least):
        raise BadInput("The profile does not fit.")
    fit.refused = list(read.refused)
    fit.readings, fit.first, fit.total = read.readings, read.first, read.total
    fit.never_falls, fit.interval = read.never_falls, read.interval
    return fit


def _merged(options: ProfileOptions, more: ProfileOptions | None) -> ProfileOptions:
    """Return options, to which others add."""
    changes = {} if more is None else {name: value for name, value in msgspec.structs.asdict(more).items() if value}
    if "columns" in changes:
        changes["columns"] = {**options.columns, **changes["columns"]}
    return msgspec.structs.replace(options, **changes)


# Tables that no profile knows.


@dataclass(slots=True)
class _Column:
    name: str
    times: int = 0
    dates: int = 0
    clocks: int = 0
    numbers: int = 0


def _find_table(lines: Sequence[str]) -> tuple[str | None, list[str] | None]:
    """Return the delimiter and the cells of the header: the first line with as many cells as most lines have."""
    counts = {
        delimiter: _usual_count([line.count(delimiter) for line in lines if line.strip()])
        for delimiter in DELIMITERS.values()
    }
    delimiter, (count, share) = max(counts.items(), key=lambda item: (item[1][1] > 0.5 and item[1][0] > 0, item[1]))
    if count == 0 or share < 0.5:
        return None, None
    for line in lines:
        if line.count(delimiter) == count:
            try:
                return delimiter, split_line(line.removeprefix("\ufeff"), delimiter)
            except InvalidLine:
                continue
    return delimiter, None


def _usual_count(counts: Sequence[int]) -> tuple[int, float]:
    if not counts:
        return 0, 0.0
    (usual, number), *_ = Counter(counts).most_common(1)
    return usual, number / len(counts)


def _generic_fits(sample: Sample, lines: Sequence[str], given: ProfileOptions) -> list[Fit]:
    """Return how the table can be read with the columns that look like times and numbers."""
    delimiter, header = _find_table(lines)
    if delimiter is None or header is None or len(set(header)) < len(header):
        return []
    if len(header) > MAX_COLUMNS or any(map(_is_data, header)):
        return []  # the line is a reading: a header is missing, or has another number of cells
    columns = _classify(lines, delimiter, header, sample.check)
    roles = _time_roles(columns)
    values = [
        column.name
        for column in columns
        if column.numbers and column.name not in roles.values() and not _NO_ENERGY.search(column.name.casefold())
    ]
    named = [name for name in values if _UNIT_IN_NAME.search(name.casefold())] or values
    if "value" in given.columns:
        named = [given.columns["value"]]
    name = next(name for name, mark in DELIMITERS.items() if mark == delimiter)
    fits = list[Fit]()
    for value in named[:3] if roles else []:
        found = _UNIT_IN_NAME.search(value.casefold())
        options = ProfileOptions(
            delimiter=name, columns={**roles, "value": value}, unit=_UNIT_NAMES[found.group(1)] if found else None
        )
        if fit := try_profile(sample, packaged_profile(GENERIC), _merged(options, given)):
            if len(named) > 1:
                text = f"Several columns have numbers: {', '.join(named)}. Choose one with --column value=NAME."
                choices = tuple(f"value={name}" for name in named[:MAX_QUESTIONS])
                fit.questions.append(Question(text, "column", choices))
            fits.append(fit)
    return fits[:1]


def _classify(lines: Sequence[str], delimiter: str, header: Sequence[str], check: Check) -> list[_Column]:
    """Count in each column the cells that look like times, dates, times of day and numbers."""
    columns = [_Column(name) for name in header]
    rows = [line for line in lines if line.count(delimiter) == len(header) - 1][1:200]
    for line in rows:
        check()
        try:
            cells = split_line(line, delimiter)
        except InvalidLine:
            continue
        for column, cell in zip(columns, cells, strict=False):
            column.numbers += bool(_NUMBER.fullmatch(cell))
            column.clocks += _parses(parse_clock, cell) and ":" in cell
            is_date = any(_parses(parse_date, cell, order) for order in DateOrder) and not cell.isdigit()
            column.dates += is_date
            column.times += not is_date and any(_parses(parse_time, cell, order) for order in DateOrder) and ":" in cell
    return columns


def _is_data(cell: str) -> bool:
    """Return whether a cell is a number, a date or a time, and so no name of a column."""
    is_time = any(_parses(parse, cell, order) for parse in (parse_date, parse_time) for order in DateOrder)
    return bool(_NUMBER.fullmatch(cell)) or (is_time and any(map(str.isdigit, cell)))


def _ask_for_ignored_columns(
    fit: Fit, lines: Sequence[str], delimiter: str, header: Sequence[str], check: Check
) -> None:
    """Add a question about a column of names that a profile ignores, such as that of the meter."""
    form = fit.profile.columns
    used = {name for role in form.__struct_fields__ for name in getattr(form, role)}
    used |= {name for value in fit.profile.values for name in value.columns}
    used |= {name.casefold() for name in fit.options.columns.values()}
    names = [" ".join(column.casefold().split()) for column in header]
    if used.isdisjoint(names):
        return  # the line is above the header
    rows = [cells for line in lines if len(cells := _cells(line, delimiter)) == len(header)][1:]
    for position, column in enumerate(header):
        check()
        texts = [cell for cell in dict.fromkeys(cells[position] for cells in rows) if cell and not _is_data(cell)]
        if names[position] in used:
            continue
        if names[position] in _NAMES_OF_HOURS:
            text = f"The column {column} is not read. If it has the hour, no profile reads the file as it is."
            fit.questions.append(Question(text, "column"))
            return
        if len(texts) > 1:
            text = (
                f"The column {column} is not read, and has several values, such as {texts[0]} and {texts[1]}. If they "
                f"are meters, use --column source={column} with --source."
            )
            fit.questions.append(Question(text, "column"))
            return


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return split_line(line, delimiter)
    except InvalidLine:
        return []


def _parses(parse: Any, *arguments: Any) -> bool:
    try:
        parse(*arguments)
    except (InvalidLine, Ambiguous):
        return False
    return True


def _time_roles(columns: Sequence[_Column]) -> dict[str, str]:
    """Return the columns that say the time, by their roles."""
    times = [column.name for column in columns if column.times]
    if len(times) == 2:
        return {"start": times[0], "end": times[1]}
    if times:
        return {"time": times[0]}
    dates, clocks = ([one.name for one in columns if getattr(one, kind)] for kind in ("dates", "clocks"))
    if dates and clocks:
        return {"date": dates[0], "clock": clocks[0]}
    return {"date": dates[0]} if dates else {}


# Examples of the answers to a question.


class AnswerExample(NamedTuple):
    """A reading of the file with one of the answers: its line, start, end if that is known, value and unit."""

    line: int
    start: datetime
    end: datetime | None
    value: float
    unit: str


def answer_of(question: Question, choice: str) -> ProfileOptions:
    """Return the option that an answer to a question sets."""
    if question.option == MARKS:
        words = choice.split()
        options: dict[str, Any] = {
            name.removeprefix("--"): mark for name, mark in zip(words[::2], words[1::2], strict=True)
        }
    elif question.option == "column":
        role, _, name = choice.partition("=")
        options = {"columns": {role: name}}
    else:
        options = {question.option: choice}
    return msgspec.convert(options, ProfileOptions)


def answer_examples(
    content: bytes, fit: Fit, question: Question, zone: tzinfo, check: Check = no_check
) -> list[AnswerExample | None]:
    """Return an example for each choice of a question: the first reading that the choices read differently.

    Other questions of the profile have their first answers. None stands for a choice that reads nothing.
    """
    others = [other for other in fit.questions if other is not question and other.choices]
    answers = ProfileOptions()
    for other in others:
        answers = _merged(answers, answer_of(other, other.choices[0]))
    readings = [
        _readings_with(content, fit, _merged(answers, answer_of(question, choice)), zone, check)
        for choice in question.choices
    ]
    known = [one for one in readings if one]
    for examples in zip(*known, strict=False):
        if len(set(examples)) > 1:
            found = iter(examples)
            return [next(found) if one else None for one in readings]
    return [one[0] if one else None for one in readings]


def _readings_with(
    content: bytes, fit: Fit, answers: ProfileOptions, zone: tzinfo, check: Check
) -> list[AnswerExample]:
    """Return the readings of the first lines with options, or nothing if these do not fit."""
    found = list[AnswerExample]()
    options = _merged(fit.options, answers)
    if options.interval is None and fit.interval is not None:
        options = msgspec.structs.replace(options, interval=format_interval(fit.interval))
    if options.decimal and options.thousands == options.decimal:
        options = msgspec.structs.replace(options, thousands=None)
    try:
        for event in ReadingFile(io.BytesIO(content), with_options(fit.profile, options), zone).parts():
            check()
            if isinstance(event, FileReading):
                start = event.time - timedelta(milliseconds=event.shift_ms)
                end = start + fit.interval if fit.interval else None
                found.append(AnswerExample(event.line, start, end, event.value, event.series.unit))
            if len(found) >= MAX_EXAMPLES:
                break
    except BadInput:
        return found
    return found


# The command.


def option_words(fit: Fit) -> list[str]:
    """Return the options of the command that imports the file. An open question is listed as its choices."""
    words = ["--profile", fit.profile.name]
    asked = {question.option: question for question in fit.questions}
    for name, value in msgspec.structs.asdict(fit.options).items():
        if name == "columns" or value is None or (name in asked and name != "interval"):
            continue
        words += [f"--{name.replace('_', '-')}", str(getattr(value, "value", value))]
    for name, question in asked.items():
        if name == MARKS:
            words.append("|".join(question.choices))
            continue
        if name in ("interval", "columns", "column"):
            continue
        words += [f"--{name.replace('_', '-')}", "|".join(question.choices) or "VALUE"]
    for role, name in fit.options.columns.items():
        words += ["--column", f"{role}={name}"]
    return words


def describe_time(fit: Fit) -> str:
    """Return the known facts about the times of a file: the interval, and starts or ends."""
    when = with_options(fit.profile, fit.options).time
    known = [] if fit.interval is None else [format_interval(fit.interval)]
    if when.times is not None and not any(question.option == "times" for question in fit.questions):
        known.append("times are starts" if when.times is Times.START else "times are ends")
    return ", ".join(known)
