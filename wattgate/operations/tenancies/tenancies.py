"""Tenancies: the household of a meter point begins, moves or ends. Each operation that does so calls this module.

Each statement that changes a tenancy sets its `updated_at`, by its model. So a worker finds the change and adds it to
the list of erasures, which a restore of the database does not change.

At most one household of an application lives at a meter point at an instant. When the next one moves in, what the
former one has there ends: its resources close, its consent ends, and its devices measure the home of another.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import or_, true
from sqlmodel import col

from wattgate.clock import format_iso, from_ms, to_ms, utc_now
from wattgate.db import models
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.enums import TenancyProof
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.operations.core.home_events import emit_homes_of_resources_changed
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.account_mails import enqueue_tenancy_notices
from wattgate.operations.messages.webhook_events import enqueue_event
from wattgate.operations.tenancies.tenancy_plans import Departure, TenancyChange, TenancyPlan, is_at, plan_tenancy
from wattgate.operations.tenancies.withdrawals import withdraw_before, withdraw_since, withdrawn_fields
from wattgate.principal import Principal, Role

ENDED_EVENT = "tenancy.ended"
"""The webhook event code of the end of a tenancy."""

MAX_WITHDRAWN_READINGS = 1_000_000
"""Maximum readings that one transaction deletes: 115 days of power every 10 seconds. It bounds how long others wait."""


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
    await lock_tenancies(call, mpxn)
    plan = await plan_tenancy(call.rows, call.principal, user_id, mpxn, moved_in_at, path)
    await carry_out_tenancy(call, plan)
    return plan.began_at


async def lock_tenancies(call: Call, *mpxns: str) -> None:
    """Keep other transactions from changing the tenancies of meter points, so that a plan stays true.

    Each operation that changes several records of a meter point calls this first, before it locks a resource or a
    consent. So none waits for another that waits for it.
    """
    numbers = {canonical_meter_point(mpxn) for mpxn in mpxns}
    with call.rows.whole_application() as rows:
        await rows.lock(models.MeterPointTenancy, col(models.MeterPointTenancy.mpxn).in_(numbers))


async def carry_out_tenancy(call: Call, plan: TenancyPlan) -> None:
    """Write what a plan says. The tenancies of its meter point are locked."""
    with call.rows.whole_application() as rows:
        rows.recorder = call.rows.recorder
        if plan.change is TenancyChange.CORRECTED:
            await _end_former(call, rows, plan)
            await _correct_start(call, rows, plan)
        elif plan.change is TenancyChange.REOPENED:
            await _reopen(rows, plan)
        elif plan.change is TenancyChange.BEGUN:
            await _end_former(call, rows, plan)
            if plan.departure is not None:
                await _make_way(call, rows, plan.departure, _began_at(plan))
            await _add(rows, plan, call.principal)


async def _end_former(call: Call, rows: Rows, plan: TenancyPlan) -> None:
    """End the tenancies of a plan, and delete the readings that their households have since then."""
    for former in plan.ending:
        await end_tenancy(rows, former.tenancy.tenancy_id, _began_at(plan))
    await _withdraw(call, rows, plan)


async def end_tenancy_without_resources(call: Call, user_id: str, mpxn: str | None) -> None:
    """End the tenancy of a user at a meter point, unless an open resource of the user is there.

    Its part in flexibility ends as well. Its consent stays until another household moves in.
    """
    if not mpxn:
        return
    with call.rows.whole_application() as rows:
        rows.recorder = call.rows.recorder
        of_user = col(models.Resource.owner_id) == user_id
        if not await rows.count(models.Resource, of_user, is_at(mpxn), col(models.Resource.active).is_(True), limit=1):
            for tenancy in await _open_of(rows, user_id, canonical_meter_point(mpxn)):
                await end_tenancy(rows, tenancy.tenancy_id, call.rows.now)
                await end_flexibility(rows, tenancy, call.rows.now)


async def end_all_tenancies(rows: Rows, user_id: str) -> None:
    """End the tenancies of a user, whose erasure ends everything else."""
    model = models.MeterPointTenancy
    for tenancy in await rows.all(model, col(model.user_id) == user_id, col(model.ended_at).is_(None)):
        await end_tenancy(rows, tenancy.tenancy_id, rows.now)


async def _open_of(rows: Rows, user_id: str, number: str) -> list[models.MeterPointTenancy]:
    model = models.MeterPointTenancy
    return await rows.all(
        model, col(model.user_id) == user_id, col(model.mpxn) == number, col(model.ended_at).is_(None)
    )


async def _withdraw(call: Call, rows: Rows, plan: TenancyPlan) -> None:
    """Delete the readings that former households have since the start of a tenancy. Raise Conflict above the bound."""
    count = await count_withdrawn(rows, plan)
    if count > MAX_WITHDRAWN_READINGS:
        raise Conflict(
            f"The former household has {count:,} readings at meter point {plan.number} since the move, and one call "
            f"deletes at most {MAX_WITHDRAWN_READINGS:,}. Give a later movedInAt, or use the command `wattgate move`, "
            "which deletes them in pieces."
        )
    if count:
        await withdraw_since(call, rows, _ending_resources(plan), _began_at(plan))


async def count_withdrawn(rows: Rows, plan: TenancyPlan) -> int:
    """Return how many readings of former households a plan deletes, also those dated some minutes ahead."""
    if not plan.ending:
        return 0
    return await rows.readings.count_since(withdrawn_fields(_ending_resources(plan)), to_ms(_began_at(plan)))


async def withdraw_newest(call: Call, plan: TenancyPlan) -> int:
    """Delete the newest readings of those that a plan deletes, up to the bound, if there are more than that.

    Return their number. The rest begins as before and ends earlier, so no reader sees a gap.
    """
    rows = call.rows
    if await count_withdrawn(rows, plan) <= MAX_WITHDRAWN_READINGS:
        return 0
    fields = withdrawn_fields(_ending_resources(plan))
    since = await rows.readings.start_of_newest(fields, to_ms(_began_at(plan)), limit=MAX_WITHDRAWN_READINGS)
    count = await rows.readings.count_since(fields, since)
    await withdraw_since(call, rows, _ending_resources(plan), from_ms(since))
    return count


def _ending_resources(plan: TenancyPlan) -> list[models.Resource]:
    return [resource for former in plan.ending for resource in former.resources]


def _began_at(plan: TenancyPlan) -> datetime:
    assert plan.began_at is not None  # only a household that has always lived there has no start
    return plan.began_at


async def _correct_start(call: Call, rows: Rows, plan: TenancyPlan) -> None:
    """Change the start of a tenancy. Readings from before a later start are not the household's, and are deleted.

    Closed resources of an earlier tenancy of the household keep their readings.
    """
    record = await _edit(rows, _continued(plan))
    resources = await resources_of_tenancy(rows, record)
    record.began_at = plan.began_at
    count = await _count_before(rows, resources, _began_at(plan))
    if count > MAX_WITHDRAWN_READINGS:
        raise Conflict(
            f"The household has {count:,} readings at meter point {plan.number} from before "
            f"{format_iso(_began_at(plan))}, and one call deletes at most {MAX_WITHDRAWN_READINGS:,}. Give an earlier "
            "movedInAt."
        )
    await own_from(call, rows, resources, _began_at(plan))


async def resources_of_tenancy(rows: Rows, tenancy: models.MeterPointTenancy) -> list[models.Resource]:
    """Return the resources of a household that are of a tenancy, by its present start."""
    model = models.MeterPointTenancy
    of_user = col(models.Resource.owner_id) == tenancy.user_id
    stays = await rows.count(model, col(model.user_id) == tenancy.user_id, col(model.mpxn) == tenancy.mpxn)
    is_of_tenancy = or_(col(models.Resource.active).is_(True), col(models.Resource.owned_from) == tenancy.began_at)
    return await rows.all(models.Resource, of_user, is_at(tenancy.mpxn), is_of_tenancy if stays > 1 else true())


async def _count_before(rows: Rows, resources: Sequence[models.Resource], start: datetime) -> int:
    fields = withdrawn_fields(resources)
    return await rows.readings.count_since(fields, 0) - await rows.readings.count_since(fields, to_ms(start))


async def own_from(call: Call, rows: Rows, resources: Sequence[models.Resource], start: datetime) -> None:
    """Let resources belong to their household from another instant on, and delete their readings from before it."""
    if await _count_before(rows, resources, start):
        await withdraw_before(call, rows, resources, start)
    ids = [resource.resource_id for resource in resources]
    await rows.update(models.Resource, col(models.Resource.resource_id).in_(ids), owned_from=start)
    await emit_homes_of_resources_changed(call, ids)  # the start bounds the standing charges of the month


async def _reopen(rows: Rows, plan: TenancyPlan) -> None:
    record = await _edit(rows, _continued(plan))
    record.ended_at = None
    await rows.flush()


async def _edit(rows: Rows, tenancy_id: str) -> models.MeterPointTenancy:
    """Return a tenancy for changes. Its `updated_at` only grows, also if the clock was ahead at the last change."""
    record = await rows.edit(models.MeterPointTenancy, tenancy_id)
    if record.updated_at >= utc_now():
        record.updated_at += timedelta(microseconds=1)
    return record


def _continued(plan: TenancyPlan) -> str:
    assert plan.tenancy is not None  # only a tenancy that begins has no record yet
    return plan.tenancy.tenancy_id


async def _add(rows: Rows, plan: TenancyPlan, principal: Principal) -> None:
    added = await rows.add_if_absent(
        models.MeterPointTenancy(
            user_id=plan.user_id, mpxn=plan.number, began_at=plan.began_at, proof=_proof_of(principal)
        )
    )
    if not added and not await _open_of(rows, plan.user_id, plan.number):  # a call for the same user may be first
        raise Conflict(f"Another call has just begun a tenancy at meter point {plan.number}. Try again.")


async def end_tenancy(rows: Rows, tenancy_id: str, at: datetime) -> None:
    """End a tenancy at an instant."""
    record = await _edit(rows, tenancy_id)
    record.ended_at = at
    if record.began_at is not None and record.began_at > at:  # it began at a wrong clock, which was ahead
        record.began_at = at
    await rows.flush()
    consent = models.MeterPointConsent
    of_stay = col(consent.user_id) == record.user_id, col(consent.mpxn) == record.mpxn
    await rows.update(consent, *of_stay, col(consent.ended_at).is_not(None), ended_at=at)


async def _make_way(call: Call, rows: Rows, departure: Departure, moved_in_at: datetime) -> None:
    """Close what a former household has at a meter point, because the next one moves in, and announce it.

    A household that has only closed its resources keeps its consent until then.
    """
    former = departure.tenancy
    await close_departure(call, rows, departure, min(former.ended_at or moved_in_at, moved_in_at))
    user = await rows.get(models.User, former.user_id)
    if user.erased_at is None and (former.ended_at is None or departure.consents):
        payload = {"userId": former.user_id, "mpxn": former.mpxn}
        await enqueue_event(call, ENDED_EVENT, payload, user_id=former.user_id)
    if user.erased_at is None and former.ended_at is None:  # one that closed its resources knows
        await enqueue_tenancy_notices(call, rows, former.tenancy_id, former.user_id)


async def close_departure(call: Call, rows: Rows, departure: Departure, moved_out_at: datetime) -> None:
    """Close the resources of a former household at a meter point, and end its rules, devices and grants there."""
    former, ids = departure.tenancy, [resource.resource_id for resource in departure.resources]
    is_open = col(models.Resource.active).is_(True)
    await rows.update(models.Resource, col(models.Resource.resource_id).in_(ids), is_open, active=False)
    await disable_alert_rules(rows, ids)
    device_ids = [device.device_id for device in departure.devices]
    for device_id in device_ids:
        device = await rows.edit(models.Device, device_id)
        device.remains_at |= {former.mpxn}
    await rows.update(  # other resources that they feed would get the power of the next household
        models.DeviceSensor,
        col(models.DeviceSensor.device_id).in_(device_ids),
        col(models.DeviceSensor.resource_id).not_in(ids),
        resource_id=None,
    )
    await _end_grants(rows, departure, moved_out_at)
    await emit_homes_of_resources_changed(call, ids)


async def disable_alert_rules(rows: Rows, resource_ids: Sequence[str]) -> None:
    """Disable the rules of closed resources, which nothing can trigger again."""
    rule = models.AlertRule
    is_enabled = col(rule.resource_id).in_(resource_ids), col(rule.enabled).is_(True)
    await rows.update(rule, *is_enabled, enabled=False)
    await rows.update(models.Resource, col(models.Resource.resource_id).in_(resource_ids), watched=False)


async def _end_grants(rows: Rows, departure: Departure, moved_out_at: datetime) -> None:
    """End the consent of a household for its meter point, and its part in flexibility."""
    consent_ids = [consent.consent_id for consent in departure.consents]
    is_ending = col(models.MeterPointConsent.consent_id).in_(consent_ids)
    await rows.update(models.MeterPointConsent, is_ending, verified=False, ended_at=moved_out_at)
    await end_flexibility(rows, departure.tenancy, moved_out_at)


async def end_flexibility(rows: Rows, tenancy: models.MeterPointTenancy, moved_out_at: datetime) -> None:
    """End the enrolments of a household for flexibility at its meter point, and its part in events after its move."""
    user, joined = models.DfsUser, models.DfsParticipation
    is_there = col(user.user_id) == tenancy.user_id, col(user.mpxn) == tenancy.mpxn
    await rows.update(user, *is_there, col(user.active).is_(True), active=False)
    has_joined = col(joined.user_id) == tenancy.user_id, col(joined.mpxn) == tenancy.mpxn
    parts = await rows.all(joined, *has_joined)
    events = await rows.get_many(models.DfsEvent, [part.dfs_event_id for part in parts])
    later = [key for key, event in events.items() if event.starts_at >= moved_out_at]
    await rows.delete(joined, *has_joined, col(joined.dfs_event_id).in_(later))


def _proof_of(principal: Principal) -> TenancyProof:
    if principal.sees_own_records_only:
        return TenancyProof.USER
    return TenancyProof.OPERATOR if principal.role is Role.SYSTEM else TenancyProof.APPLICATION
