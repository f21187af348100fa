"""Tenancies: the household of a meter point begins, moves or ends. Each operation that does so calls this module.

At most one household of an application lives at a meter point at an instant. When the next one moves in, what the
former one has there ends: its resources close, its consent ends, and its devices measure the home of another.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement
from sqlmodel import col

from wattgate.clock import format_iso, to_ms
from wattgate.db import models
from wattgate.db.readings.series_keys import resource_number
from wattgate.db.rows import Rows
from wattgate.energy.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.energy.storage_fields import parse_fields
from wattgate.enums import TenancyProof
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.graphql.core.operation import Call
from wattgate.graphql.services.changes import emit_homes_of_resources_changed
from wattgate.graphql.services.webhook_events import enqueue_event
from wattgate.principal import Principal, Role

ENDED_EVENT = "tenancy.ended"
"""The webhook event code of the end of a tenancy."""


def is_at(mpxn: str) -> ColumnElement[bool]:
    """Return the condition of resources at a meter point, in any spelling."""
    return col(models.Resource.mpxn).in_(meter_point_spellings(canonical_meter_point(mpxn)))


async def begin_tenancy(
    call: Call, user_id: str, mpxn: str | None, moved_in_at: datetime | None = None, *path: str
) -> datetime | None:
    """Record that the household of a user lives at a meter point, if that is not known yet. Return since when.

    It lives there from `moved_in_at` on. Without it, the first household that the application knows has always lived
    there, one that comes back without another in between continues, and any other begins now. With `moved_in_at`, the
    household that lives there now ends at that instant. Raise Conflict if it lives there and there is no `moved_in_at`,
    or if an account comes back where another household has lived: the application decides that.
    """
    if not mpxn:
        if moved_in_at is not None:
            problem = Problem(tuple(path), "the resource has no meter point")
            raise BadInput("Nobody moves in without a meter point. See `problems`.", problems=[problem])
        return None
    number = canonical_meter_point(mpxn)
    _check_not_future(call, moved_in_at, path)
    with call.rows.whole_application() as rows:
        rows.recorder = call.rows.recorder
        known = await rows.all(models.MeterPointTenancy, col(models.MeterPointTenancy.mpxn) == number)
        lives_there = next((tenancy for tenancy in known if tenancy.ended_at is None), None)
        if lives_there is not None and lives_there.user_id == user_id:
            if moved_in_at is None or moved_in_at == lives_there.began_at:
                return lives_there.began_at
            await _correct_start(rows, lives_there, known, moved_in_at)
            return moved_in_at
        if lives_there is not None and moved_in_at is None:
            raise Conflict(
                f"Another user of the application lives at meter point {number}. Move it with moveResource, or give "
                "movedInAt: the instant from which this user lives there."
            )
        last = max(known, key=lambda tenancy: tenancy.ended_at or call.rows.now, default=None)
        if last is not None and _continues(last, user_id, moved_in_at):
            await _reopen(rows, last)
            return last.began_at
        if last is not None and last.user_id != user_id and call.principal.sees_own_records_only:
            raise Conflict(
                f"Another user has lived at meter point {number}. Ask the provider of the application to open the "
                "resource again."
            )
        for former in known:
            is_other = former.user_id != user_id
            if is_other and moved_in_at is not None and (former.ended_at is None or former.ended_at > moved_in_at):
                await _end(rows, former, moved_in_at)
        if last is not None and last.user_id != user_id:
            await _make_way(call, rows, last)
        began_at = moved_in_at if moved_in_at is not None or last is None else call.rows.now
        await _add(rows, user_id, number, began_at, call.principal)
        return began_at


async def end_tenancy_without_resources(call: Call, user_id: str, mpxn: str | None) -> None:
    """End the tenancy of a user at a meter point, unless an open resource of the user is there."""
    if not mpxn:
        return
    with call.rows.whole_application() as rows:
        rows.recorder = call.rows.recorder
        of_user = col(models.Resource.owner_id) == user_id
        if not await rows.count(models.Resource, of_user, is_at(mpxn), col(models.Resource.active).is_(True), limit=1):
            for tenancy in await _open_of(rows, user_id, canonical_meter_point(mpxn)):
                await _end(rows, tenancy, call.rows.now)


async def end_all_tenancies(rows: Rows, user_id: str) -> None:
    """End the tenancies of a user, whose erasure ends everything else."""
    model = models.MeterPointTenancy
    await rows.update(model, col(model.user_id) == user_id, col(model.ended_at).is_(None), ended_at=rows.now)


def _check_not_future(call: Call, moved_in_at: datetime | None, path: Sequence[str]) -> None:
    if moved_in_at is not None and moved_in_at > call.rows.now:
        problem = Problem(tuple(path), f"{format_iso(moved_in_at)} is in the future")
        raise BadInput("A move is recorded on its day, or after it. See `problems`.", problems=[problem])


def _continues(last: models.MeterPointTenancy, user_id: str, moved_in_at: datetime | None) -> bool:
    """Return whether a user who lives at a meter point again continues the last tenancy, which has ended."""
    if last.user_id != user_id or last.ended_at is None:
        return False
    return moved_in_at is None or moved_in_at <= last.ended_at


async def _open_of(rows: Rows, user_id: str, number: str) -> list[models.MeterPointTenancy]:
    model = models.MeterPointTenancy
    return await rows.all(
        model, col(model.user_id) == user_id, col(model.mpxn) == number, col(model.ended_at).is_(None)
    )


async def _correct_start(
    rows: Rows,
    tenancy: models.MeterPointTenancy,
    known: Collection[models.MeterPointTenancy],
    moved_in_at: datetime,
) -> None:
    """Change the start of a tenancy. Raise Conflict if another household lived there then."""
    for other in known:
        if other.tenancy_id != tenancy.tenancy_id and (other.ended_at is None or other.ended_at > moved_in_at):
            raise Conflict(
                f"Another household lived at meter point {tenancy.mpxn} at {format_iso(moved_in_at)}. Give a later "
                "instant as movedInAt."
            )
    record = await rows.edit(models.MeterPointTenancy, tenancy.tenancy_id)
    record.began_at = moved_in_at
    of_user = col(models.Resource.owner_id) == tenancy.user_id
    await rows.update(models.Resource, of_user, is_at(tenancy.mpxn), owned_from=moved_in_at)


async def _reopen(rows: Rows, tenancy: models.MeterPointTenancy) -> None:
    record = await rows.edit(models.MeterPointTenancy, tenancy.tenancy_id)
    record.ended_at = None
    await rows.flush()


async def _add(rows: Rows, user_id: str, number: str, began_at: datetime | None, principal: Principal) -> None:
    added = await rows.add_if_absent(
        models.MeterPointTenancy(user_id=user_id, mpxn=number, began_at=began_at, proof=_proof_of(principal))
    )
    if not added and not await _open_of(rows, user_id, number):  # a call for the same user may be first
        raise Conflict(f"Another call has just begun a tenancy at meter point {number}. Try again.")


async def _end(rows: Rows, tenancy: models.MeterPointTenancy, at: datetime) -> None:
    """End a tenancy at an instant. Readings of its household from then on are deleted."""
    if tenancy.began_at is not None and at < tenancy.began_at:
        raise Conflict(
            f"The household before moved in at meter point {tenancy.mpxn} at {format_iso(tenancy.began_at)}. Give a "
            "later instant as movedInAt."
        )
    record = await rows.edit(models.MeterPointTenancy, tenancy.tenancy_id)
    record.ended_at = at
    await rows.flush()
    if at < rows.now:
        resources = await _resources_of(rows, tenancy)
        fields = {
            resource_number(resource): [
                (field.index, field.has_hourly_rollup) for field in parse_fields(resource.storage)
            ]
            for resource in resources
        }
        await rows.readings.withdraw(fields, to_ms(at))


async def _make_way(call: Call, rows: Rows, former: models.MeterPointTenancy) -> None:
    """Close what a former household has at a meter point, because the next one moves in, and announce it.

    A household that has only closed its resources keeps its consent until then.
    """
    resources = await _resources_of(rows, former)
    ids = [resource.resource_id for resource in resources]
    is_open = col(models.Resource.active).is_(True)
    await rows.update(models.Resource, col(models.Resource.resource_id).in_(ids), is_open, active=False)
    await _mark_devices(rows, ids, former.mpxn)
    has_ended = await _end_grants(rows, former)
    await emit_homes_of_resources_changed(call, ids)
    user = await rows.get(models.User, former.user_id)
    if user.erased_at is None and (former.ended_at is None or has_ended):
        payload = {"userId": former.user_id, "mpxn": former.mpxn}
        await enqueue_event(call, ENDED_EVENT, payload, user_id=former.user_id)


async def _resources_of(rows: Rows, tenancy: models.MeterPointTenancy) -> list[models.Resource]:
    """Return the resources of a household at its meter point, also the closed ones."""
    return await rows.all(
        models.Resource, col(models.Resource.owner_id) == tenancy.user_id, is_at(tenancy.mpxn), order_by=["number"]
    )


async def _mark_devices(rows: Rows, resource_ids: Sequence[str], number: str) -> None:
    """Record that the devices of a household remain at a meter point that it has left."""
    sensors = await rows.all(models.DeviceSensor, col(models.DeviceSensor.resource_id).in_(resource_ids))
    device_ids = {sensor.device_id for sensor in sensors}
    of_device = col(models.Device.device_id).in_(device_ids)
    await rows.update(models.Device, of_device, col(models.Device.active).is_(True), remains_at=number)


async def _end_grants(rows: Rows, tenancy: models.MeterPointTenancy) -> bool:
    """End the consent of a household for the meter point, its enrolment for flexibility, and events that are ahead.

    Return whether there was a consent that had not ended.
    """
    ended = await rows.update(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == tenancy.user_id,
        col(models.MeterPointConsent.mpxn) == tenancy.mpxn,
        col(models.MeterPointConsent.ended_at).is_(None),
        verified=False,
        ended_at=rows.now,
    )
    await rows.update(
        models.DfsUser,
        col(models.DfsUser.user_id) == tenancy.user_id,
        col(models.DfsUser.mpxn) == tenancy.mpxn,
        active=False,
    )
    ahead = await rows.all(models.DfsEvent, col(models.DfsEvent.starts_at) > rows.now)
    await rows.delete(
        models.DfsParticipation,
        col(models.DfsParticipation.user_id) == tenancy.user_id,
        col(models.DfsParticipation.mpxn) == tenancy.mpxn,
        col(models.DfsParticipation.dfs_event_id).in_([event.dfs_event_id for event in ahead]),
    )
    return ended > 0


def _proof_of(principal: Principal) -> TenancyProof:
    if principal.sees_own_records_only:
        return TenancyProof.USER
    return TenancyProof.OPERATOR if principal.role is Role.SYSTEM else TenancyProof.APPLICATION
