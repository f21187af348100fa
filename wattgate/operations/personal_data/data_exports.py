"""Exports of all data of a user: request, follow and download one, and the steps that a worker runs."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.consent import peek_consent
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.enums import JobState
from wattgate.errors import Conflict, ConsentRevoked, NotFound
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.types.identity import personal_data as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, UserJobQueued
from wattgate.values.annotations import Described

LEASE = timedelta(minutes=2)
"""Time after a worker's last part after which another worker starts again."""

MIN_INTERVAL = timedelta(hours=1)
"""Time after the request of an export in which the user gets the same one again."""

MAX_ATTEMPTS = 5
"""Maximum workers that try to build an archive, for the case that it stops each of them."""

KEPT_FAILURE = timedelta(days=1)
"""Time for which an export that failed in every attempt is kept, so that the user learns of it."""

_GAVE_UP = f"it was interrupted {MAX_ATTEMPTS} times"

ZIP = "application/zip"
PART_WEIGHT = 50
EXPORT_WEIGHT = 1_000


@dataclass(frozen=True, slots=True)
class ExportPartResult:
    """A part of an archive. `data` is its bytes."""

    export_id: str
    number: int
    parts: int
    data: bytes

    @property
    def content(self) -> str:
        return b64encode(self.data).decode()


@operation(
    OperationKind.MUTATION,
    returns=types.DataExport,
    needs=Permission.DATA_EXPORT,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=RestRoute("POST", "/user/{userId}/export", Tag.USERS, status=201),
    raises=(Conflict,),
    weight=EXPORT_WEIGHT,
)
async def export_my_data(call: Call, *, user_id: ids.UserId | None = None) -> types.DataExport:
    """Start an export of all data of the calling user: one ZIP archive with JSON and CSV files.

    The call returns immediately. `dataExport` shows the progress and the path of the archive. A user has one export: it
    replaces an older one. A second call within an hour returns the same export.
    """
    owner_id = _own_user_id(call, user_id)
    await call.rows.edit(models.User, owner_id)  # locks the row: simultaneous calls wait here
    present = await call.rows.first(models.DataExport, col(models.DataExport.user_id) == owner_id)
    if present is not None:
        is_new = call.rows.now - present.created_at < MIN_INTERVAL
        if present.state in (JobState.QUEUED, JobState.RUNNING) or (present.state is JobState.DONE and is_new):
            return build_export(present)
        await delete_export(call.rows, present.export_id)
    added = await call.rows.add(models.DataExport(user_id=owner_id, created_at=call.rows.now, due_at=call.rows.now))
    call.emit(Event(topics.user_jobs(), owner_id, UserJobQueued(owner_id)))
    return build_export(added)


@operation(
    OperationKind.QUERY,
    returns=types.DataExport,
    needs=Permission.DATA_EXPORT,
    rest=RestRoute("GET", "/user/{userId}/export", Tag.USERS),
)
async def data_export(call: Call, *, user_id: ids.UserId | None = None) -> types.DataExport:
    """Return the export of the calling user: its progress, and when it is complete, the path of the archive."""
    return build_export(await _load_export(call, user_id))


@operation(
    OperationKind.QUERY,
    returns=types.DataExportPart,
    needs=Permission.DATA_EXPORT,
    rest=RestRoute("GET", "/user/{userId}/export.zip", Tag.USERS, media_type=ZIP),
    raises=(ConsentRevoked, Conflict),
    weight=PART_WEIGHT,
)
async def data_export_part(
    call: Call,
    *,
    number: Annotated[int, Described("Number of the part, from 0.")] = 0,
    export_id: ids.ExportId | None = None,
    user_id: ids.UserId | None = None,
) -> ExportPartResult:
    """Return a part of the archive of the calling user. REST returns the whole archive.

    Give the `exportId` of the first part for the others, so that all parts are of the same archive. An application that
    acts for the user needs a valid consent for each meter point. The user needs none: it is the user's own data.
    """
    export = await _load_export(call, user_id)
    if call.principal.acts_for_user:
        await _require_all_consents(call, export.user_id)
    if export_id not in (None, export.export_id):
        raise NotFound(f"No export {export_id}. A newer one may have replaced it, or it has expired.")
    if export.state is not JobState.DONE:
        raise Conflict(f"The export is {export.state.value.lower()}. Download it when `dataExport` has the state DONE.")
    part = await call.rows.first(
        models.DataExportPart,
        col(models.DataExportPart.export_id) == export.export_id,
        col(models.DataExportPart.number) == number,
    )
    if part is None:
        raise NotFound(f"The archive has no part {number}. Its parts are 0 to {export.parts - 1}.")
    return ExportPartResult(export.export_id, number, export.parts, part.content)


async def _require_all_consents(call: Call, user_id: str) -> None:
    """Raise ConsentRevoked if the data of a resource of the user is withheld."""
    resources = await call.rows.all(models.Resource, col(models.Resource.owner_id) == user_id)
    for error in (await peek_consent(call.rows, resources)).errors.values():
        raise error


# Operations for the worker `app/workers/user_jobs.py`. It runs them for each application.


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_exports(call: Call) -> list[str]:
    """Return the applications with exports that wait for a worker, or whose time has ended."""
    return await call.rows.application_ids_with(models.DataExport, col(models.DataExport.due_at) <= call.rows.now)


@operation(OperationKind.MUTATION, returns=models.DataExport, needs=Permission.SYSTEM)
async def claim_export(call: Call) -> models.DataExport | None:
    """Claim the export that waits longest, without parts. Return None if none waits or another worker claims it.

    An export whose time has ended is deleted instead. The caller works only on a record that is RUNNING.
    """
    waiting = col(models.DataExport.due_at) <= call.rows.now
    oldest = await call.rows.first(models.DataExport, waiting, order_by=[col(models.DataExport.due_at)])
    if oldest is None:
        return None
    mine = col(models.DataExport.export_id) == oldest.export_id
    values = {"state": JobState.RUNNING, "attempt": oldest.attempt + 1, "started_at": call.rows.now}
    reset = {"parts": 0, "size": 0, "files_done": 0, "due_at": call.rows.now + LEASE}
    if not await call.rows.update(models.DataExport, mine, waiting, **values, **reset):
        return None
    if oldest.state in (JobState.DONE, JobState.FAILED):
        await delete_export(call.rows, oldest.export_id)
        return oldest
    await call.rows.delete(models.DataExportPart, col(models.DataExportPart.export_id) == oldest.export_id)
    if oldest.attempt >= MAX_ATTEMPTS:
        values = {"state": JobState.FAILED, "reason": _GAVE_UP, "finished_at": call.rows.now}
        await call.rows.update(models.DataExport, mine, **values, due_at=call.rows.now + KEPT_FAILURE)
    return await call.rows.get(models.DataExport, oldest.export_id)


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def add_export_parts(
    call: Call, *, export_id: str, attempt: int, contents: Sequence[bytes], files: int, files_done: int
) -> bool:
    """Add parts to an archive and store its progress. Return False if the export is not the worker's any more."""
    export = await _edit_claimed(call.rows, export_id, attempt)
    if export is None:
        return False
    for content in contents:
        await call.rows.add(
            models.DataExportPart(export_id=export_id, user_id=export.user_id, number=export.parts, content=content)
        )
        export.parts, export.size = export.parts + 1, export.size + len(content)
    export.files, export.files_done = files, files_done
    export.due_at = call.rows.now + LEASE
    return True


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def finish_export(
    call: Call, *, export_id: str, attempt: int, lifetime_hours: int, reason: str | None = None
) -> bool:
    """End an export: it is complete, or has failed for a reason. It is deleted after its lifetime."""
    export = await _edit_claimed(call.rows, export_id, attempt)
    if export is None:
        return False
    export.state, export.reason = JobState.FAILED if reason else JobState.DONE, reason
    export.finished_at, export.due_at = call.rows.now, call.rows.now + timedelta(hours=lifetime_hours)
    if reason:
        await call.rows.delete(models.DataExportPart, col(models.DataExportPart.export_id) == export_id)
    return True


def build_export(export: models.DataExport) -> types.DataExport:
    """Return the state of an export."""
    is_done = export.state is JobState.DONE
    has_ended = is_done or export.state is JobState.FAILED
    return types.DataExport(
        export_id=Id(export.export_id),
        user_id=Id(export.user_id),
        state=export.state,
        progress=1.0 if is_done else round(export.files_done / max(export.files, 1), 3),
        reason=export.reason,
        size=export.size if is_done else None,
        parts=export.parts if is_done else None,
        download_path=f"/user/{export.user_id}/export.zip" if is_done else None,
        created_at=export.created_at,
        finished_at=export.finished_at,
        expires_at=export.due_at if has_ended else None,
    )


def _own_user_id(call: Call, user_id: str | None) -> str:
    """Return the calling user. Raise NotFound if the request names another one."""
    own = require_user_id(call)
    if user_id not in (None, own):
        raise NotFound(f"No user with ID {user_id}.")
    return own


async def _load_export(call: Call, user_id: str | None) -> models.DataExport:
    owner_id = _own_user_id(call, user_id)
    export = await call.rows.first(models.DataExport, col(models.DataExport.user_id) == owner_id)
    if export is None or (export.finished_at and export.due_at and export.due_at <= call.rows.now):
        raise NotFound("You have no export, or it has expired. Start one with exportMyData.")
    return export


async def _edit_claimed(rows: Rows, export_id: str, attempt: int) -> models.DataExport | None:
    try:
        export = await rows.edit(models.DataExport, export_id)
    except NotFound:  # the user was erased
        return None
    return export if export.attempt == attempt and export.state is JobState.RUNNING else None


async def delete_export(rows: Rows, export_id: str) -> None:
    """Delete an export with its archive."""
    await rows.delete(models.DataExportPart, col(models.DataExportPart.export_id) == export_id)
    await rows.delete(models.DataExport, col(models.DataExport.export_id) == export_id)
