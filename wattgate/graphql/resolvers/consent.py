"""Consents to read a meter point's data: verify, renew, revoke and list them, with their history."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import strawberry
from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.db.queries.consent import is_valid
from wattgate.energy.meter_points import canonical_meter_point, meter_point_spellings, parse_meter_point_number
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.acting_user import require_user_id
from wattgate.graphql.core.cost_weights import ListSize, list_length
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.services.changes import emit_resources_changed
from wattgate.graphql.services.webhook_events import enqueue_event
from wattgate.graphql.types import consent as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, MeterPointConsentRevoked

MAX_CONSENT_PERIOD = timedelta(days=548)
"""Maximum and default period of a consent: 18 months."""

EVENT_CODES = {
    types.ConsentChangeKind.RENEWAL: "consent.renewed",
    types.ConsentChangeKind.REVOCATION: "consent.revoked",
}
"""Webhook event code of each kind of change."""


@operation(
    OperationKind.QUERY,
    returns=list[types.MeterPointConsent],
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/verification/status"),
)
async def consents(call: Call) -> list[types.MeterPointConsent]:
    """List the consents that the caller may see, by meter point."""
    consents = await call.rows.all(models.MeterPointConsent, order_by=[models.MeterPointConsent.mpxn])
    return [_build_consent(consent, call.rows.now) for consent in consents]


@operation(OperationKind.MUTATION, returns=types.MeterPointConsent, needs=Permission.CONSENT_MANAGE)
async def verify_meter_point(call: Call, *, mpxn: str, valid_until: datetime | None = None) -> types.MeterPointConsent:
    """Record that the acting user may consent for a meter point and consents to it."""
    user_id = require_user_id(call)
    number = parse_meter_point_number(mpxn)
    if number is None:
        problem = Problem(("mpxn",), "is not a number of 1 to 13 digits")
        raise BadInput("Invalid meter point number. Give an MPAN or an MPRN.", problems=[problem])
    until = _valid_until(call, valid_until)
    known = await call.rows.first(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == user_id,
        col(models.MeterPointConsent.mpxn) == number,
    )
    if known is None:
        added = await call.rows.add(
            models.MeterPointConsent(user_id=user_id, mpxn=number, verified=True, valid_until=until)
        )
        await _enqueue_change_event(call, added, EVENT_CODES[types.ConsentChangeKind.RENEWAL], until)
        return _build_consent(added, call.rows.now)
    record = await call.rows.edit(models.MeterPointConsent, known.consent_id)
    record.verified = True
    await _renew(call, record, until)
    return _build_consent(record, call.rows.now)


@operation(
    OperationKind.MUTATION,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_WRITE,
    rest=(
        RestRoute("POST", "/user/verification/status/mpxns/renewal"),
        RestRoute("POST", "/user/verification/status/mpxn/{mpxn}/renewal"),
    ),
    sizes=[ListSize(list_length("mpxns"))],
)
async def renew_consents(
    call: Call, *, mpxns: list[str], valid_until: datetime | None = None
) -> list[types.ConsentChange]:
    """Renew the acting user's consents for meter points, by default for 18 months from now."""
    until = _valid_until(call, valid_until)
    return [_build_change(await _renew(call, record, until)) for record in await _edit_consents(call, mpxns)]


@operation(
    OperationKind.MUTATION,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_WRITE,
    rest=(
        RestRoute("POST", "/user/verification/status/mpxns/revocation"),
        RestRoute("POST", "/user/verification/status/mpxn/{mpxn}/revocation"),
    ),
    sizes=[ListSize(list_length("mpxns"))],
)
async def revoke_consents(call: Call, *, mpxns: list[str]) -> list[types.ConsentChange]:
    """Revoke the acting user's consents for meter points.

    Queries then return an error in place of their data. Subscriptions go on with the data of other meter points.
    """
    changes = []
    for record in await _edit_consents(call, mpxns):
        record.revoked_at = call.rows.now
        changes.append(
            _build_change(await _record_change(call, record, types.ConsentChangeKind.REVOCATION, call.rows.now))
        )
        for resource in await _resources_of(call, record):
            call.emit(
                Event(
                    topics.readings(resource.resource_id),
                    "consent",
                    MeterPointConsentRevoked(record.mpxn, resource.resource_id),
                )
            )
    return changes


@operation(
    OperationKind.QUERY,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_READ,
    rest=(
        RestRoute("GET", "/user/verification/status/mpxn/{mpxn}/renewal"),
        RestRoute("GET", "/user/verification/status/mpxn/{mpxn}/revocation"),
    ),
)
async def consent_changes(
    call: Call, *, mpxn: str, kind: types.ConsentChangeKind | None = None
) -> list[types.ConsentChange]:
    """List the renewals and revocations of the acting user's consent for a meter point, oldest first."""
    await _consent_ids(call, [mpxn])
    changes = await call.rows.all(
        models.ConsentChange,
        col(models.ConsentChange.mpxn) == canonical_meter_point(mpxn),
        *([] if kind is None else [col(models.ConsentChange.kind) == kind.value]),
        order_by=[models.ConsentChange.created_at],
    )
    return [_build_change(change) for change in changes]


def mpxn_key_for(mpxn: str) -> types.MpxnKey:
    """Return the kind of number by its length. An MPAN has 13 digits (12 in some samples), an MPRN 6 to 10."""
    return types.MpxnKey.MPAN if len(mpxn) > 10 else types.MpxnKey.MPRN


async def _edit_consents(call: Call, mpxns: Sequence[str]) -> list[models.MeterPointConsent]:
    """Return the user's consents for these meter points, for update. Raise NotFound if one does not exist."""
    return [
        await call.rows.edit(models.MeterPointConsent, consent_id) for consent_id in await _consent_ids(call, mpxns)
    ]


async def _consent_ids(call: Call, mpxns: Sequence[str]) -> list[str]:
    """Return the ids of the user's consents for these meter points. Raise NotFound if one does not exist."""
    user_id, requested = require_user_id(call), list(dict.fromkeys(map(canonical_meter_point, mpxns)))
    consents = await call.rows.all(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == user_id,
        col(models.MeterPointConsent.mpxn).in_(requested),
    )
    ids = {consent.mpxn: consent.consent_id for consent in consents}
    for mpxn in requested:
        if mpxn not in ids:
            raise NotFound(f"The user has no consent for meter point {mpxn}.")
    return [ids[mpxn] for mpxn in requested]


async def _resources_of(call: Call, record: models.MeterPointConsent) -> list[models.Resource]:
    return await call.rows.all(
        models.Resource,
        col(models.Resource.owner_id) == record.user_id,
        col(models.Resource.mpxn).in_(meter_point_spellings(record.mpxn)),
    )


async def _renew(call: Call, record: models.MeterPointConsent, until: datetime) -> models.ConsentChange:
    record.valid_until, record.revoked_at = until, None
    emit_resources_changed(call, [resource.resource_id for resource in await _resources_of(call, record)])
    return await _record_change(call, record, types.ConsentChangeKind.RENEWAL, until)


async def _record_change(
    call: Call, record: models.MeterPointConsent, kind: types.ConsentChangeKind, until: datetime
) -> models.ConsentChange:
    change = models.ConsentChange(user_id=record.user_id, mpxn=record.mpxn, kind=kind.value, valid_until=until)
    await _enqueue_change_event(call, record, EVENT_CODES[kind], until)
    return await call.rows.add(change)


async def _enqueue_change_event(call: Call, record: models.MeterPointConsent, event_code: str, until: datetime) -> None:
    payload = {"userId": record.user_id, "mpxn": record.mpxn, "validUntil": format_iso(until)}
    await enqueue_event(call, event_code, payload, user_id=record.user_id)


def _valid_until(call: Call, requested: datetime | None) -> datetime:
    latest = call.rows.now + MAX_CONSENT_PERIOD
    if requested is not None and requested <= call.rows.now:
        raise BadInput("A consent must end in the future.", problems=[Problem(("validUntil",), "is not in the future")])
    return latest if requested is None else min(requested, latest)


def _build_consent(row: models.MeterPointConsent, now: datetime) -> types.MeterPointConsent:
    state = types.ConsentState.VALID if is_valid(row, now) else types.ConsentState.EXPIRED
    return types.MeterPointConsent(
        consent_id=strawberry.ID(row.consent_id),
        user_id=strawberry.ID(row.user_id),
        mpxn=row.mpxn,
        mpxn_key=mpxn_key_for(row.mpxn),
        verified=row.verified,
        valid_until=row.valid_until,
        revoked_at=row.revoked_at,
        state=types.ConsentState.REVOKED if row.revoked_at else state,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _build_change(row: models.ConsentChange) -> types.ConsentChange:
    return types.ConsentChange(
        change_id=strawberry.ID(row.change_id),
        application_id=strawberry.ID(row.application_id),
        user_id=strawberry.ID(row.user_id),
        mpxn=row.mpxn,
        mpxn_key=mpxn_key_for(row.mpxn),
        kind=types.ConsentChangeKind(row.kind),
        valid_until=row.valid_until,
        created_at=row.created_at,
    )
