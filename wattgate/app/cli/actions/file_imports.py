"""Import a file with a progress bar, and report the lines that are rejected."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO, NoReturn, Protocol, TypeVar

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TimeRemainingColumn

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.cli.input_files import open_input
from wattgate.app.settings import Settings
from wattgate.errors import BadInput
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.bulk_recorder import BulkReport, ReportRefusal
from wattgate.private_files import write_private

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


def run_import(file: Path, refused: Path | None, importer: FileImporter[R], describe: Callable[[R], str]) -> NoReturn:
    """Import a file and print the counts of its report. Exit with 1 if a line was refused, else with 0.

    Raise BadInput if both files are the same one, which would be emptied.
    """
    if refused is not None and refused.exists() and refused.samefile(file):
        raise BadInput(f"The file {refused} is the file to import. Give --refused the name of another file.")
    report = run_async(_import_with_progress(file, refused, importer))
    out.print(describe(report), soft_wrap=True)
    raise typer.Exit(1 if report.refused else 0)


async def _import_with_progress(file: Path, refused: Path | None, importer: FileImporter[R]) -> R:
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
                    "More refused lines are not shown. Use --refused FILE to write all of them to a file."
                )

        def progress(bytes_read: int) -> None:
            bar.update(task, completed=bytes_read)

        return await with_gateway(
            Settings(), lambda gateway: importer(source, runner=gateway.runner, refuse=refuse, progress=progress)
        )
