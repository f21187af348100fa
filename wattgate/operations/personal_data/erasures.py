"""Erasures of users: the report for administrators and applications, and the batches that a worker runs."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, cast

from sqlalchemy import func, or_
from sqlmodel import col

from wattgate.db import models
from wattgate.db.identity.credential_locks import lock_user
from wattgate.db.identity.login_backoff import forget_username
from wattgate.db.models import Tenanted
from wattgate.db.personal_data.erasure_list import ListedErasure
from wattgate.db.personal_data.rules import OfUser, condition, erase_rows, replace_values
from wattgate.db.personal_data.steps import ADDRESS_STEPS, AUDIT_LOG, BATCH_ROWS, READINGS, run_batch, steps_of
from wattgate.db.personal_data.tables import READING_RULES, USER_RULES
from wattgate.db.rows.lookups import model_columns, not_found
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.mail_addresses import NotMailable, parse_mailbox
from wattgate.enums import DeliveryState, ErasureAction, ErasureStage, JobState, UserStatus
from wattgate.errors import BadInput, Conflict, NotFound, Problem, ReauthenticationRequired
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.home_events import emit_device_changed, emit_home_changed, emit_resources_changed
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.credential_endings import end_home, end_user
from wattgate.operations.credentials.login import require_recent_login
from wattgate.operations.personal_data.data_exports import delete_export
from wattgate.operations.tenancies.tenancies import end_all_tenancies, end_tenancy_without_resources
from wattgate.operations.types.identity import personal_data as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, UserJobQueued
from wattgate.values import terms
from wattgate.values.annotations import Described

Everything = Annotated[
    bool, Described("Whether the user is erased with all data. Exactly one of this and the home must be given.")
]

LEASE = timedelta(minutes=2)
"""Time after a worker's last batch after which another worker continues."""

CHECK_AFTER = timedelta(minutes=11)
"""Time after an erasure until it is repeated once. No request that began before runs longer."""


MAX_LISTED_AT_ONCE = 500
"""Erasures that a worker adds to the list outside the database at once."""

_AUDIT_LOG = "The log proves administrative acts. It keeps identifiers, and loses addresses and hardware IDs."
_UNBILLED_READINGS = "The resource has no meter point, or it is not its first field. Billing does not need it."

REMAINING = ":remaining"
"""The end of the names of counts of records that stay. The names of tables have no colon."""


@dataclass(frozen=True, slots=True)
class ErasureWork:
    """An erasure that a worker has claimed, and the topics whose events contain data of the user."""

    erasure_id: str
    topics: list[str]


@operation(
    OperationKind.QUERY,
    returns=types.Erasure,
    needs=Permission.USER_DELETE,
    rest=RestRoute("GET", "/user/{userId}/erasure", Tag.USERS),
)
async def erasure(call: Call, *, user_id: ids.UserId) -> types.Erasure:
    """Return the progress of the erasure of a user and, when it has finished, the receipt.

    The receipt lists the erased, replaced and kept records of each table, without personal data.
    """
    record = await call.rows.first(models.Erasure, col(models.Erasure.user_id) == user_id)
    if record is None:
        raise NotFound(f"User {user_id} is not erased. Erase a user with deleteUser.")
    return build_erasure(record)


@operation(
    OperationKind.MUTATION,
    returns=types.Erasure,
    needs=Permission.DATA_ERASE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/user/{userId}/erasure", Tag.USERS),
    raises=(ReauthenticationRequired, Conflict),
    weight=PASSWORD_HASH_WEIGHT,
)
async def erase_my_data(
    call: Call,
    *,
    user_id: ids.UserId | None = None,
    ve_id: ids.VeId | None = None,
    everything: Everything = False,
    password: terms.CallerPassword | None = None,
    code: terms.CallerCode | None = None,
) -> types.Erasure:
    """Erase one home of the calling user with its resources, or the user with all data. It cannot be undone.

    The home and its resources are removed at once, and a job erases their readings, tariffs and devices. A resource
    that is in another home as well stays. A copy of the user's data that was exported before is deleted. For one home,
    `userId` of the result is the pseudonym of the erased records.

    Only a private gateway allows this (`WATTGATE_PRIVATE_GATEWAY`): others keep records for billing, and their operator
    erases users. A token whose log-in is some minutes old needs `password`; without it, the error is
    `REAUTHENTICATION_REQUIRED`.
    """
    own_id = require_user_id(call)
    if user_id not in (None, own_id):
        raise NotFound(f"No user with ID {user_id}.")
    if not call.account_policy.allows_own_erasure:
        raise Conflict(
            "This gateway keeps records for billing, so its operator erases users and homes. Ask the operator. On a "
            "gateway of your own, set WATTGATE_PRIVATE_GATEWAY=true."
        )
    if everything is (ve_id is not None):
        problems = [Problem(("veId",), "is one of two"), Problem(("everything",), "is one of two")]
        raise BadInput("Name the home to erase, or set `everything` to erase the user.", problems=problems)
    await require_recent_login(call, password, code)
    with call.rows.whole_application() as rows:
        rows.recorder = call.rows.recorder
        await lock_user(rows, own_id)
        await rows.lock(models.User, col(models.User.user_id) == own_id)
        user = await rows.get(models.User, own_id)
        erased = user if ve_id is None else await _part_with_home(call, rows, own_id, ve_id)
        await begin_erasure(call, rows, erased)
        record = await rows.first(models.Erasure, col(models.Erasure.user_id) == erased.user_id)
    assert record is not None  # it has just begun
    return build_erasure(record)


# Operations for the worker `app/workers/user_jobs.py`. It runs them for each application.


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_erasures(call: Call) -> list[str]:
    """Return the applications with erasures that wait for a worker."""
    return await call.rows.application_ids_with(models.Erasure, col(models.Erasure.due_at) <= call.rows.now)


@operation(OperationKind.MUTATION, returns=ErasureWork, needs=Permission.SYSTEM)
async def claim_erasure(call: Call, *, retention_days: int, listed_only: bool = False) -> ErasureWork | None:
    """Claim the erasure that waits longest. Return None if none waits or another worker claims it.

    `retention_days` is the time for which records for billing are kept after it. 0 keeps none. With `listed_only`, an
    erasure waits until it is in the list outside the database. So it is never reported as done before.
    """
    waiting = col(models.Erasure.due_at) <= call.rows.now
    if listed_only:
        waiting &= col(models.Erasure.listed_at).is_not(None)
    oldest = await call.rows.first(models.Erasure, waiting, order_by=[col(models.Erasure.due_at)])
    if oldest is None:
        return None
    mine = col(models.Erasure.erasure_id) == oldest.erasure_id
    values: dict[str, object] = {"due_at": call.rows.now + LEASE}
    if oldest.state is JobState.QUEUED:
        started = {"state": JobState.RUNNING, "started_at": call.rows.now, "retention_days": retention_days}
        values |= started
    if not await call.rows.update(models.Erasure, mine, waiting, **values):
        return None
    return ErasureWork(oldest.erasure_id, await _topics_of(call.rows, oldest.user_id))


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_unlisted_erasures(call: Call) -> list[str]:
    """Return the applications with erasures that are not in the list outside the database yet."""
    return await call.rows.application_ids_with(models.Erasure, col(models.Erasure.listed_at).is_(None))


@operation(OperationKind.QUERY, returns=list[ListedErasure], needs=Permission.SYSTEM)
async def unlisted_erasures(call: Call) -> list[ListedErasure]:
    """Return up to MAX_LISTED_AT_ONCE erasures that are not in the list outside the database yet, oldest first."""
    found = await call.rows.all(
        models.Erasure,
        col(models.Erasure.listed_at).is_(None),
        order_by=[col(models.Erasure.created_at), col(models.Erasure.erasure_id)],
        limit=MAX_LISTED_AT_ONCE,
    )
    return [ListedErasure(erasure.application_id, erasure.user_id, erasure.created_at) for erasure in found]


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def mark_erasures_listed(call: Call, *, user_ids: Sequence[str]) -> int:
    """Store that the erasures of some users are in the list outside the database. Return their number."""
    unlisted = col(models.Erasure.listed_at).is_(None)
    return await call.rows.update(
        models.Erasure, col(models.Erasure.user_id).in_(user_ids), unlisted, listed_at=call.rows.now
    )


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def repeat_erasure(call: Call, *, user_id: str, erased_at: datetime) -> bool:
    """Erase a user again whom a restored backup has brought back. Return whether there was something to do.

    The records for billing are kept as long as after the erasure of that time.
    """
    await lock_user(call.rows, user_id)
    await call.rows.lock(models.User, col(models.User.user_id) == user_id)
    user = await call.rows.get(models.User, user_id)
    if user.erased_at is not None:
        return False
    await begin_erasure(call, call.rows, user, erased_at)
    return True


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def erase_batch(call: Call, *, erasure_id: str) -> bool:
    """Run the next batch of an erasure, and store how far it is. Return whether the stage has more batches."""
    record = await call.rows.edit(models.Erasure, erasure_id)
    steps = steps_of(record.stage, keeps_billing=bool(record.retention_days))
    counts, rows = Counter[str](record.counts), 0
    while record.step < len(steps) and rows < BATCH_ROWS:
        result = await run_batch(call.rows, record, steps[record.step])
        if result.action is ErasureAction.ERASED or result.table == AUDIT_LOG:
            counts[result.table] += result.rows
        rows += result.rows
        if result.has_more:
            record.cursor = result.cursor
        else:
            record.step, record.cursor = record.step + 1, 0
    record.counts = dict(counts)
    record.due_at = call.rows.now + LEASE
    if record.step < len(steps):
        return True
    await _finish_stage(call.rows, record)
    return False


async def _finish_stage(rows: Rows, record: models.Erasure) -> None:
    """Store the end of a stage, and when the next one begins."""
    retention = timedelta(days=record.retention_days or 0)
    record.step = 0
    match record.stage:
        case ErasureStage.PERSONAL:
            record.state, record.finished_at = JobState.DONE, rows.now
            record.kept_until = record.created_at + retention if retention else None
            record.stage, record.due_at = ErasureStage.CHECK, rows.now + CHECK_AFTER
            record.counts = {**record.counts, **await _count_remaining(rows, record.user_id)}
        case ErasureStage.CHECK if record.kept_until is not None:
            record.stage, record.due_at = ErasureStage.BILLING, record.kept_until
        case _:
            record.stage, record.due_at, record.billing_erased_at = ErasureStage.ENDED, None, rows.now


async def _count_remaining(rows: Rows, user_id: str) -> dict[str, int]:
    """Return the numbers of records that stay, by the name of the table and `REMAINING`."""
    counts = {}
    for rule in USER_RULES:
        if rule.action is ErasureAction.REPLACED:
            model = cast(type[models.Tenanted], rule.model)
            counts[f"{rule.table}{REMAINING}"] = sum(
                [await rows.count(model, condition(rows, model, found, user_id)) for found in rule.selections]
            )
    return counts


async def _topics_of(rows: Rows, user_id: str) -> list[str]:
    """Return the topics whose events contain data of a user."""
    found = [make(user_id) for make in (topics.alerts, topics.alerts_read, topics.alert_steps)]
    resources = await rows.all(models.Resource, col(models.Resource.owner_id) == user_id)
    for resource in resources:
        found += [topics.readings(resource.resource_id), topics.catch_ups(resource.resource_id)]
        found.append(topics.tariffs(resource.resource_id))
    devices = await rows.all(models.Device, col(models.Device.owner_id) == user_id)
    found += [topics.device_states(device.device_id) for device in devices]
    homes = await rows.all(models.VirtualEntity, col(models.VirtualEntity.owner_id) == user_id)
    return [*found, *(topics.virtual_entities(home.ve_id) for home in homes)]


def build_erasure(record: models.Erasure) -> types.Erasure:
    """Return the report of an erasure. The receipt is complete when the state is DONE."""
    steps = steps_of(ErasureStage.PERSONAL, keeps_billing=bool(record.retention_days))
    is_done = record.state is JobState.DONE
    return types.Erasure(
        erasure_id=Id(record.erasure_id),
        user_id=Id(record.user_id),
        state=record.state,
        progress=1.0 if is_done else round(record.step / len(steps), 3),
        created_at=record.created_at,
        finished_at=record.finished_at,
        kept_until=record.kept_until,
        billing_erased_at=record.billing_erased_at,
        tables=_receipt(record) if is_done else [],
    )


def _receipt(record: models.Erasure) -> list[types.ErasedTable]:
    """Return the treatment of each table. Tables of the application itself are left out."""
    counts, tables = record.counts, list[types.ErasedTable]()
    keeps_billing = bool(record.retention_days) and record.billing_erased_at is None
    for rule in (*USER_RULES, *READING_RULES):
        action, reason = rule.action, rule.reason
        if rule.billing and not keeps_billing:
            action, reason = ErasureAction.ERASED, "The retention for billing has ended."
        records = counts.get(rule.table, 0)
        if action is not ErasureAction.ERASED:
            records = counts.get(f"{rule.table}{REMAINING}")
        tables.append(types.ErasedTable(table=rule.table, action=action, records=records, reason=reason))
    tables.append(
        types.ErasedTable(
            table=AUDIT_LOG, action=ErasureAction.REPLACED, records=counts.get(AUDIT_LOG, 0), reason=_AUDIT_LOG
        )
    )
    if keeps_billing and counts.get(READINGS):
        tables.append(
            types.ErasedTable(
                table=READINGS, action=ErasureAction.ERASED, records=counts[READINGS], reason=_UNBILLED_READINGS
            )
        )
    return tables


# The start of an erasure, and the check that a user still exists.
#
# Some effects are immediate: the user cannot log in, the username is free, no message is sent, and nothing more is
# recorded. A worker erases the rest in batches (`app/workers/user_jobs.py`).

MAX_ROWS_AT_ONCE = 10_000
"""Maximum rows of one kind that the start of an erasure changes. The worker continues with the others."""

REPLACED_AT_ONCE = (models.Account, models.Resource, models.User)
"""The models whose personal values are replaced at once: this frees the username, and closes the resources."""


async def begin_erasure(call: Call, rows: Rows, user: models.User, erased_at: datetime | None = None) -> None:
    """Begin the erasure of a user, or do nothing if it has begun before. The user record is locked.

    `rows` are those of the application. `erased_at` is the time of an erasure that a restored backup has undone. The
    default is now.
    """
    if user.erased_at is not None:
        return
    user_id = user.user_id
    erasure = await rows.add(models.Erasure(user_id=user_id, due_at=rows.now, created_at=erased_at or rows.now))
    accounts = await rows.all(models.Account, col(models.Account.user_id) == user_id)
    await _withdraw_deliveries(rows, user_id)
    await _erase_by_address(rows, erasure, accounts)
    await end_user(call, rows, user_id)
    await end_all_tenancies(rows, user_id)
    own_export = col(models.DataExport.user_id) == user_id
    await rows.update(models.DataExport, own_export, attempt=col(models.DataExport.attempt) + 1)  # stops its worker
    for rule in USER_RULES:
        if rule.model in REPLACED_AT_ONCE:
            model = cast(type[Tenanted], rule.model)
            for selection in rule.selections:
                where = condition(rows, model, selection, user_id)
                await replace_values(rows, model, where, rule.replaced, MAX_ROWS_AT_ONCE)
    call.emit(Event(topics.user_jobs(), user_id, UserJobQueued(user_id)))


async def _part_with_home(call: Call, rows: Rows, owner_id: str, ve_id: str) -> models.User:
    """Give a home, and what belongs to it alone, to a new user without an account. Return that user.

    The erasure of that user erases the home as any user is erased: in batches, listed and with a receipt. The tenancies
    of the meter points end, so that they are free for another user. The same user continues where they ended.
    """
    home = await rows.edit(models.VirtualEntity, ve_id)
    if home.owner_id != owner_id:
        raise not_found(models.VirtualEntity, ve_id)
    await end_home(call, rows, ve_id)
    export = await rows.first(models.DataExport, col(models.DataExport.user_id) == owner_id)
    if export is not None:  # it has the readings of the home, or a worker is about to add them
        await delete_export(rows, export.export_id)
    resources = await _resources_only_in(rows, home)
    holder = await rows.add(models.User(status=UserStatus.INACTIVE, active=False))
    home.owner_id, home.active = holder.user_id, False
    await rows.flush()
    await _give_records(call, rows, home, [resource.resource_id for resource in resources], owner_id)
    for resource in resources:
        resource.owner_id, resource.active = holder.user_id, False
    await rows.flush()
    for mpxn in sorted({resource.mpxn for resource in resources if resource.mpxn}):
        await end_tenancy_without_resources(call, owner_id, mpxn)
    emit_home_changed(call, ve_id)
    emit_resources_changed(call, [resource.resource_id for resource in resources])
    return holder


async def _resources_only_in(rows: Rows, home: models.VirtualEntity) -> list[models.Resource]:
    """Return the resources that are in no other home than this one, and those that have their costs.

    A home whose erasure has begun keeps its links until the worker deletes them. It counts no more.
    """
    link, resource = models.VirtualEntityResource, models.Resource
    linked = {one.resource_id for one in await rows.all(link, col(link.ve_id) == home.ve_id)}
    links = await rows.all(link, col(link.resource_id).in_(linked), col(link.ve_id) != home.ve_id)
    homes = await rows.get_many(models.VirtualEntity, {one.ve_id for one in links})
    owners = await rows.get_many(models.User, {one.owner_id for one in homes.values() if one.owner_id})
    erased = {owner_id for owner_id, owner in owners.items() if owner.erased_at is not None}
    elsewhere = {one.resource_id for one in links if one.ve_id in homes and homes[one.ve_id].owner_id not in erased}
    own = linked - elsewhere
    is_own = or_(col(resource.resource_id).in_(own), col(resource.cost_of).in_(own))
    found = await rows.all(resource, col(resource.owner_id) == home.owner_id, is_own)
    return [await rows.edit(resource, one.resource_id) for one in found if one.resource_id not in elsewhere]


async def _give_records(
    call: Call, rows: Rows, home: models.VirtualEntity, resource_ids: Sequence[str], owner_id: str
) -> None:
    """Give the records that name a home or its resources to the holder of the home, by the rules of erasures.

    A device that feeds one of the resources goes as well.
    """
    sensor = models.DeviceSensor
    sensors = await rows.all(sensor, col(sensor.resource_id).in_(resource_ids))
    fed = sorted({one.device_id for one in sensors})
    of_home = {"resource_id": resource_ids, "ve_id": [home.ve_id], "device_id": fed}
    for rule in USER_RULES:
        model = cast(type[Tenanted], rule.model)
        columns = model_columns(model)
        named = [columns[name].in_(found) for name, found in of_home.items() if name in columns]
        owners = [found.column for found in rule.selections if isinstance(found, OfUser)]
        if named and owners and model not in (models.Resource, models.VirtualEntity):
            owner = owners[0]
            await rows.update(model, columns[owner] == owner_id, or_(*named), **{owner: home.owner_id})
    for device_id in fed:
        emit_device_changed(call, device_id)


async def _withdraw_deliveries(rows: Rows, user_id: str) -> None:
    """Delete deliveries that wait or are being sent. Workers that hold one can record nothing about it any more."""
    is_open = col(models.Delivery.state).in_((DeliveryState.WAITING, DeliveryState.LEASED))
    for rule in USER_RULES:
        if rule.model is models.Delivery:
            for selection in rule.selections:
                where = condition(rows, models.Delivery, selection, user_id) & is_open
                while await erase_rows(rows, models.Delivery, where, MAX_ROWS_AT_ONCE):
                    pass


async def _erase_by_address(rows: Rows, erasure: models.Erasure, accounts: Sequence[models.Account]) -> None:
    """Erase the rows of the names and addresses of the accounts, before these are replaced.

    Rows of an address that an account of another user has as well stay with that user.
    """
    own = {address for account in accounts for address in _addresses_of(account)}
    shared = await _addresses_of_others(rows, erasure.user_id, own)
    if shared:  # a suppression may name a delivery to the erased user, with which it would be erased
        await rows.update(models.MailSuppression, col(models.MailSuppression.address).in_(shared), delivery_id=None)
    addresses = sorted(own - shared)
    for step in ADDRESS_STEPS:
        while (await run_batch(rows, erasure, step, addresses)).has_more:
            pass
    for account in accounts:
        await forget_username(rows, account.directory_id, account.username)


async def _addresses_of_others(rows: Rows, user_id: str, addresses: Collection[str]) -> set[str]:
    """Return those of some addresses that accounts of other users have."""
    others = await rows.all(
        models.Account,
        col(models.Account.user_id) != user_id,
        or_(*(func.lower(column).in_(addresses) for column in (models.Account.email, models.Account.username))),
    )
    return {address for account in others for address in _addresses_of(account)}


def _addresses_of(account: models.Account) -> set[str]:
    """Return the addresses of an account in lower case, as entered and in the form of suppressions."""
    addresses = set()
    for text in filter(None, (account.email, account.username)):
        addresses.add(text.lower())
        try:
            addresses.add(parse_mailbox(text).address.lower())
        except NotMailable:
            continue
    return addresses
