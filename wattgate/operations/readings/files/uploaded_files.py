"""Inspect, preview and import a file of readings that a caller has uploaded, for every interface.

A file is taken whole before anything is stored: a client that goes away stores nothing. The processor time of a file is
bounded, charged, and spent in threads of which each application has a share. A caller holds no connection while a
thread works. An import that was interrupted continues when the same file is sent again, to any gateway: batches that
are stored already are compared, and not written again.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from functools import partial
from math import ceil, inf
from types import MappingProxyType
from typing import BinaryIO, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from wattgate.clock import from_ms
from wattgate.db.models import Resource
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, GatewayError, Problem, TooLarge, Unavailable
from wattgate.operations.core.operation import RunOperation
from wattgate.operations.readings.bulk_recorder import FREE_WORK, SenderGone, WorkCharge
from wattgate.operations.readings.files.file_import import ImportReport, SeriesReport, SharedGateway, import_csv
from wattgate.operations.readings.files.file_targets import HomeResources, UnitOptions
from wattgate.operations.readings.files.file_unpacking import unpack
from wattgate.operations.types.meters import reading_files as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import UNIT_MICROSECONDS
from wattgate.reading_files.inspection import (
    SAMPLE_BYTES,
    AnswerExample,
    Fit,
    Inspection,
    Question,
    answer_examples,
    answer_of,
    format_interval,
    inspect_sample,
)
from wattgate.reading_files.line_reader import Check, WrongEncoding, find_codec, text_lines
from wattgate.reading_files.profiles import (
    FileProfile,
    ProfileOptions,
    packaged_profile,
    parse_profile,
    with_options,
)
from wattgate.reading_files.reader import ReadingFile, split_line
from wattgate.requests.client import never
from wattgate.requests.fair_share import NO_OWNER, FairShare, FairThreads, NoFreeSlot, owner_of_caller, user_of_caller
from wattgate.requests.request_context import CURRENT_PRINCIPAL
from wattgate.time_zones import time_zone_problem

T = TypeVar("T")

MAX_FILE_BYTES = 64 * 2**20
"""Maximum bytes of an uploaded file. `wattgate readings import` takes files of any size."""

MAX_LINES = 1_000_000
"""Maximum lines of an uploaded file."""

MAX_SERIES = 1_000
"""Maximum series that an uploaded file names, such as meter points: each is looked up."""

MAX_SECONDS = 300.0
"""Maximum processor time for one file."""

MAX_INSPECTION_SECONDS = 10.0
"""Maximum processor time for one inspection. A usual file takes one, and one with many questions five."""

GONE_CHECK_SECONDS = 1.0
"""Interval in which work checks whether its client is still there."""

MAX_LISTED_LINES = 100
"""Maximum refused lines that a report lists."""

MAX_REASON_CHARACTERS = 300
MAX_TEXT_CHARACTERS = 200
MAX_MESSAGE_CHARACTERS = 2_000
"""Maximum characters of a reason, of a line that an example repeats, and of an error about a file."""

FILE_THREADS = FairThreads(2, share=1, name="reading-files", max_waiting=64, max_wait_seconds=30)
"""The threads that read files. One application has one of them, and its users take turns."""

USER_FILES = FairShare(1_024, share=2, max_waiting=64, max_wait_seconds=10)
"""The files of each user that exist at a time, in every interface. Others bound the files of an application."""

ChargeUnits = Callable[[int], Awaitable[None]]
"""Charges units of work that is done. It waits, or raises RateLimited, if the budget of the caller is used up."""

_OPTION = re.compile(r"--([a-z][a-z-]{1,30})")
_REPEATED_RESOURCES = re.compile("resourceIds(?:(?:, | or )resourceIds){1,3}")
_OPTIONS: Mapping[str, str] = MappingProxyType(
    {"column": "columns", "round": "roundValues"}
    | dict.fromkeys(("resource", "electricity", "gas", "export"), "resourceIds")
)
"""The options of an upload by those of the command line, where the names differ."""


@dataclass(frozen=True, slots=True)
class FileHome:
    """The resources that a file may fill: those of a home, with its time zone, or single ones."""

    description: str
    zone: str | None
    resources: Sequence[Resource]


NO_PROFILE_OPTIONS = ProfileOptions()

OWN_PROFILE = "own"
"""The name of a profile that a caller sends with the file."""


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a caller says that a file is read."""

    form: ProfileOptions = NO_PROFILE_OPTIONS
    profile: FileProfile | None = None
    source: str = ""
    classifier: str = ""
    combine: bool = False
    rounds: bool = False

    @classmethod
    def from_input(cls, given: types.ReadingFileOptions) -> "FileOptions":
        """Return the options of an input. Raise BadInput for a value that an option does not have."""
        names = {name: "time_zone" if name == "zone" else name for name in ProfileOptions.__struct_fields__}
        values = {name: getattr(given, other) or None for name, other in names.items() if name != "columns"}
        columns = dict[str, str]()
        for text in given.columns or ():
            role, mark, name = text.partition("=")
            if not mark:
                raise BadInput(f"{text!r} is not ROLE=NAME, such as value=kWh.", problems=[_problem("columns")])
            columns[role] = name
        if given.time_zone and (zone_problem := time_zone_problem(given.time_zone)):
            raise BadInput(zone_problem, problems=[_problem("timeZone")])
        try:
            values["encoding"] = given.encoding and find_codec(given.encoding)
        except WrongEncoding as error:
            raise BadInput(error.message, problems=[_problem("encoding")]) from None
        try:
            form = msgspec.convert({**values, "columns": columns}, ProfileOptions)
        except msgspec.ValidationError as error:
            raise BadInput(f"An option of the file is invalid: {error}.") from None
        profile = _chosen_profile(given)
        return cls(form, profile, given.source or "", given.classifier or "", given.combine, given.round_values)


def _chosen_profile(given: types.ReadingFileOptions) -> FileProfile | None:
    """Return the profile that a caller names or sends. Raise BadInput for both, and for one that is wrong."""
    if given.profile and given.own_profile:
        problems = [_problem("profile"), _problem("ownProfile")]
        raise BadInput("The file has both profile and ownProfile. Use one of them.", problems=problems)
    try:
        if given.own_profile:
            own = parse_profile(given.own_profile.removeprefix("\ufeff").encode(), OWN_PROFILE)
            return msgspec.structs.replace(own, name=OWN_PROFILE)  # the file may state the name of another one
        return packaged_profile(given.profile) if given.profile else None
    except BadInput as error:
        problem = _problem("ownProfile" if given.own_profile else "profile")
        raise BadInput(for_upload(error.message), problems=[problem]) from None


def _problem(option: str) -> Problem:
    return Problem(("options", option), "is invalid")


_TAKES_LONG = "The file takes more than {:.0f} s of processor time. Divide it."

_ABANDONED: set[asyncio.Task[None]] = set()
"""The charges of work whose caller has gone. A set keeps the tasks alive."""


def _keep(task: asyncio.Task[None]) -> None:
    _ABANDONED.add(task)
    task.add_done_callback(_ABANDONED.discard)


@dataclass(slots=True)
class FileWork:
    """The processor time of one file: in threads, with a bound, and charged after each part.

    One part runs at a time, because an application has one thread. A part that takes long calls `check` often, which
    ends it: a thread cannot be stopped from outside. `clock` is that of the thread.
    """

    charge_units: ChargeUnits
    client_has_gone: Callable[[], bool] = never
    clock: Callable[[], float] = time.thread_time
    seconds: float = 0.0
    _charged_seconds: float = 0.0
    _ends_at: float = inf
    _excess: str = ""
    _is_abandoned: bool = False

    async def __call__(self, work: Callable[[], T], /, *, max_seconds: float = inf, excess: str = "") -> T:
        """Return the result of work in a thread. Raise Unavailable without a free one, and TooLarge above the bound.

        `max_seconds` bounds this part, and `excess` is the message above it. Raise SenderGone if the client has gone.
        """
        caller = CURRENT_PRINCIPAL.get()
        owner, user = (NO_OWNER, "") if caller is None else (owner_of_caller(caller), user_of_caller(caller))
        try:
            job = await FILE_THREADS.submit(owner, partial(self._timed, work, max_seconds, excess), user=user)
        except NoFreeSlot:
            raise Unavailable("Too many files of readings are being read. Try again.", retry_after=5) from None
        done = asyncio.wrap_future(job)
        try:
            while not (await asyncio.wait([done], timeout=GONE_CHECK_SECONDS))[0]:
                self._is_abandoned = self._is_abandoned or self.client_has_gone()
            result = done.result()
        except asyncio.CancelledError:
            self._is_abandoned = True
            _keep(asyncio.create_task(self._charge_abandoned(done)))
            raise
        finally:
            if done.done():
                await self._charge_done()
        if self.seconds > MAX_SECONDS:
            raise TooLarge(_TAKES_LONG.format(MAX_SECONDS))
        return result

    def check(self) -> None:
        """Raise TooLarge if the work in this thread has taken its time, and SenderGone if nobody waits for it."""
        if self._is_abandoned:
            raise SenderGone("The client has gone.", retry_after=1)
        if self.clock() > self._ends_at:
            raise TooLarge(self._excess)

    async def _charge_done(self) -> None:
        """Charge the work that is done and not charged."""
        done, self._charged_seconds = self.seconds - self._charged_seconds, self.seconds
        if done > 0:
            await self.charge_units(ceil(done * 1_000_000 / UNIT_MICROSECONDS))

    async def _charge_abandoned(self, done: asyncio.Future[T]) -> None:
        """Charge work whose caller has gone when it ends."""
        await asyncio.wait([done])
        done.exception()  # nobody else takes it
        with suppress(GatewayError):
            await self._charge_done()

    def _timed(self, work: Callable[[], T], max_seconds: float, excess: str) -> T:
        began, left = self.clock(), MAX_SECONDS - self.seconds
        self._ends_at = began + min(left, max_seconds)
        self._excess = excess if max_seconds < left else _TAKES_LONG.format(MAX_SECONDS)
        try:
            self.check()
            return work()
        finally:
            self.seconds += self.clock() - began


@dataclass(slots=True)
class UploadedFile:
    """A file with the options of its caller. Close it when the call is answered."""

    file: BinaryIO
    home: FileHome
    options: FileOptions
    work: FileWork
    _opened: list[BinaryIO] = field(default_factory=list)

    @property
    def zone(self) -> tzinfo:
        name = self.options.form.zone or self.home.zone
        return UTC if name is None or name == "UTC" else ZoneInfo(name)

    async def open(self) -> BinaryIO:
        """Return the content of the file, unpacked."""
        if not self._opened:
            self._opened.append(await self.work(partial(unpack, self.file, check=self.work.check)))
        return self._opened[0]

    def close(self) -> None:
        """Delete the file and its unpacked content."""
        for file in (self.file, *self._opened):
            file.close()

    async def inspecting(self, work: Callable[[], T]) -> T:
        """Return the result of work of an inspection. Raise TooLarge if it takes more than MAX_INSPECTION_SECONDS."""
        excess = (
            f"The inspection takes more than {MAX_INSPECTION_SECONDS:.0f} s of processor time. Name the form of the "
            "file with the options profile, decimal and dateOrder, or divide the file."
        )
        return await self.work(work, max_seconds=MAX_INSPECTION_SECONDS, excess=excess)

    async def recognize(self) -> tuple[Inspection, Fit | None]:
        """Return the form of the file, and the profile that reads it best with the options; None if none does."""
        content = await self.open()

        def inspect() -> Inspection:
            content.seek(0)
            sample = content.read(SAMPLE_BYTES)
            content.seek(0)
            return inspect_sample(
                sample,
                is_whole=len(sample) < SAMPLE_BYTES,
                zone=self.zone,
                given=self.options.form,
                profile=self.options.profile,
                check=self.work.check,
            )

        try:
            inspection = await self.inspecting(inspect)
        except TooLarge as error:
            raise TooLarge(for_upload(error.message)) from None
        except WrongEncoding as error:
            raise BadInput(error.message, problems=[_problem("encoding")]) from None
        return inspection, inspection.fits[0] if inspection.fits else None


# The inspection.


async def inspect_file(upload: UploadedFile) -> types.ReadingFileInspection:
    """Return what a file looks like, and the questions that it leaves open. Nothing is stored."""
    inspection, fit = await upload.recognize()
    return await upload.inspecting(partial(_describe_form, inspection, fit, upload.zone, upload.work.check))


def _describe_form(inspection: Inspection, fit: Fit | None, zone: tzinfo, check: Check) -> types.ReadingFileInspection:
    questions = [] if fit is None else [question for question in fit.questions if question.choices]
    notes = [] if fit is None else [question.text for question in fit.questions if question.option == "column"]
    asked = {question.text for question in questions}
    warnings = [for_upload(note) for note in notes if note not in asked]
    if not inspection.encoding_is_certain:
        warnings.append(f"The encoding {inspection.encoding} is a guess. Look at the letters of the first lines.")
    warnings += map(for_upload, inspection.problems)
    lines = text_lines(inspection.content)
    return types.ReadingFileInspection(
        encoding=inspection.encoding,
        encoding_certain=inspection.encoding_is_certain,
        delimiter=inspection.delimiter,
        lines=inspection.lines,
        rows=_first_rows(lines, inspection),
        profile=fit.profile.name if fit else None,
        title=fit.profile.title if fit else None,
        other_profiles=[other.profile.name for other in inspection.fits[1:]],
        settings=[] if fit is None else _settings_of(fit.options, {question.option for question in questions}),
        questions=[_describe_question(inspection, lines, fit, one, zone, check) for one in questions if fit],
        warnings=warnings,
        interval=format_interval(fit.interval) if fit and fit.interval else None,
        readings=fit.readings if fit else 0,
        refused=len(fit.refused) if fit else 0,
        refused_lines=_listed(fit.refused if fit else ()),
    )


def _first_rows(lines: Sequence[str], inspection: Inspection) -> list[list[str]]:
    """Return the cells of the header and of the lines after it."""
    if inspection.delimiter is None or inspection.header is None:
        return []
    rows = list[list[str]]()
    for line in lines[:50]:
        try:
            cells = split_line(line.removeprefix("\ufeff"), inspection.delimiter)
        except ValueError:
            continue
        if rows or cells == inspection.header:
            rows.append([cell[:MAX_TEXT_CHARACTERS] for cell in cells[:100]])
        if len(rows) > 5:
            break
    return rows


def _settings_of(options: ProfileOptions, asked: set[str]) -> list[types.ReadingFileSetting]:
    """Return the options that are decided, as an input takes them."""
    settings = list[types.ReadingFileSetting]()
    for name, value in msgspec.structs.asdict(options).items():
        if name == "columns":
            settings += [
                types.ReadingFileSetting(name=name, value=f"{role}={column}") for role, column in value.items()
            ]
        elif value is not None and name not in asked:
            text = str(getattr(value, "value", value))
            settings.append(
                types.ReadingFileSetting(name="timeZone" if name == "zone" else to_camel_case(name), value=text)
            )
    return settings


def _describe_question(
    inspection: Inspection, lines: Sequence[str], fit: Fit, question: Question, zone: tzinfo, check: Check
) -> types.ReadingFileQuestion:
    examples = answer_examples(inspection.content, fit, question, zone, check)
    return types.ReadingFileQuestion(
        option=to_camel_case(question.option),
        text=for_upload(question.text),
        answers=[
            types.ReadingFileAnswer(
                settings=_settings_of(answer_of(question, choice), set()), example=_describe_example(example, lines)
            )
            for choice, example in zip(question.choices, examples, strict=True)
        ],
    )


def _describe_example(example: AnswerExample | None, lines: Sequence[str]) -> types.ReadingFileExample | None:
    if example is None:
        return None
    text = lines[example.line - 1][:MAX_TEXT_CHARACTERS] if example.line <= len(lines) else ""
    return types.ReadingFileExample(
        line=example.line,
        text=text,
        start=example.start.isoformat(),
        end=example.end.isoformat() if example.end else None,
        value=example.value,
        unit=example.unit or None,
    )


def for_upload(message: str) -> str:
    """Return a message of the command line with the names of the options of an upload. A long one is cut.

    It may repeat a cell of the file.
    """
    renamed = _OPTION.sub(
        lambda found: _OPTIONS.get(found.group(1)) or to_camel_case(found.group(1).replace("-", "_")),
        message if len(message) <= MAX_MESSAGE_CHARACTERS else f"{message[:MAX_MESSAGE_CHARACTERS]}...",
    )
    return _REPEATED_RESOURCES.sub("resourceIds", renamed)


# The preview and the import.


async def import_file(
    upload: UploadedFile,
    run: RunOperation,
    *,
    dry_run: bool,
    charge: WorkCharge = FREE_WORK,
    progress: Callable[[float], None] = lambda share: None,
) -> types.ReadingFileReport:
    """Import a file, or with `dry_run` return what an import would store.

    `run` runs operations with the permission of the caller, and charges them. `progress` gets the share that is done,
    0 to 1. Raise BadInput if the file is not understood or leaves questions open: then nothing is stored.
    """
    profile = await _decide_profile(upload)
    content, refused = await upload.open(), list[tuple[int, str]]()
    digest = await upload.work(partial(_digest, upload.file, upload.work.check))
    size = content.seek(0, 2)
    content.seek(0)

    def refuse(line: int, reason: str) -> None:
        if len(refused) < MAX_LISTED_LINES:
            refused.append((line, reason))

    options = upload.options
    source = ReadingFile(content, profile, upload.zone, classifier=options.classifier, source=options.source)
    try:
        report = await import_csv(
            content,
            run=run,
            resource_id=None,
            zone=upload.zone,
            refuse=refuse,
            progress=lambda done: progress(done / size if size else 1.0),
            home=HomeResources(upload.home.description, upload.home.resources),
            units=UnitOptions(rounds=options.rounds),
            dry_run=dry_run,
            combine=options.combine,
            source=source,
            shared=SharedGateway(upload.work, charge, MAX_LINES, MAX_SERIES, MAX_LISTED_LINES, check=upload.work.check),
        )
    except BadInput as error:
        raise BadInput(for_upload(error.message), problems=error.problems) from None
    return _describe_report(report, digest, refused, is_stored=not dry_run)


async def _decide_profile(upload: UploadedFile) -> FileProfile:
    """Return the profile that reads a file. Raise BadInput if there is none, or if a question is open."""
    inspection, fit = await upload.recognize()
    if fit is None:
        if upload.options.profile is not None:  # its reader says what is wrong
            return with_options(upload.options.profile, upload.options.form)
        shown = " | ".join(inspection.lines[:3])
        advice = " ".join(inspection.problems) or "Choose one with the option profile."
        raise BadInput(for_upload(f"No file profile reads the file. {advice} The file begins: {shown}"))
    open_questions = [question for question in fit.questions if question.choices]
    if open_questions:
        problems = [
            Problem(("options", to_camel_case(question.option)), for_upload(question.text))
            for question in open_questions
        ]
        texts = " ".join(for_upload(question.text) for question in open_questions)
        raise BadInput(f"The file leaves questions open, and nothing is stored. {texts}", problems=problems)
    return with_options(fit.profile, fit.options)


def _digest(file: BinaryIO, check: Check) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(256 * 1024):
        check()
        digest.update(chunk)
    return digest.hexdigest()


def _describe_report(
    report: ImportReport, digest: str, refused: Sequence[tuple[int, str]], *, is_stored: bool
) -> types.ReadingFileReport:
    return types.ReadingFileReport(
        digest=digest,
        stored=is_stored,
        lines=report.lines,
        recorded=report.recorded,
        added=report.added,
        replaced=report.replaced,
        unchanged=report.unchanged,
        is_known=report.recorded > 0 and report.added == report.replaced == 0,
        repeated=report.repeated,
        contradicting=report.contradicting,
        refused=report.refused,
        refused_lines=_listed(refused),
        series=[_describe_series(one) for one in report.series if one.summary.count],
    )


def _listed(refused: Sequence[tuple[int, str]]) -> list[types.RefusedFileLine]:
    first = sorted(refused)[:MAX_LISTED_LINES]
    return [types.RefusedFileLine(line=line, reason=for_upload(text)[:MAX_REASON_CHARACTERS]) for line, text in first]


def _describe_series(series: SeriesReport) -> types.ReadingFileSeries:
    target, summary = series.target, series.summary
    return types.ReadingFileSeries(
        resource_id=Id(target.resource_id),
        classifier=target.classifier,
        field=target.field.name,
        unit=target.field.unit,
        readings=summary.count,
        first=from_ms(summary.first or 0),
        last=from_ms(summary.last or 0),
        total=summary.total,
        months=[
            types.ReadingFileMonth(month=month, readings=count, total=summary.unscaled(total))
            for month, (count, total) in summary.months.items()
        ],
        gap_count=summary.gap_count,
        missing=summary.missing,
        gaps=[
            types.ReadingFileGap(start=from_ms(gap.start), end=from_ms(gap.end), missing=gap.missing)
            for gap in summary.gaps
        ],
    )
