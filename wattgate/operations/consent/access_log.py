"""The access log: the list for households, and the work of its worker."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Annotated

from sqlmodel import col

from wattgate.access_log import ReadCounter, ReadData, Reader
from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.errors import NotFound
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.core.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, list_after
from wattgate.operations.types import consent as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import ListSize, linear_in_argument
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

StoredRead = tuple[Reader, ReadData, ReadCounter]


@operation(
    OperationKind.QUERY,
    returns=list[types.AccessRecord],
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/accesslog", Tag.CONSENTS),
    raises=(NotFound,),
    sizes=[ListSize(linear_in_argument("first", DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE))],
    in_graphql=("viewer", "accessLog"),
)
async def access_log(
    call: Call,
    *,
    first: terms.FirstEntries = DEFAULT_PAGE_SIZE,
    after: Annotated[Id, Described("ID of the last entry that you have. Default: the list starts at the beginning.")]
    | None = None,
) -> list[models.AccessRecord]:
    """List who read the data of the households that the caller may see, oldest first.

    `after` is the ID of the last entry that you have. `first` is the maximum number of entries, up to 100. New reads
    appear after some seconds.
    """
    return await list_after(call, models.AccessRecord, first, after)


# Operations for the workers


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def store_accesses(call: Call, *, reads: Sequence[StoredRead]) -> int:
    """Add reads to the access log of the application. Return the number of entries."""
    records = [_build_record(*read) for read in reads]
    known = await call.rows.get_many(models.User, {record.user_id for record in records})
    # a user may be deleted or erased since the read
    present = {user_id for user_id, user in known.items() if user.erased_at is None}
    stored = [record for record in records if record.user_id in present]
    if stored:
        await call.rows.add_counts(stored, count="count", latest="last_at")
    return len(stored)


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_old_accesses(call: Call, *, before: datetime) -> list[str]:
    """Return the applications whose access log has entries from before an instant."""
    return await call.rows.application_ids_with(models.AccessRecord, col(models.AccessRecord.hour) < before)


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_accesses(call: Call, *, before: datetime) -> int:
    """Delete the entries of the application's access log from before an instant. Return their number."""
    return await call.rows.delete(models.AccessRecord, col(models.AccessRecord.hour) < before)


def _build_record(reader: Reader, data: ReadData, counter: ReadCounter) -> models.AccessRecord:
    parts = (*reader[:-1], format_iso(reader.hour), *data)
    digest = sha256("\x1f".join(part or "" for part in parts).encode()).hexdigest()
    return models.AccessRecord(
        access_id=digest[:32],
        user_id=data.user_id,
        resource_id=data.resource_id,
        operation=reader.operation,
        purpose=reader.purpose,
        role=reader.role,
        reader=reader.reader,
        reader_user_id=reader.user_id,
        own=reader.is_account and reader.user_id == data.user_id,
        count=counter.count,
        hour=reader.hour,
        last_at=counter.last_at,
        created_at=counter.first_at,
    )
