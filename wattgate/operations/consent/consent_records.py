"""Records of consents: the consent that a caller adds or changes, and the receipt of each change."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import or_
from sqlmodel import col

from wattgate.clock import format_iso, to_ms
from wattgate.db import models
from wattgate.db.models.homes.consent import DEFAULT_PURPOSE
from wattgate.db.queries.consent import find_consent_errors
from wattgate.db.queries.tenancies import gaps_of, lives_at
from wattgate.db.rows.rows import Rows
from wattgate.energy.consent_gaps import ConsentGaps, gaps_after_grant, gaps_after_renewal, gaps_after_revocation
from wattgate.energy.meters.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.enums import ConsentBasis
from wattgate.operations.core.home_events import emit_resources_changed
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.webhook_events import enqueue_event
from wattgate.operations.tenancies.withdrawals import withdraw_since, withdrawn_fields
from wattgate.operations.types.consent import ConsentChangeKind
from wattgate.principal import Principal, Role
from wattgate.requests.request_context import format_actor

MAX_CONSENT_PERIOD = timedelta(days=548)
"""Maximum and default period of a consent: 18 months."""

EVENT_CODES = {
    ConsentChangeKind.GRANT: "consent.renewed",
    ConsentChangeKind.RENEWAL: "consent.renewed",
    ConsentChangeKind.REVOCATION: "consent.revoked",
}
"""Webhook event code of each kind of change."""


async def find_consent(call: Call, user_id: str, mpxn: str) -> models.MeterPointConsent | None:
    """Return the consent of a user for a meter point in its canonical form, or None."""
    return await call.rows.first(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == user_id,
        col(models.MeterPointConsent.mpxn) == mpxn,
    )


async def grant_consent(
    call: Call, user_id: str, mpxn: str, until: datetime, basis: ConsentBasis, purpose: str, *, verified: bool
) -> models.MeterPointConsent | None:
    """Add the first consent of a user for a meter point, with its receipt. Live subscriptions show its data.

    Return None if a concurrent call has added it.
    """
    gaps = gaps_after_grant(to_ms(until))
    record = models.MeterPointConsent(user_id=user_id, mpxn=mpxn, verified=verified, valid_until=until, gaps=gaps)
    if not await call.rows.add_if_absent(record):
        return None
    await _repeat_gaps(call, record)
    await record_change(call, record, ConsentChangeKind.GRANT, until, basis, purpose)
    await announce_readable(call, record)
    return record


async def renew_consent(
    call: Call,
    record: models.MeterPointConsent,
    until: datetime,
    purpose: str = DEFAULT_PURPOSE,
    kind: ConsentChangeKind = ConsentChangeKind.RENEWAL,
) -> models.ConsentChange:
    """Make a consent valid until an instant, with its receipt. Live subscriptions show its data again.

    Readings of the time without consent are not stored, also if they arrive later. The consent of a household that has
    moved out is not valid for longer than before.
    """
    until = until if record.ended_at is None else min(until, record.valid_until)
    if until > call.rows.now:
        record.gaps = gaps_after_renewal(gaps_of(record), to_ms(call.rows.now), to_ms(until))
    record.valid_until, record.revoked_at = until, None
    await _repeat_gaps(call, record)
    await announce_readable(call, record)
    return await record_change(call, record, kind, until, basis_of(call.principal), purpose)


async def revoke_consent(call: Call, record: models.MeterPointConsent) -> models.ConsentChange:
    """Revoke a consent, with its receipt. Readings from now on are not stored, and those dated ahead are deleted."""
    record.gaps = gaps_after_revocation(gaps_of(record), to_ms(call.rows.now))
    record.revoked_at = call.rows.now
    await _repeat_gaps(call, record)
    if not call.rows.consent_policy.stores_without:
        resources = await resources_of(call, record)
        if await call.rows.readings.count_since(withdrawn_fields(resources), to_ms(call.rows.now)):
            await withdraw_since(call, call.rows, resources, call.rows.now)
    return await record_change(call, record, ConsentChangeKind.REVOCATION, call.rows.now, basis_of(call.principal))


async def record_change(
    call: Call,
    record: models.MeterPointConsent,
    kind: ConsentChangeKind,
    until: datetime,
    basis: ConsentBasis,
    purpose: str = DEFAULT_PURPOSE,
) -> models.ConsentChange:
    """Add the receipt of a change, and the webhook event about it unless an application only provisions the user."""
    if basis is not ConsentBasis.PROVISIONED:
        payload = {"userId": record.user_id, "mpxn": record.mpxn, "validUntil": format_iso(until)}
        await enqueue_event(call, EVENT_CODES[kind], payload, user_id=record.user_id)
    return await call.rows.add(
        models.ConsentChange(
            user_id=record.user_id,
            mpxn=record.mpxn,
            kind=kind.value,
            valid_until=until,
            basis=basis.value,
            purpose=purpose,
            recorded_by=format_actor(call.principal),
            created_at=call.rows.now,
        )
    )


async def lock_consent_gaps(
    call: Call, user_id: str, mpxn: str | None, cost_of: str | None = None
) -> ConsentGaps | None:
    """Return the gaps of a user's consent for a meter point, for a new resource there; None without a consent.

    Costs without a meter point of their own need the consent for the resource `cost_of`.

    It locks the consent, so that a revocation at the same time also finds the resource.
    """
    if not mpxn and cost_of is not None:
        mpxn = (await call.rows.get(models.Resource, cost_of)).mpxn
    known = await find_consent(call, user_id, canonical_meter_point(mpxn)) if mpxn else None
    if known is None:
        return None
    with call.rows.whole_application() as rows:
        return gaps_of(await rows.edit(models.MeterPointConsent, known.consent_id))


async def _repeat_gaps(call: Call, record: models.MeterPointConsent) -> None:
    """Repeat the gaps of a consent in the resources of its user at its meter point, and in those of their costs."""
    resources = await resources_of(call, record)
    ids = [resource.resource_id for resource in resources]
    model = models.Resource
    is_concerned = or_(col(model.resource_id).in_(ids), col(model.cost_of).in_(ids))
    await call.rows.update(model, is_concerned, consent_gaps=record.gaps, updated_at=col(model.updated_at))


async def record_provisioned_consent(call: Call, user_id: str, mpxn: str | None) -> None:
    """Record the consent on which a caller relies that provisions a meter point for a user, if there is none.

    An account relies on the consent that exists. A consent that was revoked or has expired stays so. One that ended
    because the user moved out begins again, unverified, if the user has moved in again.
    """
    if mpxn is None or call.principal.sees_own_records_only:
        return
    number = canonical_meter_point(mpxn)
    known = await find_consent(call, user_id, number)
    if known is not None:
        if known.ended_at is not None and await lives_at(call.rows, user_id, number):
            record = await call.rows.edit(models.MeterPointConsent, known.consent_id)
            record.ended_at = None
        return
    is_operator = call.principal.role is Role.SYSTEM
    basis = ConsentBasis.OPERATOR if is_operator else ConsentBasis.PROVISIONED
    until = call.rows.now + MAX_CONSENT_PERIOD
    await grant_consent(call, user_id, number, until, basis, DEFAULT_PURPOSE, verified=False)


async def resources_of(call: Call, record: models.MeterPointConsent) -> list[models.Resource]:
    """Return the resources of the consent's user at its meter point."""
    return await call.rows.all(
        models.Resource,
        col(models.Resource.owner_id) == record.user_id,
        col(models.Resource.mpxn).in_(meter_point_spellings(record.mpxn)),
    )


async def announce_readable(call: Call, record: models.MeterPointConsent) -> None:
    """Let live subscriptions check again which data is withheld."""
    emit_resources_changed(call, [resource.resource_id for resource in await resources_of(call, record)])


def basis_of(principal: Principal) -> ConsentBasis:
    """Return the ground of a change that a caller makes for the user of a consent."""
    if principal.sees_own_records_only:
        return ConsentBasis.USER
    return ConsentBasis.OPERATOR if principal.role is Role.SYSTEM else ConsentBasis.APPLICATION


# Consent to read the data of meter points, checked for the resources of a call.


async def require_consent(rows: Rows, resources: Sequence[models.Resource]) -> None:
    """Raise ConsentRevoked if the consent for the meter point of one of the resources was revoked or has expired."""
    for error in (await find_consent_errors(rows, resources)).values():
        raise error


async def require_some_consent(rows: Rows, resources: Sequence[models.Resource]) -> None:
    """Raise ConsentRevoked if the data of all these resources is withheld. With some of it, the others are served."""
    errors = await find_consent_errors(rows, resources)
    if errors and all(resource.resource_id in errors for resource in resources):
        raise errors[resources[0].resource_id]


async def require_readable_resources(rows: Rows, resource_ids: Sequence[str]) -> list[models.Resource]:
    """Return the resources with these ids.

    Raise NotFound if one is missing, and ConsentRevoked if the data of all of them is withheld.
    """
    resources = await rows.require_many(models.Resource, resource_ids)
    await require_some_consent(rows, resources)
    return resources
