"""Take a file of readings as the body of a request, and inspect, preview or import it.

The body is written to a temporary file while it arrives. Its size and its time are bounded, each part is charged, and
few files exist at a time, of which each application and each user has a share. A file is read when it is complete: a
slow upload holds no place of those that are read. A client that accepts NDJSON gets the progress of the work, line by
line, before the result. There is no `multipart/form-data`: a page of any origin can send it without a preflight
request.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Annotated, Any, BinaryIO, Literal, NotRequired, Protocol, TypedDict, get_type_hints

from msgspec import Meta
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, GatewayError, TimedOut, TooLarge, Unavailable
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS
from wattgate.operations.readings.bulk_recorder import RunOperation, WorkCharge
from wattgate.operations.readings.files.reading_files import HomeId, home_of_file
from wattgate.operations.readings.files.uploaded_files import (
    MAX_FILE_BYTES,
    USER_FILES,
    FileOptions,
    FileWork,
    UploadedFile,
    import_file,
    inspect_file,
)
from wattgate.operations.types.meters.reading_files import ReadingFileOptions
from wattgate.requests.client import current_client
from wattgate.requests.fair_share import NO_OWNER, FairShare, NoFreeSlot, owner_of_caller, user_of_caller
from wattgate.requests.request_context import CURRENT_PRINCIPAL
from wattgate.rest_compat.call_charge import UploadCharge
from wattgate.values.annotations import facts_of
from wattgate.values.stored_json import encode_json

FILE_TYPES = (
    "application/gzip",
    "application/octet-stream",
    "application/xml",
    "application/zip",
    "text/csv",
)
"""The media types of a file as a body. A page of another origin needs a preflight request for each of them."""

ARRIVING_FILES = FairShare(32, share=16, max_waiting=64, max_wait_seconds=10)
"""The uploaded files that exist at a time, also while they arrive: at most 2 GiB. One application has half of them."""

FILE_SLOTS = FairShare(16, share=8, max_waiting=64, max_wait_seconds=10)
"""The complete files that are unpacked and read at a time. One application has half of them."""

GRACE_SECONDS, MIN_BYTES_PER_SECOND = 30.0, 10_000
"""A body arrives with this mean rate, except for these seconds. A slow mobile network has twice the rate."""

_LISTS = {"resourceIds": "resourceId", "columns": "column"}
"""Parameters with several values, by the arguments that they become. Values are separated by a vertical bar."""

Progress = Callable[[float], None]
"""Takes the share of the work that is done, from 0 to 1."""

END_OF_PROGRESS = b""

UNBUFFERED: Mapping[str, str] = MappingProxyType({"X-Accel-Buffering": "no"})
"""The header with which nginx passes each line at once."""

REPEAT_SECONDS = 15.0
"""Time without a line after which the last one is repeated. Proxies close a response without bytes after 60 s."""


class TakeFile(Protocol):
    """Does with an uploaded file what a path is for, and returns the result of its operation."""

    async def __call__(self, upload: UploadedFile, run: RunOperation, charge: UploadCharge, progress: Progress) -> Any:
        """Return the result."""
        ...


async def inspect(upload: UploadedFile, run: RunOperation, charge: UploadCharge, progress: Progress) -> Any:
    """Return what a file looks like."""
    return await inspect_file(upload)


async def preview(upload: UploadedFile, run: RunOperation, charge: UploadCharge, progress: Progress) -> Any:
    """Return what an import would store."""
    return await import_file(upload, run, dry_run=True, charge=charge, progress=progress)


async def record(upload: UploadedFile, run: RunOperation, charge: UploadCharge, progress: Progress) -> Any:
    """Import a file."""
    return await import_file(upload, run, dry_run=False, charge=charge, progress=progress)


def check_announced(length: int | None) -> None:
    """Raise TooLarge if a request announces a larger file than the gateway takes. Nothing of it is read."""
    if length is not None and length > MAX_FILE_BYTES:
        raise _too_large()


def _too_large() -> TooLarge:
    return TooLarge(
        f"An uploaded file has at most {MAX_FILE_BYTES:,} bytes. Compress it with gzip, divide it, or import it with "
        "`wattgate readings import`."
    )


def file_arguments(query: Mapping[str, str], option_names: frozenset[str]) -> RawArguments:
    """Return the arguments of an upload, whose parameters are the options of the file beside the home."""
    known: dict[str, Any] = dict(query)
    for argument, parameter in _LISTS.items():
        if parameter in query:
            known[argument] = query[parameter].split("|")
    for flag in ("combine", "roundValues"):
        if flag in query:
            known[flag] = {"true": True, "false": False}.get(query[flag], query[flag])
    options = {name: value for name, value in known.items() if name in option_names}
    arguments: dict[str, Any] = {name: known[name] for name in ("homeId", "resourceIds") if name in known}
    return RawArguments({**arguments, "content": "", "options": options})


async def take_file(
    take: TakeFile,
    chunks: AsyncIterator[bytes],
    arguments: Mapping[str, Any],
    render: Callable[[Any], Any],
    run: RunOperation,
    charge: UploadCharge,
    progress: Progress = lambda share: None,
) -> dict[str, Any]:
    """Return the rendered result for the file that is the body of a request."""
    caller = CURRENT_PRINCIPAL.get()
    owner, user = (NO_OWNER, "") if caller is None else (owner_of_caller(caller), user_of_caller(caller))
    options = FileOptions.from_input(arguments.get("options") or ReadingFileOptions())
    named = {name: arguments.get(name) for name in ("home_id", "resource_ids")}
    home = await run(home_of_file, named)  # before the body, which may be large

    async def pay(units: int) -> None:
        charge.mark_recorded()  # the file makes progress, so a wait for the budget begins anew
        await charge.add_paced(units)

    try:
        async with USER_FILES.slot(user), ARRIVING_FILES.slot(owner, user=user):
            body: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (`close` of the upload closes it)
            upload = UploadedFile(body, home, options, FileWork(pay, current_client().has_gone))
            try:
                await receive(upload.file, chunks, charge)
                async with FILE_SLOTS.slot(owner, user=user):
                    result = await take(upload, run, charge, progress)
            finally:
                upload.close()
    except NoFreeSlot:
        raise Unavailable("Too many files of readings are being uploaded. Try again.", retry_after=5) from None
    rendered: dict[str, Any] = render(result)
    return rendered


async def report_progress(
    work: Callable[[Progress], Awaitable[Any]], render_error: Callable[[GatewayError], Response]
) -> AsyncIterator[bytes]:
    """Begin work, and return the lines of its response: its progress, and at last its result or its error.

    Each line is a JSON object. One with `progress` has the share that is done, in whole percent, from 0 to 1. The last
    one has `status`, and `result` or `error`. A line is repeated after REPEAT_SECONDS. Raise the error of work that
    fails before it has made progress, so that the response has its status.
    """
    lines = asyncio.Queue[bytes]()
    reported = 0

    def report(share: float) -> None:
        nonlocal reported
        percent = int(share * 100)
        if reported < percent < 100:
            reported = percent
            lines.put_nowait(b'{"progress":%.2f}\n' % (percent / 100))

    task = asyncio.ensure_future(work(report))
    task.add_done_callback(lambda _: lines.put_nowait(END_OF_PROGRESS))
    try:
        first = await lines.get()
        if first == END_OF_PROGRESS:
            await task
    except BaseException:
        task.cancel()
        raise
    return _lines_of(first, lines, task, render_error)


async def _lines_of(
    line: bytes,
    lines: asyncio.Queue[bytes],
    task: asyncio.Future[Any],
    render_error: Callable[[GatewayError], Response],
) -> AsyncIterator[bytes]:
    try:
        while line != END_OF_PROGRESS:
            yield line
            with suppress(TimeoutError):
                line = await asyncio.wait_for(lines.get(), REPEAT_SECONDS)
        try:
            yield b'{"status":200,"result":%b}\n' % encode_json(await task)
        except GatewayError as error:
            response = render_error(error)
            yield b'{"status":%d,"error":%b}\n' % (response.status_code, bytes(response.body))
    finally:
        task.cancel()


async def receive(file: BinaryIO, chunks: AsyncIterator[bytes], charge: WorkCharge) -> None:
    """Write a body to a file. Raise TooLarge as soon as it has too many bytes, and BadInput if it ends early.

    Raise TimedOut if it arrives too slowly. The time in which the caller waits for its budget does not count.
    """
    size, waited, now = 0, 0.0, asyncio.get_running_loop().time
    try:
        while True:
            began = now()
            async with asyncio.timeout(GRACE_SECONDS + size / MIN_BYTES_PER_SECOND - waited):
                chunk = await anext(chunks, None)
            waited += now() - began
            if chunk is None:
                return
            size += len(chunk)
            if size > MAX_FILE_BYTES:
                raise _too_large()
            await charge.add_work(len(chunk), 0, 0)
            file.write(chunk)
    except TimeoutError:
        raise TimedOut(
            f"The upload is too slow: {size:,} bytes arrived in {waited:.0f} s. Send at least {MIN_BYTES_PER_SECOND:,} "
            "bytes a second, or compress the file with gzip. Nothing is stored."
        ) from None
    except ClientDisconnect:
        raise BadInput("The upload ended before the file was complete. Nothing is stored.") from None


def _query_shape() -> Any:
    """Return the TypedDict of the parameters of an upload: the home, and each option with the facts of the input."""
    members: dict[str, Any] = {
        "homeId": NotRequired[
            Annotated[str, Meta(max_length=MAX_ID_CHARACTERS, description=facts_of(HomeId).description)]
        ],
        "resourceId": NotRequired[
            Annotated[str, Meta(description="IDs of the resources that the file may fill, separated by vertical bars.")]
        ],
    }
    for name, hint in get_type_hints(ReadingFileOptions, include_extras=True).items():
        facts, parameter = facts_of(hint), _LISTS.get(to_camel_case(name), to_camel_case(name))
        kind = Literal["true", "false"] if name in ("combine", "round_values") else str
        separated = " Several are separated by vertical bars." if name == "columns" else ""
        members[parameter] = NotRequired[Annotated[kind, Meta(description=f"{facts.description}{separated}")]]
    build: Any = TypedDict  # the input declares the members, so no type checker knows them
    return build("ReadingFileQuery", members)


FILE_QUERY = _query_shape()

FILE_PATHS: Mapping[str, TakeFile] = {
    "/reading-files/inspect": inspect,
    "/reading-files/preview": preview,
    "/reading-files/import": record,
}
"""The functions of the paths that take a file."""
