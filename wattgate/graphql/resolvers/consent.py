"""Consent: verified, renewed, revoked, and its history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import col

from wattgate.clock import iso
from wattgate.db import models
from wattgate.db.queries.consent import holds
from wattgate.energy.meter_points import canonical, meter_point_number, spellings
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.cost_weights import Size, count_of
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.core.owner import owner_of
from wattgate.graphql.services.webhook_events import enqueue_event
from wattgate.graphql.types import consent as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, Revoked

LONGEST = timedelta(days=548)
"""18 months: how far ahead a consent may hold, and how far it does unless something shorter is said."""

EVENT_OF = {
    types.ConsentChangeKind.RENEWAL: "consent.renewed",
    types.ConsentChangeKind.REVOCATION: "consent.revoked",
}
"""What webhooks are told of a change."""


@dataclass(frozen=True, slots=True)
class Consent:
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
class Change:
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
    Kind.QUERY,
    returns=list[types.MeterPointConsent],
    needs=Permission.CONSENT_READ,
    rest=Rest("GET", "/user/verification/status"),
)
async def consents(call: Call) -> list[Consent]:
    """The consents of the user, or of the application's users, by meter point."""
    found = await call.rows.all(models.MeterPointConsent, order_by=[models.MeterPointConsent.mpxn])
    return [_told(one, call.rows.now) for one in found]


@operation(Kind.MUTATION, returns=types.MeterPointConsent, needs=Permission.CONSENT_MANAGE)
async def verify_meter_point(call: Call, *, mpxn: str, valid_until: datetime | None = None) -> Consent:
    """Put on record that the user for whom the call is made may consent for a meter point, and does."""
    user_id = owner_of(call)
    number = meter_point_number(mpxn)
    if number is None:
        problem = Problem(("mpxn",), "is not 1 to 13 digits")
        raise BadInput("a meter point's number is an MPAN or an MPRN", problems=[problem])
    until = _until(call, valid_until)
    known = await call.rows.first(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == user_id,
        col(models.MeterPointConsent.mpxn) == number,
    )
    if known is None:
        made = await call.rows.add(
            models.MeterPointConsent(user_id=user_id, mpxn=number, verified=True, valid_until=until)
        )
        await _tell(call, made, EVENT_OF[types.ConsentChangeKind.RENEWAL], until)
        return _told(made, call.rows.now)
    record = await call.rows.edit(models.MeterPointConsent, known.consent_id)
    record.verified = True
    await _renew(call, record, until)
    return _told(record, call.rows.now)


@operation(
    Kind.MUTATION,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_WRITE,
    rest=(
        Rest("POST", "/user/verification/status/mpxns/renewal"),
        Rest("POST", "/user/verification/status/mpxn/{mpxn}/renewal"),
    ),
    sizes=[Size(count_of("mpxns"))],
)
async def renew_consents(call: Call, *, mpxns: list[str], valid_until: datetime | None = None) -> list[Change]:
    """Renew the user's consent for meter points, for 18 months from now unless an earlier end is given."""
    until = _until(call, valid_until)
    return [_change(await _renew(call, record, until)) for record in await _records(call, mpxns)]


@operation(
    Kind.MUTATION,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_WRITE,
    rest=(
        Rest("POST", "/user/verification/status/mpxns/revocation"),
        Rest("POST", "/user/verification/status/mpxn/{mpxn}/revocation"),
    ),
    sizes=[Size(count_of("mpxns"))],
)
async def revoke_consents(call: Call, *, mpxns: list[str]) -> list[Change]:
    """Revoke the user's consent for meter points: their readings are served and streamed no longer."""
    changes = []
    for record in await _records(call, mpxns):
        record.revoked_at = call.rows.now
        changes.append(_change(await _log(call, record, types.ConsentChangeKind.REVOCATION, call.rows.now)))
        measured = await call.rows.all(
            models.Resource,
            col(models.Resource.owner_id) == record.user_id,
            col(models.Resource.mpxn).in_(spellings(record.mpxn)),
        )
        for resource in measured:
            call.emit(Event(topics.readings(resource.resource_id), "consent", Revoked(record.mpxn)))
    return changes


@operation(
    Kind.QUERY,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_READ,
    rest=(
        Rest("GET", "/user/verification/status/mpxn/{mpxn}/renewal"),
        Rest("GET", "/user/verification/status/mpxn/{mpxn}/revocation"),
    ),
)
async def consent_changes(call: Call, *, mpxn: str, kind: types.ConsentChangeKind | None = None) -> list[Change]:
    """What happened to the consent for a meter point, oldest first; renewals or revocations only where asked."""
    await _known(call, [mpxn])
    found = await call.rows.all(
        models.ConsentChange,
        col(models.ConsentChange.mpxn) == canonical(mpxn),
        *([] if kind is None else [col(models.ConsentChange.kind) == kind.value]),
        order_by=[models.ConsentChange.created_at],
    )
    return [_change(one) for one in found]


def key_of(mpxn: str) -> types.MpxnKey:
    """An MPAN has 13 digits (12 in some samples), an MPRN 6 to 10."""
    return types.MpxnKey.MPAN if len(mpxn) > 10 else types.MpxnKey.MPRN


async def _records(call: Call, mpxns: Sequence[str]) -> list[models.MeterPointConsent]:
    """The user's consents for these meter points, to be changed. NotFound where one is not on record."""
    return [await call.rows.edit(models.MeterPointConsent, one) for one in await _known(call, mpxns)]


async def _known(call: Call, mpxns: Sequence[str]) -> list[str]:
    """The ids of the user's consents for these meter points. NotFound where one is not on record."""
    user_id, wanted = owner_of(call), list(dict.fromkeys(map(canonical, mpxns)))
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
    return await _log(call, record, types.ConsentChangeKind.RENEWAL, until)


async def _log(
    call: Call, record: models.MeterPointConsent, kind: types.ConsentChangeKind, until: datetime
) -> models.ConsentChange:
    change = models.ConsentChange(user_id=record.user_id, mpxn=record.mpxn, kind=kind.value, valid_until=until)
    await _tell(call, record, EVENT_OF[kind], until)
    return await call.rows.add(change)


async def _tell(call: Call, record: models.MeterPointConsent, event_code: str, until: datetime) -> None:
    told = {"userId": record.user_id, "mpxn": record.mpxn, "validUntil": iso(until)}
    await enqueue_event(call, event_code, told, user_id=record.user_id)


def _until(call: Call, asked: datetime | None) -> datetime:
    longest = call.rows.now + LONGEST
    if asked is not None and asked <= call.rows.now:
        raise BadInput("a consent ends in the future", problems=[Problem(("validUntil",), "is not in the future")])
    return longest if asked is None else min(asked, longest)


def _told(row: models.MeterPointConsent, now: datetime) -> Consent:
    state = types.ConsentState.VALID if holds(row, now) else types.ConsentState.EXPIRED
    return Consent(
        consent_id=row.consent_id,
        user_id=row.user_id,
        mpxn=row.mpxn,
        mpxn_key=key_of(row.mpxn),
        verified=row.verified,
        valid_until=row.valid_until,
        revoked_at=row.revoked_at,
        state=types.ConsentState.REVOKED if row.revoked_at else state,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _change(row: models.ConsentChange) -> Change:
    return Change(
        change_id=row.change_id,
        application_id=row.application_id,
        user_id=row.user_id,
        mpxn=row.mpxn,
        mpxn_key=key_of(row.mpxn),
        kind=types.ConsentChangeKind(row.kind),
        valid_until=row.valid_until,
        created_at=row.created_at,
    )
