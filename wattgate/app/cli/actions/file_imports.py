"""Import files of tariffs and of the meter network, with a progress bar and the lines that are rejected."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NoReturn, Protocol, TypeVar

import msgspec
import typer
from msgspec import Meta
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TimeRemainingColumn
from sqlmodel import SQLModel

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import system_of, with_current_gateway
from wattgate.app.cli.imports.tariffs import import_tariffs
from wattgate.app.cli.input_files import open_input
from wattgate.app.settings import Settings
from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkReading, NetworkRegister
from wattgate.energy.meters import meter_points
from wattgate.enums import ReadingQuality
from wattgate.errors import BadInput
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices.devices import store_registry_records
from wattgate.operations.readings.bulk_recorder import BulkReport, ReportRefusal, decode_line
from wattgate.principal import Principal, Role
from wattgate.private_files import write_private
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.line_reader import bytes_read, read_numbered_lines
from wattgate.values.decimals import is_bounded

R = TypeVar("R", bound=BulkReport, covariant=True)

MAX_SHOWN_REFUSALS = 20
"""Maximum number of refused lines that are printed; `--refused FILE` writes all of them."""


class FileImporter(Protocol[R]):
    """Import a file into the gateway.

    The importer calls `refuse` with the number of each refused line and the reason, and `progress` with the number of
    bytes read so far.
    """

    def __call__(
        self, file: BinaryIO, /, *, runner: Runner, refuse: ReportRefusal, progress: Callable[[int], None]
    ) -> Awaitable[R]: ...


def describe_report(report: BulkReport, *, outcome: str) -> str:
    """Return the counts of a report as one line."""
    return f"{report.recorded:,} {outcome} from {report.lines:,} lines, {report.refused:,} refused"


def check_refused_file(file: Path, refused: Path | None) -> None:
    """Raise BadInput if the file of refused lines is the file to import, which would be emptied."""
    if refused is not None and refused.exists() and refused.samefile(file):
        raise BadInput(f"The file {refused} is the file to import. Give --refused the name of another file.")


def run_import(
    file: Path,
    refused: Path | None,
    importer: FileImporter[R],
    describe: Callable[[R], str],
    *,
    option: str = "--refused",
) -> NoReturn:
    """Import a file and print the counts of its report. Exit with 1 if a line was refused, else with 0.

    `option` is the option of the command that writes all refused lines to a file.
    """
    check_refused_file(file, refused)
    report = run_async(_import_with_progress(file, refused, importer, option))
    if not report.lines:
        raise BadInput(f"The file {file} has no lines, so nothing was imported. Give a file with content.")
    out.print(describe(report), soft_wrap=True)
    raise typer.Exit(1 if report.refused else 0)


async def _import_with_progress(file: Path, refused: Path | None, importer: FileImporter[R], option: str) -> R:
    """Import a file with a progress bar. Print the first refused lines, and write all of them to the file `refused`."""
    size = await asyncio.to_thread(file.stat)
    columns = (BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeRemainingColumn())
    with (
        open_input(file) as source,
        write_private(refused) if refused else nullcontext() as refused_file,
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
                    f"More refused lines are not shown. Use {option} FILE to write all of them to a file."
                )

        def progress(bytes_read: int) -> None:
            bar.update(task, completed=bytes_read)

        return await with_current_gateway(
            Settings(), lambda gateway: importer(source, runner=gateway.runner, refuse=refuse, progress=progress)
        )


def network_import(*, file: Path, refused: Path | None) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size."""
    run_import(file, refused, import_network, partial(describe_report, outcome="records stored"))


def tariff_import(
    *, file: Path, application: str, resource: str | None, currency: str | None, refused: Path | None
) -> None:
    """Set tariffs, and prices of dynamic tariffs, from a JSON Lines file of any size."""

    async def importer(source: BinaryIO, /, *, runner: Runner, **options: Any) -> BulkReport:
        principal = await system_of(runner, application)
        return await import_tariffs(
            source, runner=runner, principal=principal, resource_id=resource, currency=currency, **options
        )

    run_import(file, refused, importer, partial(describe_report, outcome="tariffs and prices set"))


# Import a JSON Lines file into the registry of the meter network, one object for each line, in batches.
#
# `kind` is the type of a line: `meterPoint` (mpxn, postcode, smetsVersion, eligible), `device` (eui, mpxn,
# deviceType, manufacturer, model, firmwareVersion, status, commissionedAt), `reading` (mpxn, classifier, at, value,
# quality) or `register` (mpxn, classifier, at, value, unit). Instants are ISO 8601 with an offset. A line replaces
# the stored record with the same key.

BATCH_RECORDS = 5_000
"""Maximum number of records in a transaction."""

AwareDatetime = Annotated[datetime, Meta(tz=True)]
MAX_VALUE = Decimal(10) ** 12
"""The absolute value of a reading must be smaller. Values are stored in millionths of a unit in 64 bits."""


class _RegistryLine(msgspec.Struct, tag_field="kind", rename="camel", forbid_unknown_fields=True):
    mpxn: str


class MeterPointLine(_RegistryLine, tag="meterPoint"):
    postcode: str = ""
    smets_version: Literal["", "1", "2"] = ""
    eligible: bool = True


class DeviceLine(_RegistryLine, tag="device"):
    eui: str
    device_type: Literal["CHF", "ESME", "GSME", "GPF", "IHD", "PPMID", "CAD"]
    manufacturer: str = ""
    model: str = ""
    firmware_version: str = ""
    status: str = "Commissioned"
    commissioned_at: AwareDatetime | None = None


class ReadingLine(_RegistryLine, tag="reading"):
    classifier: str
    at: AwareDatetime
    value: Decimal
    quality: Literal["ACTUAL", "ESTIMATED", "SUBSTITUTED", "QUESTIONABLE"] = "ACTUAL"


class RegisterLine(_RegistryLine, tag="register"):
    classifier: str
    at: AwareDatetime
    value: Decimal
    unit: str


_LINE_DECODER = msgspec.json.Decoder(MeterPointLine | DeviceLine | ReadingLine | RegisterLine)


async def import_network(
    file: BinaryIO, *, runner: Runner, refuse: ReportRefusal, progress: Callable[[int], None]
) -> BulkReport:
    """Store the record of each valid line in the registry. Call `refuse` with the number and reason of each other line.

    Call `progress` with the number of bytes read so far.
    """
    report, batch = BulkReport(), list[SQLModel]()

    async def store() -> None:
        if batch:
            arguments = {"records": batch}
            report.recorded += await runner.run(store_registry_records, Principal(Role.SYSTEM), arguments)
            batch.clear()
        progress(bytes_read(file))

    for number, text in read_numbered_lines(file):
        report.lines += 1
        try:
            batch.append(parse_record(text))
        except InvalidLine as error:
            report.refused += 1
            refuse(number, str(error))
        if len(batch) >= BATCH_RECORDS:
            await store()
    await store()
    return report


def parse_record(text: str) -> SQLModel:
    """Return the registry record of a line. Raise InvalidLine if the line is not a valid record."""
    line = decode_line(_LINE_DECODER, text)
    fields = msgspec.structs.asdict(line)
    fields["mpxn"] = meter_points.parse_meter_point_number(line.mpxn)
    if fields["mpxn"] is None:
        raise InvalidLine(f"{line.mpxn!r} is not a meter point number. Use 1 to 13 digits")
    if isinstance(line, MeterPointLine):
        return NetworkMeterPoint(**fields | {"postcode": meter_points.normalize_postcode(line.postcode) or ""})
    if isinstance(line, DeviceLine):
        eui = meter_points.parse_eui(line.eui)
        if eui is None:
            raise InvalidLine(f"{line.eui!r} is not an EUI-64 of 16 hexadecimal digits")
        return NetworkDevice(**fields | {"eui": eui})
    if not line.value.is_finite() or not is_bounded(line.value) or abs(line.value) >= MAX_VALUE:
        raise InvalidLine(f"{line.value} is not a number between -10^12 and 10^12")
    if isinstance(line, ReadingLine):
        return NetworkReading(**fields | {"quality": ReadingQuality[line.quality]})
    return NetworkRegister(**fields)
