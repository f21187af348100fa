"""Operations on files of readings: inspect a file, preview what its import would store, and import it.

GraphQL and JSON carry a small file in the argument `content`, in Base64. REST also takes a file as the body of the
request: see `rest_compat.file_intake`.
"""

import binascii
import io
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, NotRequired, TypedDict, Unpack

from wattgate.db import models
from wattgate.db.queries import virtual_entities as queries
from wattgate.db.queries.displays import DEFAULT_ZONE
from wattgate.errors import BadInput, Conflict, NotFound, Problem, Unavailable
from wattgate.operations.core.operation import (
    MEASURED_DATA,
    Call,
    Delegation,
    OperationKind,
    RestRoute,
    operation,
)
from wattgate.operations.readings.files.uploaded_files import (
    USER_FILES,
    FileHome,
    FileOptions,
    FileWork,
    UploadedFile,
    import_file,
    inspect_file,
)
from wattgate.operations.types.meters import reading_files as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import MUTATION_WEIGHT, STATEMENT_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.requests.client import current_client
from wattgate.requests.fair_share import NO_OWNER, FairShare, NoFreeSlot, owner_of_caller, user_of_caller
from wattgate.requests.request_context import CURRENT_PRINCIPAL
from wattgate.values.annotations import Described, MaxCharacters, MaxItems

MAX_CONTENT_CHARACTERS = 2_800_000
"""Maximum characters of a file in Base64: 2 MB. A body has 4 MiB."""

INSPECTION_WEIGHT = 1_000
"""Cost of a call that reads a file, before its processor time is measured."""

HomeId = Annotated[
    Id, Described("ID of the home whose resources the file fills. Its meter points and time zone apply.")
]
FileResourceIds = Annotated[
    list[Id],
    MaxItems(20),
    Described("IDs of the resources that the file may fill. Default: all of the home. Required without a home."),
]
Content = Annotated[
    str,
    MaxCharacters(MAX_CONTENT_CHARACTERS),
    Described(
        "The file in Base64: text, gzip, or a ZIP archive with one file. Send a larger one as the body of a REST "
        "request, or import it with `wattgate readings import`."
    ),
]
Options = Annotated[types.ReadingFileOptions, Described("How to read the file, as far as it does not say it.")]


class FileArguments(TypedDict):
    """The arguments of each operation on a file."""

    content: Content
    home_id: NotRequired[HomeId | None]
    resource_ids: NotRequired[FileResourceIds | None]
    options: NotRequired[Options | None]


@operation(OperationKind.QUERY, returns=FileHome, needs=Permission.READINGS_WRITE, internal=True)
async def home_of_file(call: Call, *, home_id: Id | None, resource_ids: list[Id] | None) -> FileHome:
    """Return the resources that a file may fill, by home, or by resource."""
    if home_id is None:
        if not resource_ids:
            problems = [Problem(("homeId",), "is missing"), Problem(("resourceIds",), "is missing")]
            raise BadInput("Name the home of the file, or the resources that it fills.", problems=problems)
        found = await call.rows.get_many(models.Resource, resource_ids)
        return FileHome("the named resources", None, _selected(list(found.values()), resource_ids))
    home = await call.rows.get(models.VirtualEntity, home_id)
    if not home.active:
        raise Conflict(f"Home {home_id} is closed. Open it again before you import its readings.")
    (resources,) = await queries.resources(call.rows, [home])
    description = f"home {home.name!r}" if not resource_ids else f"the selected part of home {home.name!r}"
    if not resources:
        raise BadInput("The home has no active resources. Add one before you import its readings.")
    zone = home.time_zone or DEFAULT_ZONE
    return FileHome(description, zone, _selected(resources, resource_ids) if resource_ids else resources)


def _selected(resources: list[models.Resource], resource_ids: list[Id]) -> list[models.Resource]:
    """Return the resources with these IDs. Raise NotFound for an ID of another one."""
    by_id = {resource.resource_id: resource for resource in resources}
    for resource_id in resource_ids:
        if resource_id not in by_id:
            raise NotFound(f"There is no resource {resource_id} that the file may fill.")
    return [by_id[resource_id] for resource_id in dict.fromkeys(resource_ids)]


@operation(
    OperationKind.QUERY,
    returns=types.ReadingFileInspection,
    needs=Permission.READINGS_WRITE,
    rest=RestRoute("POST", "/reading-files/inspect", Tag.RESOURCES_AND_READINGS),
    raises=(NotFound, Conflict),
    delegates=True,
    weight=INSPECTION_WEIGHT + STATEMENT_WEIGHT,
)
async def inspect_reading_file(run: Delegation, **file: Unpack[FileArguments]) -> types.ReadingFileInspection:
    """Return what a file of readings looks like, and the questions that it leaves open. Nothing is stored.

    The cost also has the processor time of the work.
    """
    async with _opened(run, file) as upload:
        return await inspect_file(upload)


@operation(
    OperationKind.QUERY,
    returns=types.ReadingFileReport,
    needs=Permission.READINGS_WRITE,
    rest=RestRoute("POST", "/reading-files/preview", Tag.RESOURCES_AND_READINGS),
    raises=(NotFound, Conflict),
    delegates=True,
    weight=INSPECTION_WEIGHT + STATEMENT_WEIGHT,
)
async def preview_reading_file(run: Delegation, **file: Unpack[FileArguments]) -> types.ReadingFileReport:
    """Return what the import of a file of readings would store. Nothing is stored.

    The cost also has the processor time of the work, and that of the check of the readings.
    """
    async with _opened(run, file) as upload:
        return await import_file(upload, run.charged, dry_run=True)


@operation(
    OperationKind.MUTATION,
    returns=types.ReadingFileReport,
    needs=Permission.READINGS_WRITE,
    audit=MEASURED_DATA,
    rest=RestRoute("POST", "/reading-files/import", Tag.RESOURCES_AND_READINGS),
    raises=(NotFound, Conflict),
    delegates=True,
    weight=INSPECTION_WEIGHT + MUTATION_WEIGHT,
)
async def import_reading_file(run: Delegation, **file: Unpack[FileArguments]) -> types.ReadingFileReport:
    """Record the readings of a file. A line that cannot be recorded is refused by its number; the others are recorded.

    Readings are stored in batches. If a call is interrupted, send the same file again, to any gateway: readings that
    are stored are counted as unchanged. The cost also has the processor time of the work, and that of each batch.
    """
    async with _opened(run, file) as upload:
        return await import_file(upload, run.charged, dry_run=False)


CONTENT_SLOTS = FairShare(8, share=4, max_waiting=64, max_wait_seconds=10)
"""The files in calls that exist at a time. Each may be much larger when it is unpacked. An application has half."""


@asynccontextmanager
async def _opened(run: Delegation, given: FileArguments) -> AsyncIterator[UploadedFile]:
    """Open the file of a call until the context exits. Raise BadInput if it is not Base64."""
    try:
        file = io.BytesIO(b64decode(given["content"], validate=True))
    except (binascii.Error, ValueError):
        raise BadInput("The file is not Base64.", problems=[Problem(("content",), "is not Base64")]) from None
    home = await run(home_of_file, {name: given.get(name) for name in ("home_id", "resource_ids")})
    options = FileOptions.from_input(given.get("options") or types.ReadingFileOptions())
    caller = CURRENT_PRINCIPAL.get()
    owner, user = (NO_OWNER, "") if caller is None else (owner_of_caller(caller), user_of_caller(caller))
    try:
        async with USER_FILES.slot(user), CONTENT_SLOTS.slot(owner, user=user):
            upload = UploadedFile(file, home, options, FileWork(run.pay, current_client().has_gone))
            try:
                yield upload
            finally:
                upload.close()
    except NoFreeSlot:
        raise Unavailable("Too many files of readings are being read. Try again.", retry_after=5) from None
