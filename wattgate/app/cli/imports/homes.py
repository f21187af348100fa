"""Set up the homes of a table, line by line, with their users, tariffs and devices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, partial
from typing import Any, BinaryIO

from wattgate.app.homes.records import Note
from wattgate.app.homes.request import HomeRequest, parse_options
from wattgate.app.homes.setup import HomeSetup, build_home, ensure_household_records
from wattgate.app.homes.state import HomeState, find_conflicts, load_home_state
from wattgate.app.homes.table import HomeDefaults, HomeLine, parse_line, read_lines
from wattgate.app.homes.table_devices import DeviceState, add_home_device, load_device_state
from wattgate.clock import utc_now
from wattgate.db.rows.rows import Rows
from wattgate.enums import RuleKind, to_camel_case
from wattgate.errors import BadInput, Conflict, Forbidden, GatewayError, NotFound, Problem, QuotaExceeded
from wattgate.graphql.execution.schema import Schema, build_schema
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.bulk_recorder import BulkReport, ReportRefusal
from wattgate.principal import Permission, Principal
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.line_reader import bytes_read

REFUSALS = (BadInput, Conflict, Forbidden, NotFound, QuotaExceeded)
"""The errors that concern one line. Any other error ends the import."""


class HomeResult(StrEnum):
    """The outcome of the import for the home of a line, or of a dry run."""

    CREATED = "created"
    COMPLETED = "completed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    WOULD_CREATE = "would create"
    EXISTS = "exists"


@dataclass(frozen=True, slots=True)
class LineReport:
    """The result of a line of the table. `text` is why it was refused, or a warning."""

    line: int
    result: HomeResult
    user: str = ""
    name: str = ""
    ve_id: str = ""
    text: str = ""


@dataclass(slots=True)
class HomeTableReport(BulkReport):
    """The result of a table: the number of lines with each result. `recorded` is the number of new homes."""

    results: dict[HomeResult, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HomeTable:
    """How to import a table: the application, the values of empty cells, and the link of mails.

    `choose_password` returns the password of a new user by the username. None creates users without a password.
    `report_line` takes the result of each line. A dry run changes nothing.
    """

    system: Principal
    defaults: HomeDefaults
    display_url: str
    choose_password: Callable[[str], str] | None
    report_line: Callable[[LineReport], None]
    dry_run: bool = False


@cache
def _schema() -> Schema:
    return build_schema(OPERATIONS)


@dataclass(slots=True)
class _HomeImport:
    """The state of an import. `homes` and `meter_points` have the line of each home and meter point so far."""

    runner: Runner
    table: HomeTable
    homes: dict[tuple[str, str], int] = field(default_factory=dict)
    meter_points: dict[str, int] = field(default_factory=dict)
    alert_types: dict[RuleKind, str] | None = None

    async def set_up(self, number: int, values: Mapping[str, Any]) -> LineReport:
        """Set up the home of a line. Raise InvalidLine, or one of REFUSALS, if it is refused."""
        line = parse_line(values, self.table.system.application_id or "", self.table.defaults)
        request = parse_options(line.options, _schema, utc_now())
        self._check_repetition(request)
        load = partial(_load_state, request=request, line=line)
        state, device = await self.runner.read(self.table.system, Permission.SYSTEM, load)
        problems = find_conflicts(state, request)
        if device.problem is not None:
            problems.append(Problem((), device.problem))
        if problems:
            raise Conflict("The line contradicts stored records.", problems=problems)
        if self.table.dry_run:
            result = HomeResult.WOULD_CREATE if state.home is None else HomeResult.EXISTS
            ve_id = state.home.ve_id if state.home else ""
        else:
            result, ve_id = await self._build(line, request, state, device)
        self.homes[request.username, request.name] = number
        self.meter_points |= dict.fromkeys(request.meter_points.values(), number)
        return LineReport(number, result, request.username, request.name, ve_id, " ".join(request.warnings))

    def _check_repetition(self, request: HomeRequest) -> None:
        """Raise InvalidLine for a home or a meter point that an earlier line has."""
        if (earlier := self.homes.get((request.username, request.name))) is not None:
            raise InvalidLine(f"repeats the home {request.name!r} of {request.username} of line {earlier}")
        for meter_point in request.meter_points.values():
            if (earlier := self.meter_points.get(meter_point)) is not None:
                raise InvalidLine(f"repeats the meter point {meter_point} of line {earlier}")

    async def _build(
        self, line: HomeLine, request: HomeRequest, state: HomeState, device: DeviceState
    ) -> tuple[HomeResult, str]:
        system, is_new = self.table.system, state.home is None
        setup = HomeSetup(application_id=system.application_id or "")
        password = None
        if state.account is None and self.table.choose_password is not None:
            password = self.table.choose_password(request.username)
        user_id = await build_home(self.runner, request, state, setup, password, self._ensure_household)
        is_changed = await add_home_device(self.runner, replace(system, user_id=user_id), line, device, request)
        if is_new:
            return HomeResult.CREATED, setup.ve_id
        is_changed = is_changed or any(record.created for record in setup.records)
        return HomeResult.COMPLETED if is_changed else HomeResult.UNCHANGED, setup.ve_id

    async def _ensure_household(self, note: Note) -> dict[RuleKind, str]:
        """Add what all homes share with the first home, and not again."""
        if self.alert_types is None:
            system, url = self.table.system, self.table.display_url
            self.alert_types = await ensure_household_records(self.runner, system, url, note)
        return self.alert_types


async def _load_state(rows: Rows, *, request: HomeRequest, line: HomeLine) -> tuple[HomeState, DeviceState]:
    state = await load_home_state(rows, request)
    owner_id = state.account.user_id if state.account else None
    return state, await load_device_state(rows, line, owner_id)


async def import_homes(
    file: BinaryIO, *, table: HomeTable, runner: Runner, refuse: ReportRefusal, progress: Callable[[int], None]
) -> HomeTableReport:
    """Set up the home of each valid line. Call `refuse` with the number and reason of each other line.

    Each record is committed on its own, so the same import after an interruption adds what is missing. Call `progress`
    with the number of bytes read so far.
    """
    report, state = HomeTableReport(), _HomeImport(runner, table)
    for number, values in read_lines(file):
        report.lines += 1
        try:
            if isinstance(values, InvalidLine):
                raise values
            result = await state.set_up(number, values)
        except (InvalidLine, *REFUSALS) as error:
            result = LineReport(number, HomeResult.REFUSED, text=_describe(error))
            report.refused += 1
            refuse(number, result.text)
        report.results[result.result] = report.results.get(result.result, 0) + 1
        report.recorded += result.result is HomeResult.CREATED
        table.report_line(result)
        progress(bytes_read(file))
    return report


def _describe(error: InvalidLine | GatewayError) -> str:
    """Return all problems of a line in one text, each with its column."""
    if isinstance(error, InvalidLine):
        return str(error)
    return "; ".join(map(_describe_problem, error.problems)) or error.message


def _describe_problem(problem: Problem) -> str:
    option = str(problem.path[0]) if problem.path else ""
    if option == "--tariff":
        return f"tariffs: {problem.message.replace('line ', 'tariff ', 1)}"
    column = to_camel_case(option.removeprefix("--").replace("-", "_"))
    return f"{column}: {problem.message}" if column else problem.message
