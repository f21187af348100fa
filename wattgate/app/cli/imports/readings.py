"""Import a CSV file of readings of any size (`csv_columns` lists its columns).

The import has three steps. It parses the file into a temporary database, resolves what one line alone does not say, and
records the readings in batches, in the order of series and instants. The order of the lines of a day resolves repeated
local times (`energy.repeated_hours`). Lines of one instant are compared wherever they are in the file.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from decimal import Decimal
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np

from wattgate.app.cli.imports.reading_targets import (
    ApplicationResources,
    ImportTarget,
    ResourceFinder,
    UnitOptions,
    UnknownSeries,
    find_targets,
)
from wattgate.app.cli.imports.staged_readings import NightLine, StagedColumns, StagedReadings
from wattgate.clock import format_iso_ms, from_ms, to_ms
from wattgate.energy.arrays import BoolArray, FloatArray, IntArray, is_group_start
from wattgate.energy.local_times import LocalTimes, local_ms
from wattgate.energy.repeated_hours import DayLine, resolve_repeated
from wattgate.energy.storage_fields import QUALITIES
from wattgate.operations.core.operation import Operation
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings import bulk_recorder
from wattgate.operations.readings.bulk_recorder import BulkRecorder, BulkReport, ReportRefusal
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, RecordedArrays
from wattgate.operations.readings.reading_imports import CheckedArrays, check_reading_arrays
from wattgate.operations.readings.recording import CONFLICTING_DUPLICATE
from wattgate.principal import Principal
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.csv_columns import CsvColumns, CsvReading
from wattgate.reading_files.line_reader import decode_lines, read_blocks, read_header

MAX_DESCRIBED_SERIES = 20
"""Maximum number of series that a report describes."""

MAX_DAY_LINES = 200_000
"""Maximum lines of a series on a day on which local times repeat: they are resolved in memory."""


@dataclass(slots=True)
class SeriesReport:
    """The recorded readings of a series: their number, first and last instant (ms), and the sum of their values."""

    target: ImportTarget
    count: int = 0
    first: int | None = None
    last: int | None = None
    scaled_sum: int = 0

    @property
    def total(self) -> Decimal:
        return Decimal(self.scaled_sum).scaleb(-self.target.field.decimals)

    def add(self, at: IntArray, value: FloatArray) -> None:
        """Add readings in the order of their instants."""
        if len(at):
            self.count += len(at)
            self.first = int(at[0]) if self.first is None else self.first
            self.last = int(at[-1])
            self.scaled_sum += sum(np.rint(value * 10.0**self.target.field.decimals).astype(np.int64).tolist())


@dataclass(slots=True)
class ImportReport(BulkReport):
    """The result of an import. `repeated` counts exact repeats of earlier lines of the file.

    The recorded readings are new (`added`), replace a stored reading (`replaced`), or are stored already (`unchanged`).
    `series` describes the recorded readings of each series, if these are at most MAX_DESCRIBED_SERIES.
    """

    series: list[SeriesReport] = field(default_factory=list)
    repeated: int = 0
    added: int = 0
    replaced: int = 0
    unchanged: int = 0


async def import_csv(
    file: BinaryIO,
    *,
    runner: Runner,
    principal: Principal,
    resource_id: str | None,
    zone: tzinfo,
    refuse: ReportRefusal,
    progress: Callable[[int], None],
    home: ResourceFinder | None = None,
    units: UnitOptions | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Record the reading of each valid line. Call `refuse` with the number and reason of each other line.

    Call `progress` with a number of bytes: half of the bytes read, and half of the share of the readings recorded. A
    reading replaces the stored one of the same instant. If two valid lines of the file contradict each other, the first
    is recorded and the second is refused. With `home`, the lines name resources of a home. With `dry_run`, the result
    is the same, but nothing is stored.
    """
    number, header = read_header(file)
    columns = CsvColumns.from_header(header, names_resource=resource_id is not None, names_home=home is not None)
    with StagedReadings() as staged:
        task = _ReadingImport(runner, principal, refuse, progress, staged, LocalTimes(zone), dry_run)
        for first, lines in read_blocks(file, first=number + 1):
            task.add_lines(first, columns, lines)
            progress(file.tell() // 2)
        finder = home or ApplicationResources(runner, principal, resource_id)
        task.set_targets(await find_targets(finder, staged.series, units or UnitOptions()))
        task.resolve_nights()
        await task.record(file.tell())
    return task.report


@dataclass(slots=True)
class _ReadingImport:
    """The state of an import."""

    runner: Runner
    principal: Principal
    report_refusal: ReportRefusal
    progress: Callable[[int], None]
    staged: StagedReadings
    local_times: LocalTimes
    dry_run: bool
    report: ImportReport = field(default_factory=ImportReport)
    targets: list[ImportTarget] = field(default_factory=list)

    def refuse(self, line: int, reason: str) -> None:
        self.report.refused += 1
        self.report_refusal(line, reason)

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
            self._stage(number, columns.parse_line(text))
        except InvalidLine as error:
            self.refuse(number, str(error))

    def _stage(self, line: int, reading: CsvReading) -> None:
        series, (_, time, value, quality) = self.staged.number_of(reading.series), reading
        try:
            if time.tzinfo is not None:
                self.staged.add(series, to_ms(time.astimezone(UTC)), line, value, quality)
                return
            instants, night = self.local_times.instants(time), self.local_times.day(time.date()).night
        except OverflowError:
            raise InvalidLine(f"{time.isoformat()} is outside the supported range of times") from None
        if not instants:
            raise InvalidLine(f"{time.isoformat()} does not exist in {self.local_times.zone}: the clocks went forward")
        first, second = instants if len(instants) == 2 else (instants[0], None)
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
            self.report.series = [SeriesReport(target) for target in self.targets]
        for line, series in self.staged.refused_lines():
            self.refuse(line, str(targets[series]))

    def resolve_nights(self) -> None:
        """Stage the readings of repeated local times, as far as the order of the lines decides their instants."""
        for night in self.staged.nights():
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

    async def record(self, size: int) -> None:
        """Record the staged readings, or only check them in a dry run. `size` is that of the file in bytes."""
        bulk, done = BulkRecorder(self._record_batch, self.refuse), 0
        before: StagedColumns | None = None
        for readings in self.staged.readings(bulk_recorder.BATCH_SIZE):
            storable = self._find_storable(readings)
            first, before = self._select_first(readings.take(storable), before)
            recorded = first if storable.all() else first.followed_by(readings.take(~storable))
            if len(recorded.line):
                await bulk.add_arrays(recorded.line, self._build_batch(recorded))
            done += len(readings.line)
            self.progress(size // 2 + size * done // (2 * self.staged.count))
        self.report.recorded = (await bulk.finish()).recorded
        self.progress(size)

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
        return BulkReadingBatch(keys, series_index.reshape(-1), readings.at, value, readings.quality)

    async def _record_batch(self, operation: Operation, arguments: dict[str, Any]) -> RecordedArrays:
        checked = await self.runner.run(check_reading_arrays, self.principal, arguments)
        self.report.added += checked.added
        self.report.replaced += checked.replaced
        self.report.unchanged += checked.unchanged
        self._describe_series(arguments["batch"], checked)
        if self.dry_run:
            return RecordedArrays(checked.added + checked.replaced + checked.unchanged, checked.refused)
        recorded: RecordedArrays = await self.runner.run(operation, self.principal, arguments)
        return recorded

    def _describe_series(self, batch: BulkReadingBatch, checked: CheckedArrays) -> None:
        accepted = np.ones(len(batch.at), dtype=bool)
        accepted[[index for index, _ in checked.refused]] = False
        for series in self.report.series:
            if series.target.key in batch.series:
                chosen = accepted & (batch.series_index == batch.series.index(series.target.key))
                series.add(batch.at[chosen], batch.value[chosen])
