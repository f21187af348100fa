"""Consent: verified, renewed, revoked, and its history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.db.queries.consent import is_valid
from wattgate.energy.meter_points import canonical_meter_point, meter_point_spellings, parse_meter_point_number
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.cost_weights import ListSize, list_length
from wattgate.graphql.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.graphql.core.owner import require_user_id
from wattgate.graphql.services.webhook_events import enqueue_event
from wattgate.graphql.types import consent as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, MeterPointConsentRevoked

MAX_CONSENT_PERIOD = timedelta(days=548)
"""18 months: how far ahead a consent may hold, and how far it does unless something shorter is said."""

EVENT_CODES = {
    types.ConsentChangeKind.RENEWAL: "consent.renewed",
    types.ConsentChangeKind.REVOCATION: "consent.revoked",
}
"""What webhooks are told of a change."""


@dataclass(frozen=True, slots=True)
class ConsentStatus:
    """A consent as it stands at some instant."""

    consent_id: str
    user_id: str
    mpxn: str
    mpxn_key: types.MpxnKey
    verified: bool
    valid_until: datetime
    revoked_at: datetime | None
    state: types.ConsentState
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ConsentHistoryEntry:
    """A renewal or revocation as it happened."""

    change_id: str
    application_id: str
    user_id: str
    mpxn: str
    mpxn_key: types.MpxnKey
    kind: types.ConsentChangeKind
    valid_until: datetime
    created_at: datetime


@operation(
    OperationKind.QUERY,
    returns=list[types.MeterPointConsent],
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/verification/status"),
)
async def consents(call: Call) -> list[ConsentStatus]:
    """List the consents that the caller may see, by meter point."""
    found = await call.rows.all(models.MeterPointConsent, order_by=[models.MeterPointConsent.mpxn])
    return [_to_status(one, call.rows.now) for one in found]


@operation(OperationKind.MUTATION, returns=types.MeterPointConsent, needs=Permission.CONSENT_MANAGE)
async def verify_meter_point(call: Call, *, mpxn: str, valid_until: datetime | None = None) -> ConsentStatus:
    """Record that the acting user may consent for a meter point and consents to it."""
    user_id = require_user_id(call)
    number = parse_meter_point_number(mpxn)
    if number is None:
        problem = Problem(("mpxn",), "is not 1 to 13 digits")
        raise BadInput("a meter point's number is an MPAN or an MPRN", problems=[problem])
    until = _valid_until(call, valid_until)
    known = await call.rows.first(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == user_id,
        col(models.MeterPointConsent.mpxn) == number,
    )
    if known is None:
        made = await call.rows.add(
            models.MeterPointConsent(user_id=user_id, mpxn=number, verified=True, valid_until=until)
        )
        await _enqueue_change_event(call, made, EVENT_CODES[types.ConsentChangeKind.RENEWAL], until)
        return _to_status(made, call.rows.now)
    record = await call.rows.edit(models.MeterPointConsent, known.consent_id)
    record.verified = True
    await _renew(call, record, until)
    return _to_status(record, call.rows.now)


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
) -> list[ConsentHistoryEntry]:
    """Renew the acting user's consents for meter points, by default for 18 months from now."""
    until = _valid_until(call, valid_until)
    return [_to_history_entry(await _renew(call, record, until)) for record in await _edit_consents(call, mpxns)]


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
async def revoke_consents(call: Call, *, mpxns: list[str]) -> list[ConsentHistoryEntry]:
    """Revoke the acting user's consents for meter points.

    Queries and subscriptions for their readings then return an error.
    """
    changes = []
    for record in await _edit_consents(call, mpxns):
        record.revoked_at = call.rows.now
        changes.append(
            _to_history_entry(await _record_change(call, record, types.ConsentChangeKind.REVOCATION, call.rows.now))
        )
        measured = await call.rows.all(
            models.Resource,
            col(models.Resource.owner_id) == record.user_id,
            col(models.Resource.mpxn).in_(meter_point_spellings(record.mpxn)),
        )
        for resource in measured:
            call.emit(Event(topics.readings(resource.resource_id), "consent", MeterPointConsentRevoked(record.mpxn)))
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
) -> list[ConsentHistoryEntry]:
    """List the renewals and revocations of the acting user's consent for a meter point, oldest first."""
    await _consent_ids(call, [mpxn])
    found = await call.rows.all(
        models.ConsentChange,
        col(models.ConsentChange.mpxn) == canonical_meter_point(mpxn),
        *([] if kind is None else [col(models.ConsentChange.kind) == kind.value]),
        order_by=[models.ConsentChange.created_at],
    )
    return [_to_history_entry(one) for one in found]


def mpxn_key_for(mpxn: str) -> types.MpxnKey:
    """An MPAN has 13 digits (12 in some samples), an MPRN 6 to 10."""
    return types.MpxnKey.MPAN if len(mpxn) > 10 else types.MpxnKey.MPRN


async def _edit_consents(call: Call, mpxns: Sequence[str]) -> list[models.MeterPointConsent]:
    """The user's consents for these meter points, to be changed. NotFound where one is not on record."""
    return [await call.rows.edit(models.MeterPointConsent, one) for one in await _consent_ids(call, mpxns)]


async def _consent_ids(call: Call, mpxns: Sequence[str]) -> list[str]:
    """The ids of the user's consents for these meter points. NotFound where one is not on record."""
    user_id, wanted = require_user_id(call), list(dict.fromkeys(map(canonical_meter_point, mpxns)))
    found = await call.rows.all(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == user_id,
        col(models.MeterPointConsent.mpxn).in_(wanted),
    )
    ids = {one.mpxn: one.consent_id for one in found}
    for mpxn in wanted:
        if mpxn not in ids:
            raise NotFound(f"no consent for meter point {mpxn}")
    return [ids[mpxn] for mpxn in wanted]


async def _renew(call: Call, record: models.MeterPointConsent, until: datetime) -> models.ConsentChange:
    record.valid_until, record.revoked_at = until, None
    return await _record_change(call, record, types.ConsentChangeKind.RENEWAL, until)


async def _record_change(
    call: Call, record: models.MeterPointConsent, kind: types.ConsentChangeKind, until: datetime
) -> models.ConsentChange:
    change = models.ConsentChange(user_id=record.user_id, mpxn=record.mpxn, kind=kind.value, valid_until=until)
    await _enqueue_change_event(call, record, EVENT_CODES[kind], until)
    return await call.rows.add(change)


async def _enqueue_change_event(call: Call, record: models.MeterPointConsent, event_code: str, until: datetime) -> None:
    told = {"userId": record.user_id, "mpxn": record.mpxn, "validUntil": format_iso(until)}
    await enqueue_event(call, event_code, told, user_id=record.user_id)


def _valid_until(call: Call, asked: datetime | None) -> datetime:
    longest = call.rows.now + MAX_CONSENT_PERIOD
    if asked is not None and asked <= call.rows.now:
        raise BadInput("a consent ends in the future", problems=[Problem(("validUntil",), "is not in the future")])
    return longest if asked is None else min(asked, longest)


def _to_status(row: models.MeterPointConsent, now: datetime) -> ConsentStatus:
    state = types.ConsentState.VALID if is_valid(row, now) else types.ConsentState.EXPIRED
    return ConsentStatus(
        consent_id=row.consent_id,
        user_id=row.user_id,
        mpxn=row.mpxn,
        mpxn_key=mpxn_key_for(row.mpxn),
        verified=row.verified,
        valid_until=row.valid_until,
        revoked_at=row.revoked_at,
        state=types.ConsentState.REVOKED if row.revoked_at else state,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _to_history_entry(row: models.ConsentChange) -> ConsentHistoryEntry:
    return ConsentHistoryEntry(
        change_id=row.change_id,
        application_id=row.application_id,
        user_id=row.user_id,
        mpxn=row.mpxn,
        mpxn_key=mpxn_key_for(row.mpxn),
        kind=types.ConsentChangeKind(row.kind),
        valid_until=row.valid_until,
        created_at=row.created_at,
    )
