"""Import a file of readings of any size: one with wattgate's own columns (`csv_columns`), or one with a file profile.

The import has three steps. It reads the file into a temporary database, resolves what one line alone does not say, and
records the readings in batches, in the order of series and instants. The order of the lines of a day resolves repeated
local times (`energy.repeated_hours`). Lines of one instant are compared wherever they are in the file.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from itertools import chain, islice
from stat import S_ISREG
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np

from wattgate.clock import ONE_MILLISECOND, format_iso_ms, from_ms, to_ms
from wattgate.energy.arrays import BoolArray, IntArray, is_group_start
from wattgate.energy.buckets import HALF_HOUR_MS, MINUTE_MS
from wattgate.energy.local_times import LocalTimes, local_ms
from wattgate.energy.repeated_hours import DayLine, resolve_repeated
from wattgate.energy.sampling import (
    SamplingGrid,
    Spacing,
    Step,
    describe_intervals,
    format_length,
    intervals_of,
    learned_grid,
)
from wattgate.energy.storage_fields import QUALITIES
from wattgate.errors import BadInput, TooLarge
from wattgate.operations.core.operation import Operation, RunOperation
from wattgate.operations.readings import bulk_recorder
from wattgate.operations.readings.bulk_recorder import FREE_WORK, BulkRecorder, BulkReport, ReportRefusal, WorkCharge
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, RecordedArrays
from wattgate.operations.readings.files.file_targets import (
    ApplicationResources,
    ImportTarget,
    ResourceFinder,
    UnitOptions,
    UnknownSeries,
    find_targets,
)
from wattgate.operations.readings.files.reading_imports import CheckedArrays, check_reading_arrays
from wattgate.operations.readings.files.staged_readings import NightLine, StagedColumns, StagedReadings
from wattgate.operations.readings.recording import CONFLICTING_DUPLICATE
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.csv_columns import CsvColumns, SeriesName
from wattgate.reading_files.derived_energy import FileReading, RefusedLine, common_spacing_ms, sum_intervals
from wattgate.reading_files.line_reader import (
    Check,
    bytes_read,
    check_is_text,
    decode_lines,
    no_check,
    peek,
    read_blocks,
    read_header,
)
from wattgate.reading_files.reader import ReadingFile
from wattgate.reading_files.summary import SeriesSummary

MAX_DESCRIBED_SERIES = 20
"""Maximum number of series that a report describes."""

MIN_OFF_GRID, MIN_OFF_GRID_SHARE = 2, 4
"""From so many readings, and this part of all (a quarter), readings that do not fit the intervals refuse the file."""

MAX_DAY_LINES = 200_000
"""Maximum lines of a series on a day on which local times repeat: they are resolved in memory."""


STAGED_TOGETHER = 1_000
"""Number of readings that are read from a file before other tasks may run, and before their work is charged."""

T = TypeVar("T")


class RunWork(Protocol):
    """Runs work that takes processor time, such as a part of a file, here or in a thread."""

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Return the result of the work. Other tasks run meanwhile or afterwards."""
        ...


async def run_inline(work: Callable[[], T], /) -> T:
    """Run work on the event loop. Ctrl+C ends a long import between two parts."""
    result = work()
    await asyncio.sleep(0)
    return result


@dataclass(frozen=True, slots=True)
class SharedGateway:
    """The needs of an import in a gateway that others use: threads for its work, a payer, and bounds.

    `max_reasons` is the number of refused readings of a batch, the first ones, whose reasons are computed. Work calls
    `check` often, which ends it with an error.
    """

    run_work: RunWork = run_inline
    charge: WorkCharge = FREE_WORK
    max_lines: int | None = None
    max_series: int | None = None
    max_reasons: int | None = None
    check: Check = no_check


ALONE = SharedGateway()
"""The import of a command, which has a process of its own."""


@dataclass(slots=True)
class SeriesReport:
    """The target of a series, and what its recorded readings contain."""

    target: ImportTarget
    summary: SeriesSummary


@dataclass(slots=True)
class ImportReport(BulkReport):
    """The result of an import. `repeated` counts exact repeats of earlier lines of the file.

    `contradicting` counts refused lines with another value than an earlier line.
    The recorded readings are new (`added`), replace a stored reading (`replaced`), or are stored already (`unchanged`).
    `series` describes the recorded readings of each series, if these are at most MAX_DESCRIBED_SERIES. `resumed` counts
    staged readings that an interrupted import of the same file has recorded before.
    """

    series: list[SeriesReport] = field(default_factory=list)
    repeated: int = 0
    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    resumed: int = 0
    contradicting: int = 0


class Checkpoint(Protocol):
    """Remembers how many readings of an import are recorded, so that it continues after an interruption."""

    def recorded(self) -> int:
        """Return how many readings an interrupted import of the same file has recorded."""
        ...

    def save(self, recorded: int) -> None:
        """Note that so many readings are recorded."""
        ...

    def finish(self) -> None:
        """Note that all readings are recorded."""
        ...


async def import_csv(
    file: BinaryIO,
    *,
    run: RunOperation,
    resource_id: str | None,
    zone: tzinfo,
    refuse: ReportRefusal,
    progress: Callable[[int], None],
    home: ResourceFinder | None = None,
    units: UnitOptions | None = None,
    dry_run: bool = False,
    combine: bool = False,
    source: ReadingFile | None = None,
    checkpoint: Checkpoint | None = None,
    shared: SharedGateway = ALONE,
) -> ImportReport:
    """Record the reading of each valid line. Call `refuse` with the number and reason of each other line.

    Call `progress` with a number of bytes: half of the bytes read, and half of the share of the readings recorded. A
    reading replaces the stored one of the same instant. If two valid lines of the file contradict each other, the first
    is recorded and the second is refused. With `home`, the lines name resources of a home. With `dry_run`, the result
    is the same, but nothing is stored. With `combine`, readings of finer intervals than those of a field are summed.

    `source` is the file with its profile. Without it, the file has wattgate's own columns. `run` runs operations with
    the permission of the caller, and `shared` bounds and charges the work.
    """
    state = _file_state(file)
    with StagedReadings() as staged:
        local_times = LocalTimes(source.zone if source else zone)
        task = _ReadingImport(run, shared, refuse, progress, staged, local_times, zone, dry_run, combine)
        if source is None:
            await task.add_csv(file, names_resource=resource_id is not None, names_home=home is not None)
        else:
            await task.add_file(source)
        if _file_state(file) != state:
            raise BadInput("The file changed while it was read. Wait until it is complete. Nothing is recorded.")
        finder = home or ApplicationResources(run, resource_id)
        targets = await find_targets(finder, staged.series, units or UnitOptions())
        if source is not None:
            _check_all_known(staged.series, targets)
        _check_units(staged.series, targets)
        task.set_targets(targets)
        await shared.run_work(task.resolve_nights)
        await shared.run_work(task.check_grid)
        await task.record(bytes_read(file), checkpoint)
    return task.report


def _file_state(file: BinaryIO) -> tuple[int, int] | None:
    """Return what changes if another program writes to a regular file: its size, and the time of the last change."""
    try:
        state = os.fstat(file.fileno())
    except OSError:  # it is in memory
        return None
    return (state.st_size, state.st_mtime_ns) if S_ISREG(state.st_mode) else None


def _check_all_known(series: Sequence[SeriesName], targets: Sequence[ImportTarget | UnknownSeries]) -> None:
    """Raise BadInput if a series that the file profile names has no target: the user selects the part to import."""
    for name, target in zip(series, targets, strict=True):
        if isinstance(target, UnknownSeries) and name.classifier:
            raise BadInput(
                f"The file has {name.classifier}, which cannot be recorded: {target}. Use --electricity, --gas or "
                "--export to import one of its parts."
            )


def _check_units(series: Sequence[SeriesName], targets: Sequence[ImportTarget | UnknownSeries]) -> None:
    """Raise BadInput if the readings of one field have several units: one conversion would serve all of them."""
    units = dict[tuple[str, str | None], str]()
    for name, target in zip(series, targets, strict=True):
        if isinstance(target, UnknownSeries):
            continue
        first = units.setdefault(target.key, name.unit)
        if first != name.unit:
            raise BadInput(
                f"The file has values of {target.classifier} in {first or 'no unit'} and in {name.unit or 'no unit'}. "
                "Nothing is recorded. Write one file for each unit."
            )


@dataclass(slots=True)
class IntervalParts:
    """The readings of a target whose longer interval may have parts in the next batch.

    `steps` are the intervals of the file, of which there are several if the interval changes.
    """

    target: ImportTarget
    steps: Mapping[int, Step]
    part_ms: int | None = None
    kept: StagedColumns | None = None

    def add(self, number: int, readings: StagedColumns, refuse: Callable[[int, str], None]) -> StagedColumns:
        """Return readings in which those of the target are sums. Its last interval is kept for the next batch."""
        mine = readings.target == number
        if not mine.any():
            return readings
        parts = readings.take(mine) if self.kept is None else self.kept.followed_by(readings.take(mine))
        self.part_ms = self.part_ms or min(self.steps, default=None) or common_spacing_ms(parts.at)
        interval, start = self.target.field.interval_ms, self.target.field.start_ms
        if interval is None:
            raise BadInput(f"--combine needs a field with intervals, and {self.target.field.name} has none.")
        if self.part_ms is None or self.part_ms >= interval:
            return readings
        bucket = (parts.at - start) // interval
        is_last = bucket == bucket[-1]
        self.kept = parts.take(is_last)
        return self._sum(parts.take(~is_last), refuse).followed_by(readings.take(~mine))

    def finish(self, number: int, refuse: Callable[[int, str], None]) -> StagedColumns:
        """Return the sum of the last interval."""
        kept, self.kept = self.kept, None
        return StagedColumns.from_rows([]) if kept is None else self._sum(kept, refuse)

    def _sum(self, parts: StagedColumns, refuse: Callable[[int, str], None]) -> StagedColumns:
        interval, part = self.target.field.interval_ms, self.part_ms
        if not len(parts.at) or not interval or not part:
            return parts
        start = self.target.field.start_ms
        at, value, first, complete = sum_intervals(
            parts.at, parts.value, start_ms=start, interval_ms=interval, part_ms=part
        )
        for step in self.steps.keys() - {part}:
            is_whole = sum_intervals(parts.at, parts.value, start_ms=start, interval_ms=interval, part_ms=step)[3]
            for finer in (found for other, found in self.steps.items() if other < step):
                is_whole &= (at < finer.first_ms) | (at >= finer.last_ms)  # else a part may be missing
            complete |= is_whole
        sizes = np.diff(np.append(first, len(parts.at)))
        for position in np.flatnonzero(~complete).tolist():
            begin, size = int(first[position]), int(sizes[position])
            for line in parts.line[begin : begin + size].tolist():
                refuse(
                    line,
                    f"the interval from {format_iso_ms(int(at[position]))} has {size} of its {interval // part} "
                    "parts in the file",
                )
        quality = np.maximum.reduceat(parts.quality, first)
        sums = StagedColumns(parts.target[first], at, parts.line[first], value, quality)
        return sums.take(complete)


@dataclass(slots=True)
class _ReadingImport:
    """The state of an import."""

    run: RunOperation
    shared: SharedGateway
    report_refusal: ReportRefusal
    progress: Callable[[int], None]
    staged: StagedReadings
    local_times: LocalTimes
    zone: tzinfo
    dry_run: bool
    combine: bool = False
    report: ImportReport = field(default_factory=ImportReport)
    targets: list[ImportTarget] = field(default_factory=list)
    combined: dict[int, IntervalParts] = field(default_factory=dict)
    last_reading: StagedColumns | None = None
    charged_refusals: int = 0
    listed_refusals: int = 0

    def refuse(self, line: int, reason: str) -> None:
        self.report.refused += 1
        self.report_refusal(line, reason)

    async def add_csv(self, file: BinaryIO, *, names_resource: bool, names_home: bool) -> None:
        """Stage the lines of a file with wattgate's own columns."""
        check_is_text(peek(file, 16))
        number, header = read_header(file)
        columns = CsvColumns.from_header(header, names_resource=names_resource, names_home=names_home)
        for first, lines in read_blocks(file, first=number + 1):
            self.add_lines(first, columns, lines)
            self.progress(bytes_read(file) // 2)
            await asyncio.sleep(0)  # so that Ctrl+C ends a long import

    async def add_file(self, source: ReadingFile) -> None:
        """Stage the readings of a file with its profile. Raise BadInput if they name a home or resource twice."""
        events = source.parts()
        while await self.shared.run_work(lambda: self._stage_events(events)):
            self.progress(bytes_read(source.file) // 2)
            await self._charge_lines(source.lines)
        await self._charge_lines(source.lines)
        self.report.lines = source.lines

    def _stage_events(self, events: Iterator[FileReading | RefusedLine | None]) -> bool:
        """Stage the next readings of a part of a file. Return whether there may be more."""
        event: FileReading | RefusedLine | None = None
        for event in islice(events, STAGED_TOGETHER):
            self.shared.check()
            if event is None:
                return True
            if isinstance(event, RefusedLine):
                self.refuse(event.line, event.reason)
                continue
            try:
                self._stage(event.line, event.series, event.time, event.value, event.quality, event.shift_ms)
            except InvalidLine as error:
                self.refuse(event.line, str(error))
        return event is not None

    async def _charge_lines(self, lines: int) -> None:
        """Charge the lines that are read since the last charge. Raise TooLarge for more lines than the maximum."""
        read, self.report.lines = lines - self.report.lines, lines
        refused, self.charged_refusals = self.report.refused - self.charged_refusals, self.report.refused
        if self.shared.max_series is not None and self.staged.series_count > self.shared.max_series:
            raise TooLarge(
                f"The file names more than {self.shared.max_series:,} series. Nothing is recorded. Divide it."
            )
        if self.shared.max_lines is not None and lines > self.shared.max_lines:
            raise TooLarge(f"The file has more than {self.shared.max_lines:,} lines. Divide it.")
        await self.shared.charge.add_work(0, read, refused)

    def add_lines(self, first: int, columns: CsvColumns, lines: list[bytes]) -> None:
        """Parse lines and stage their readings: together if all have the usual form, otherwise one by one."""
        block = columns.parse_block(lines)
        if block is None:
            for number, text in decode_lines(first, lines):
                self.add_line(number, columns, text)
            return
        self.report.lines += len(lines)
        numbers = map(self.staged.number_of, block.series)
        line = range(first, first + len(lines))
        self.staged.add_columns(numbers, block.at.tolist(), line, block.value.tolist(), block.quality)

    def add_line(self, number: int, columns: CsvColumns, text: str) -> None:
        """Parse a line and stage its reading, or refuse the line."""
        self.report.lines += 1
        try:
            self._stage(number, *columns.parse_line(text))
        except InvalidLine as error:
            self.refuse(number, str(error))

    def _stage(
        self, line: int, name: SeriesName, time: datetime, value: float, quality: int, shift_ms: int = 0
    ) -> None:
        """Stage a reading whose interval begins `shift_ms` before `time`. Raise InvalidLine if that is no time."""
        series = self.staged.number_of(name)
        try:
            if time.tzinfo is not None:
                self.staged.add(series, to_ms(time.astimezone(UTC)) - shift_ms, line, value, quality)
                return
            instants, night = self.local_times.instants(time), self.local_times.day(time.date()).night
        except OverflowError:
            raise InvalidLine(f"{time.isoformat()} is outside the supported range of times") from None
        if not instants:
            raise InvalidLine(f"{time.isoformat()} does not exist in {self.local_times.zone}: the clocks went forward")
        first = instants[0] - shift_ms
        second = instants[1] - shift_ms if len(instants) == 2 else None
        if night is not None:
            self.staged.add_night_line(night, NightLine(series, line, local_ms(time), first, second, value, quality))
        if second is None:
            self.staged.add(series, first, line, value, quality)

    def set_targets(self, targets: list[ImportTarget | UnknownSeries]) -> None:
        """Set the target of each series. Refuse the lines of series that have none."""
        numbers = dict[tuple[str, str | None], int]()
        by_series: list[int | None] = []
        for target in targets:
            if isinstance(target, UnknownSeries):
                by_series.append(None)
                continue
            if target.key not in numbers:
                numbers[target.key] = len(numbers)
                self.targets.append(target)
            by_series.append(numbers[target.key])
        self.staged.set_targets(by_series)
        if len(self.targets) <= MAX_DESCRIBED_SERIES:
            self.report.series = [
                SeriesReport(target, SeriesSummary(target.field.decimals, self.zone)) for target in self.targets
            ]
        for line, series in self.staged.refused_lines():
            self.refuse(line, str(targets[series]))

    def resolve_nights(self) -> None:
        """Stage the readings of repeated local times, as far as the order of the lines decides their instants."""
        for night in self.staged.nights():
            self.shared.check()
            lines = list(islice(night, MAX_DAY_LINES + 1))
            repeated = [line for line in lines if line.second is not None]
            if len(lines) > MAX_DAY_LINES:
                for line in chain(lines, night):
                    self._refuse_undecided(line, f"the day has more than {MAX_DAY_LINES:,} lines of its series")
            elif repeated:
                self._resolve_night(lines, repeated)

    def _resolve_night(self, lines: list[NightLine], repeated: list[NightLine]) -> None:
        shift = (repeated[0].second or 0) - repeated[0].first
        day = [DayLine(line.local, line.second is not None, (line.value, line.quality)) for line in lines]
        occurrences = resolve_repeated(day, shift)
        for number, line in enumerate(repeated):
            if occurrences is None or line.second is None:
                self._refuse_undecided(line, "the order of the lines of the day does not decide which one is meant")
            else:
                at = line.second if occurrences[number] else line.first
                self.staged.add(line.series, at, line.line, line.value, line.quality)

    def _refuse_undecided(self, line: NightLine, reason: str) -> None:
        if line.second is None:
            return
        zone = self.local_times.zone
        first, second = (from_ms(at).astimezone(zone) for at in (line.first, line.second))
        self.refuse(
            line.line,
            f"{first.replace(tzinfo=None).isoformat()} occurs twice in {zone}: it may be {first.isoformat()} or "
            f"{second.isoformat()}, and {reason}. Give the time with its offset in a column `at`",
        )

    def check_grid(self) -> None:
        """Find the intervals of fields that learn them. Raise BadInput if a series does not fit those of its field.

        Single lines that do not fit are refused later. Many mean that the file has other intervals. If only those that
        fit were recorded, or a value of a longer interval as that of a shorter one, totals would look complete.
        """
        spacings = [Spacing() for _ in self.targets]
        for number, at in self.staged.instants(bulk_recorder.BATCH_SIZE):
            self.shared.check()
            spacings[number].add(at)
        steps = [spacing.finish() for spacing in spacings]
        self._learn_grids(steps)
        for target, found in zip(self.targets, steps, strict=True):
            self._check_steps(target, found)
        if self.combine:
            self.combined = {
                number: IntervalParts(target, {step: steps[number][step] for step, _ in intervals_of(steps[number])})
                for number, target in enumerate(self.targets)
            }
            return
        grids = [(one.field.start_ms, one.field.grid_ms) if one.field.grid_ms else None for one in self.targets]
        for target, (count, off) in zip(self.targets, self.staged.off_grid(grids), strict=True):
            if off >= MIN_OFF_GRID and off * MIN_OFF_GRID_SHARE >= count:
                interval = target.field.interval_ms or 0
                phase = target.field.start_ms % interval
                begin = f"{format_length(phase)} after each of them" if phase else "from the full hour"
                raise BadInput(
                    f"Nothing is recorded: {off:,} of {count:,} readings of {target.classifier} do not begin at the "
                    f"intervals of {target.field.name}, which have {interval // MINUTE_MS} minutes {begin} of UTC. If "
                    "the readings are finer, use --combine, which adds them. If times are ends of intervals, use "
                    "--times end."
                )

    def _learn_grids(self, steps: Sequence[Mapping[int, Step]]) -> None:
        """Set the interval of each field that learns it from the file. The recording learns it in the same way.

        With --combine, the field keeps half hours, which begin at the half hours of the time zone.
        """
        for number, target in enumerate(self.targets):
            grid = learned_grid(steps[number])
            if self.combine and steps[number] and min(steps[number]) < HALF_HOUR_MS:
                first = min(step.first_ms for step in steps[number].values())
                offset = from_ms(first).astimezone(self.zone).utcoffset() or timedelta(0)
                grid = SamplingGrid(HALF_HOUR_MS, -(offset // ONE_MILLISECOND) % HALF_HOUR_MS)
            if target.field.is_learning and grid:
                start = target.field.start_ms - (target.field.start_ms - grid.phase_ms) % grid.interval_ms
                learned = dataclass_replace(
                    target.field, interval_ms=grid.interval_ms, start_ms=start, is_learning=False
                )
                self.targets[number] = dataclass_replace(target, field=learned)
        for series, target in zip(self.report.series, self.targets, strict=False):
            series.target = target

    def _check_steps(self, target: ImportTarget, steps: Mapping[int, Step]) -> None:
        """Raise BadInput if the file has several intervals, or longer ones than the field."""
        interval = target.field.interval_ms
        if interval is None:
            return
        known = intervals_of(steps)
        if len(known) > 1 and not self.combine:
            raise BadInput(
                f"Nothing is recorded: the file has {describe_intervals(known)} for {target.classifier}, and a field "
                "has one interval. Use --combine to add the finer ones to half hours, or import each part in a file of "
                "its own, for a resource of its own."
            )
        longer = [(step, first) for step, first in known if step > interval]
        if longer:
            step, first = longer[0]
            raise BadInput(
                f"Nothing is recorded: the readings of {target.classifier} are {format_length(step)} apart from "
                f"{format_iso_ms(first)}, and the intervals of {target.field.name} have {format_length(interval)}. A "
                f"value of {format_length(step)} is not that of {format_length(interval)}. Use --resource with a "
                "resource whose type has this interval."
            )

    async def record(self, size: int, checkpoint: Checkpoint | None = None) -> None:
        """Record the staged readings, or only check them in a dry run. `size` is that of the file in bytes.

        A checkpoint is saved after each batch. Readings before the checkpoint of an earlier run are not recorded again.
        """
        charge = self.shared.charge
        bulk = BulkRecorder(
            self._record_batch, self._refuse_recorded, charge=charge, max_reasons=self.shared.max_reasons
        )
        done, resumed = 0, checkpoint.recorded() if checkpoint and not self.dry_run else 0
        self.report.resumed = resumed
        parts = self.staged.readings(bulk_recorder.BATCH_SIZE)
        while (part := await self.shared.run_work(lambda: next(parts, None))) is not None:
            lines, batch = await self.shared.run_work(partial(self._prepare_batch, part, is_stored=done < resumed))
            if len(lines):
                await bulk.add_arrays(lines, batch)
                if checkpoint and not self.dry_run:
                    checkpoint.save(done)  # the batch before is recorded now
            done += len(part.line)
            self.progress(size // 2 + size * done // (2 * self.staged.count))
        for number, kept in self.combined.items():
            if len((rest := kept.finish(number, self.refuse)).line):
                await bulk.add_arrays(rest.line, self._build_batch(rest))
        result = await bulk.finish()
        self.report.recorded = result.recorded
        self.report.refused += result.refused - self.listed_refusals
        if checkpoint and not self.dry_run:
            checkpoint.finish()
        self.progress(size)

    def _refuse_recorded(self, line: int, reason: str) -> None:
        """Refuse a line whose reading the recording has refused."""
        self.listed_refusals += 1
        self.refuse(line, reason)

    def _prepare_batch(self, readings: StagedColumns, *, is_stored: bool) -> tuple[IntArray, BulkReadingBatch]:
        """Return the lines and the batch of staged readings. The batch is empty if they are stored already."""
        storable = self._find_storable(readings)
        first, self.last_reading = self._select_first(readings.take(storable), self.last_reading)
        for number in self.combined:
            first = self.combined[number].add(number, first, self.refuse)
        recorded = first if storable.all() else first.followed_by(readings.take(~storable))
        if is_stored:
            recorded = recorded.take(np.zeros(len(recorded.line), np.bool_))
        return recorded.line, self._build_batch(recorded)

    def _find_storable(self, readings: StagedColumns) -> BoolArray:
        """Return a mask of the readings that may stand for their instant, or repeat or contradict another one.

        The others have values that cannot be stored, so the recording refuses each with its reason. A reading that is
        alone at its instant is not checked here. The first and last may continue in the batches beside this one.
        """
        starts = is_group_start(readings.target, readings.at)
        is_alone = starts & np.append(starts[1:], False)
        is_alone[0] = False
        storable = np.ones(len(starts), dtype=np.bool_)
        for position in np.flatnonzero(~is_alone):
            storable[position] = self.targets[readings.target[position]].can_store(float(readings.value[position]))
        return storable

    def _select_first(
        self, readings: StagedColumns, before: StagedColumns | None
    ) -> tuple[StagedColumns, StagedColumns | None]:
        """Return the first reading of each series and instant, and the last of these.

        `before` is the last one of the readings before. Count exact repeats, and refuse contradictions.
        """
        if not len(readings.line):
            return readings, before
        if before is not None:
            readings = before.followed_by(readings)
        starts = is_group_start(readings.target, readings.at)
        first = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))
        equal = (readings.value == readings.value[first]) & (readings.quality == readings.quality[first])
        self.report.repeated += int(np.count_nonzero(equal & ~starts))
        for position in np.flatnonzero(~equal):
            self._refuse_contradiction(readings, int(position), int(first[position]))
        last = readings.take(first[-1:])
        if before is not None:
            starts[0] = False
        return readings.take(starts), last

    def _refuse_contradiction(self, readings: StagedColumns, position: int, first: int) -> None:
        value = repr(float(readings.value[first])).removesuffix(".0")
        quality = QUALITIES[int(readings.quality[first])].name
        self.report.contradicting += 1
        self.refuse(
            int(readings.line[position]),
            f"{CONFLICTING_DUPLICATE}: line {readings.line[first]} has {value} ({quality}) at "
            f"{format_iso_ms(int(readings.at[first]))}",
        )

    def _build_batch(self, readings: StagedColumns) -> BulkReadingBatch:
        """Return readings with the keys of their series, in the units of their fields."""
        numbers, series_index = np.unique(readings.target, return_inverse=True)
        value, targets = readings.value, [self.targets[number] for number in numbers]
        for number, target in enumerate(targets):
            if target.convert is not None:
                chosen = series_index == number
                value[chosen] = [target.to_field_unit(one) for one in value[chosen].tolist()]
        keys = [target.key for target in targets]
        columns = (series_index.reshape(-1), readings.at, value, readings.quality)
        return BulkReadingBatch(keys, *columns, keeps_divided=True)  # check_grid has compared the whole series

    async def _record_batch(self, operation: Operation, arguments: Mapping[str, Any]) -> RecordedArrays:
        checked: CheckedArrays = await self.run(check_reading_arrays, arguments)
        self.report.added += checked.added
        self.report.replaced += checked.replaced
        self.report.unchanged += checked.unchanged
        await self.shared.charge.add_work(0, 0, len(checked.rejected))
        await self.shared.run_work(partial(self._describe_series, arguments["batch"], checked))
        if self.dry_run or not checked.added + checked.replaced:  # a batch that is stored already is not written again
            return RecordedArrays(checked.count, checked.refused, len(checked.rejected) - len(checked.refused))
        recorded: RecordedArrays = await self.run(operation, arguments)
        return recorded

    def _describe_series(self, batch: BulkReadingBatch, checked: CheckedArrays) -> None:
        accepted = np.ones(len(batch.at), dtype=bool)
        accepted[checked.rejected] = False
        for series in self.report.series:
            if series.target.key in batch.series:
                chosen = accepted & (batch.series_index == batch.series.index(series.target.key))
                series.summary.add(batch.at[chosen], batch.value[chosen])
