"""Tenancies and the list outside the database: a worker adds changes, and a restore takes them from there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs
from sqlalchemy import tuple_
from sqlmodel import col

from wattgate.clock import EPOCH, utc_now
from wattgate.db import models
from wattgate.db.personal_data.erasure_check import UNLISTED, listed_form
from wattgate.db.personal_data.erasure_list import ListedTenancy
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.enums import TenancyProof, UserStatus
from wattgate.errors import Conflict
from wattgate.operations.core.home_events import emit_homes_of_resources_changed
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.operations.tenancies.tenancies import (
    close_departure,
    end_flexibility,
    end_tenancy,
    lock_tenancies,
    own_from,
    resources_of_tenancy,
)
from wattgate.operations.tenancies.tenancy_plans import load_departure, tenancies_at
from wattgate.operations.tenancies.withdrawals import withdraw_since
from wattgate.principal import Permission

MAX_TENANCIES_AT_ONCE = 2_000
"""Changes of tenancies that a worker adds to the list in one write."""


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_unlisted_tenancies(call: Call) -> list[str]:
    """Return the applications with changes of tenancies that are not in the list outside the database yet."""
    return await call.rows.application_ids_with(models.MeterPointTenancy, UNLISTED)


@operation(OperationKind.QUERY, returns=list[ListedTenancy], needs=Permission.SYSTEM)
async def unlisted_tenancies(call: Call) -> list[ListedTenancy]:
    """Return up to MAX_TENANCIES_AT_ONCE tenancies whose last change is not in the list outside the database yet."""
    return listed_form(await call.rows.all(models.MeterPointTenancy, UNLISTED, limit=MAX_TENANCIES_AT_ONCE))


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def mark_tenancies_listed(call: Call, *, tenancies: Sequence[ListedTenancy]) -> int:
    """Store that states of tenancies are in the list outside the database. Return how many are the last ones."""
    model = models.MeterPointTenancy
    key = tuple_(col(model.tenancy_id), col(model.updated_at))
    is_last = key.in_([(tenancy.tenancy_id, tenancy.changed_at) for tenancy in tenancies])
    values = {"listed_change": col(model.updated_at), "updated_at": col(model.updated_at)}
    return await call.rows.update(model, is_last, **values)


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def repeat_tenancies(
    call: Call, *, mpxn: str, tenancies: Sequence[ListedTenancy], erased_users: Sequence[str]
) -> int:
    """Repeat the changes of tenancies at a meter point that a restored backup has taken back. Return their number.

    `erased_users` are the users of the list of erasures, which are erased afterwards.
    """
    return await repeat_tenancies_at(call, mpxn, tenancies, erased_users)


# Repeat the changes of tenancies that a restored backup has taken back, from the list of erasures.
#
# The list has the last state of each tenancy, which is written as it is: in any order, and any number of times. The
# resources, devices and grants of a household that moved out end as in a move. Nobody gets a second mail about it.

Tenancies = Mapping[str, models.MeterPointTenancy]


async def repeat_tenancies_at(
    call: Call, number: str, listed: Collection[ListedTenancy], erased: Collection[str]
) -> int:
    """Store those of the listed tenancies of a meter point that are later than the stored ones. Return their number.

    A user whom the database lacks becomes the pseudonym of an erased one. Users in `erased` are erased afterwards.
    """
    await lock_tenancies(call, number)
    with call.rows.whole_application() as rows:
        rows.recorder = call.rows.recorder
        before = {tenancy.tenancy_id: tenancy for tenancy in await tenancies_at(rows, number)}
        later = [entry for entry in listed if _is_later(entry, before)]
        for entry in later:
            if (stored := before.get(entry.tenancy_id)) is not None:
                await _correct_start(call, rows, stored, entry.began_at)
        for entry in sorted(later, key=lambda each: each.ended_at is None):  # ends first: one is open at a time
            state = entry if entry.ended_at is not None else await _make_room(rows, number, entry)
            await _store(rows, state, before, erased)
        await _end_stays(call, rows, number, before)
        await _open_consent(rows, number)
    return len(later)


def _is_later(entry: ListedTenancy, before: Tenancies) -> bool:
    stored = before.get(entry.tenancy_id)
    return stored is None or stored.updated_at < entry.changed_at


async def _correct_start(call: Call, rows: Rows, stored: models.MeterPointTenancy, began_at: datetime | None) -> None:
    """Let the resources of a tenancy belong to its household from the listed start on."""
    if began_at is not None and began_at != stored.began_at:
        await own_from(call, rows, await resources_of_tenancy(rows, stored), began_at)


async def _make_room(rows: Rows, number: str, entry: ListedTenancy) -> ListedTenancy:
    """Return the state of an open tenancy, for which the stored one ends that began before it.

    The list does not know a stored one that is open. If that began later, as after a restore without a list, the listed
    one ends when it began.
    """
    model = models.MeterPointTenancy
    is_other = col(model.tenancy_id) != entry.tenancy_id
    stays = await rows.first(model, col(model.mpxn) == number, is_other, col(model.ended_at).is_(None))
    if stays is None:
        return entry
    stored_start, listed_start = stays.began_at or EPOCH, entry.began_at or EPOCH
    if stored_start < listed_start:
        await end_tenancy(rows, stays.tenancy_id, listed_start)
        return entry
    changed_at = max(utc_now(), entry.changed_at + timedelta(microseconds=1))
    return structs.replace(entry, ended_at=stored_start, changed_at=changed_at)


async def _store(rows: Rows, entry: ListedTenancy, before: Tenancies, erased: Collection[str]) -> None:
    """Write a state. Raise Conflict if the tenancy or its user is one of another application."""
    model = models.MeterPointTenancy
    values: dict[str, Any] = {"began_at": entry.began_at, "ended_at": entry.ended_at, "updated_at": entry.changed_at}
    if entry.tenancy_id in before:
        await rows.update(model, col(model.tenancy_id) == entry.tenancy_id, **values)
        return
    added = await _require_user(rows, entry.user_id, erased) and await rows.add_if_absent(
        model(
            tenancy_id=entry.tenancy_id,
            user_id=entry.user_id,
            mpxn=entry.mpxn,
            proof=TenancyProof.OPERATOR,
            **values,
        )
    )
    if not added:
        raise Conflict(
            f"Tenancy {entry.tenancy_id} of user {entry.user_id} is in the erasure list for application "
            f"{rows.application_id}, and the database has it, or the user, in another application. Apply the list of "
            "this gateway."
        )


async def _require_user(rows: Rows, user_id: str, erased: Collection[str]) -> bool:
    """Return whether the application has a user, as the pseudonym of an erased one if the database lacks the user."""
    if user_id in await rows.get_many(models.User, [user_id]):
        return True
    erased_at = None if user_id in erased else rows.now  # the erasure itself is repeated for the others
    return await rows.add_if_absent(
        models.User(user_id=user_id, status=UserStatus.INACTIVE, active=False, erased_at=erased_at)
    )


async def _end_stays(call: Call, rows: Rows, number: str, before: Tenancies) -> None:
    """End what households have at the meter point whose tenancies have ended, or end earlier than before."""
    after = sorted(await tenancies_at(rows, number), key=lambda each: each.began_at or EPOCH)
    for tenancy in after:
        stored = before.get(tenancy.tenancy_id)
        until = None if stored is None else stored.ended_at
        end = tenancy.ended_at
        if end is not None and (until is None or end < until):
            lasting = [each for each in after if each is not tenancy and each.ended_at != (each.began_at or EPOCH)]
            await _move_out(call, rows, tenancy, [each for each in lasting if (each.began_at or EPOCH) >= end])


async def _move_out(
    call: Call, rows: Rows, tenancy: models.MeterPointTenancy, following: Sequence[models.MeterPointTenancy]
) -> None:
    """Close the resources of an ended tenancy, and delete their later readings, unless the household stays.

    Its part in flexibility ends. Its consent, alert rules and devices there end only if another household moves in.
    """
    assert tenancy.ended_at is not None
    if following and following[0].user_id == tenancy.user_id:
        return
    found = await load_departure(rows, tenancy)
    left = [each for each in found.resources if not _is_of_later(each.owned_from, tenancy)]
    if left:
        await withdraw_since(call, rows, left, tenancy.ended_at)
    if following:
        await close_departure(call, rows, replace(found, resources=left), tenancy.ended_at)
        return
    ids = [resource.resource_id for resource in left]
    is_open = col(models.Resource.active).is_(True)
    await rows.update(models.Resource, col(models.Resource.resource_id).in_(ids), is_open, active=False)
    await end_flexibility(rows, tenancy, tenancy.ended_at)
    await emit_homes_of_resources_changed(call, ids)


async def _open_consent(rows: Rows, number: str) -> None:
    """Open the consent of a household that lives at the meter point again. It proves no device until it is verified."""
    stay, consent = models.MeterPointTenancy, models.MeterPointConsent
    lives_there = await rows.first(stay, col(stay.mpxn) == number, col(stay.ended_at).is_(None))
    if lives_there is not None:
        is_own = col(consent.user_id) == lives_there.user_id, col(consent.mpxn) == number
        await rows.update(consent, *is_own, col(consent.ended_at).is_not(None), verified=False, ended_at=None)


def _is_of_later(owned_from: datetime | None, tenancy: models.MeterPointTenancy) -> bool:
    """Return whether a resource is of a later tenancy of the household. One that was withdrawn ends when it began."""
    assert tenancy.ended_at is not None
    return owned_from is not None and owned_from >= tenancy.ended_at and owned_from != tenancy.began_at
