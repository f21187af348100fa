"""Consents to read a meter point's data, with their history, and the tenancies for which they are."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.models.homes.consent import DEFAULT_PURPOSE
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.errors import BadInput, Conflict, NotFound, Problem, QuotaExceeded
from wattgate.operations.consent import consent_records as records
from wattgate.operations.core.context import require_user_id
from wattgate.operations.core.home_events import emit_consent_revoked
from wattgate.operations.core.operation import BY_NODE, Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.core.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, list_after
from wattgate.operations.tenancies.tenancies import begin_tenancy, lock_tenancies
from wattgate.operations.types import consent as types
from wattgate.operations.types.consent import build_consent, build_receipt, mpxn_key_for
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import ListSize, linear_in_argument, list_length
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described


@operation(
    OperationKind.QUERY,
    returns=list[types.MeterPointConsent],
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/verification/status", Tag.CONSENTS),
    in_graphql=("viewer", "consents"),
)
async def consents(call: Call) -> list[types.MeterPointConsent]:
    """List the consents that the caller may see, by meter point."""
    consents = await call.rows.all(models.MeterPointConsent, order_by=[models.MeterPointConsent.mpxn])
    return [build_consent(consent, call.rows.now) for consent in consents]


@operation(
    OperationKind.MUTATION, returns=types.MeterPointConsent, needs=Permission.CONSENT_MANAGE, audit=Audit.EVERY_CALL
)
async def verify_meter_point(
    call: Call,
    *,
    mpxn: terms.Mpxn,
    valid_until: Annotated[
        datetime, Described("End of the consent, at most 18 months ahead, which is also the default.")
    ]
    | None = None,
    purpose: Annotated[terms.Text200, Described("Purpose of the use of the data, for the receipt.")] = DEFAULT_PURPOSE,
    moved_in_at: terms.MovedInAt | None = None,
) -> types.MeterPointConsent:
    """Record that the acting user lives at a meter point, may consent for it, and consents to it.

    Another household that lives there has to move out first. With `movedInAt`, it moves out at that instant.
    """
    user_id = require_user_id(call)
    number = canonical_meter_point(mpxn)
    if not number:
        problem = Problem(("mpxn",), "has no letter and no digit")
        raise BadInput("Invalid meter point. Give its number, such as an MPAN or an MPRN.", problems=[problem])
    until = _valid_until(call, valid_until)
    await begin_tenancy(call, user_id, number, moved_in_at, "movedInAt")
    known = await records.find_consent(call, user_id, number)
    if known is None:
        basis = records.basis_of(call.principal)
        added = await records.grant_consent(call, user_id, number, until, basis, purpose, verified=True)
        if added is not None:
            return build_consent(added, call.rows.now)
        known = await records.find_consent(call, user_id, number)
        assert known is not None  # a concurrent call has added it
    record = await call.rows.edit(models.MeterPointConsent, known.consent_id)
    kind = types.ConsentChangeKind.RENEWAL if record.verified else types.ConsentChangeKind.GRANT
    record.verified, record.ended_at = True, None
    await records.renew_consent(call, record, until, purpose, kind)
    return build_consent(record, call.rows.now)


@operation(
    OperationKind.MUTATION,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=(
        RestRoute("POST", "/user/verification/status/mpxns/renewal", Tag.CONSENTS),
        RestRoute("POST", "/user/verification/status/mpxn/{mpxn}/renewal", Tag.CONSENTS),
    ),
    raises=(NotFound, Conflict, QuotaExceeded),
    sizes=[ListSize(list_length("mpxns")), ListSize(list_length("mpxns"), ("ConsentChanges.items",))],
    list_type=types.ConsentChanges,
)
async def renew_consents(
    call: Call,
    *,
    mpxns: terms.Mpxns,
    valid_until: Annotated[
        datetime, Described("End of the consents, at most 18 months ahead, which is also the default.")
    ]
    | None = None,
) -> list[types.ConsentChange]:
    """Renew the acting user's consents for meter points, by default for 18 months from now.

    A user who has moved out takes a revocation back with it, and reads the own time there again. Such a consent stays
    ended, and is not valid for longer than before.
    """
    until = _valid_until(call, valid_until)
    consents = await _edit_consents(call, mpxns)
    for record in consents:
        if record.ended_at is not None and record.revoked_at is None:
            raise Conflict(
                f"The user has moved out at meter point {record.mpxn}, so its consent cannot be renewed. A user "
                "who moves in again needs a new one: verifyMeterPoint."
            )
    return [_build_change(await records.renew_consent(call, record, until)) for record in consents]


@operation(
    OperationKind.MUTATION,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    rest=(
        RestRoute("POST", "/user/verification/status/mpxns/revocation", Tag.CONSENTS),
        RestRoute("POST", "/user/verification/status/mpxn/{mpxn}/revocation", Tag.CONSENTS),
    ),
    raises=(NotFound, Conflict),
    sizes=[ListSize(list_length("mpxns")), ListSize(list_length("mpxns"), ("ConsentChanges.items",))],
    list_type=types.ConsentChanges,
)
async def revoke_consents(call: Call, *, mpxns: terms.Mpxns) -> list[types.ConsentChange]:
    """Revoke the acting user's consents for meter points.

    Queries then return an error in place of their data. Subscriptions go on with the data of other meter points.
    Readings of the time without consent are not stored, unless the operator has another legal basis. A renewal does not
    bring them back.
    """
    changes = []
    for record in await _edit_consents(call, mpxns):
        changes.append(_build_change(await records.revoke_consent(call, record)))
        resources = await records.resources_of(call, record)
        emit_consent_revoked(call, record.mpxn, [resource.resource_id for resource in resources])
    return changes


@operation(
    OperationKind.QUERY,
    returns=list[types.ConsentChange],
    needs=Permission.CONSENT_READ,
    rest=(
        RestRoute("GET", "/user/verification/status/mpxn/{mpxn}/renewal", Tag.CONSENTS),
        RestRoute("GET", "/user/verification/status/mpxn/{mpxn}/revocation", Tag.CONSENTS),
    ),
)
async def consent_changes(
    call: Call,
    *,
    mpxn: terms.Mpxn,
    kind: Annotated[types.ConsentChangeKind, Described("Return only changes of this kind. Default: all changes.")]
    | None = None,
) -> list[types.ConsentChange]:
    """List the grants, renewals and revocations of the acting user's consent for a meter point, oldest first."""
    await _consent_ids(call, [mpxn])
    changes = await call.rows.all(
        models.ConsentChange,
        col(models.ConsentChange.mpxn) == canonical_meter_point(mpxn),
        *([] if kind is None else [col(models.ConsentChange.kind) == kind.value]),
        order_by=[models.ConsentChange.created_at],
    )
    return [_build_change(change) for change in changes]


@operation(
    OperationKind.QUERY,
    returns=list[types.ConsentReceipt],
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/consentreceipt", Tag.CONSENTS),
    raises=(NotFound,),
    sizes=[ListSize(linear_in_argument("first", DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE))],
    in_graphql=("viewer", "consentReceipts"),
)
async def consent_receipts(
    call: Call,
    *,
    first: terms.FirstReceipts = DEFAULT_PAGE_SIZE,
    after: Annotated[Id, Described("ID of the last receipt that you have. Default: the list starts at the beginning.")]
    | None = None,
) -> list[types.ConsentReceipt]:
    """List the receipts of consents that the caller may see, oldest first.

    `after` is the ID of the last receipt that you have. `first` is the maximum number of receipts, up to 100.
    """
    return [build_receipt(row) for row in await list_after(call, models.ConsentChange, first, after)]


@operation(
    OperationKind.QUERY,
    returns=list[types.MeterPointTenancy],
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/tenancy", Tag.CONSENTS),
    raises=(NotFound,),
    sizes=[ListSize(linear_in_argument("first", DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE))],
    in_graphql=("viewer", "tenancies"),
)
async def tenancies(
    call: Call,
    *,
    first: terms.FirstTenancies = DEFAULT_PAGE_SIZE,
    after: Annotated[Id, Described("ID of the last tenancy that you have. Default: the list starts at the beginning.")]
    | None = None,
) -> list[models.MeterPointTenancy]:
    """List the times in which the user lives or has lived at meter points, oldest record first.

    A user sees the own ones. `after` is the ID of the last tenancy that you have. `first` is the maximum number of
    tenancies, up to 100.
    """
    return await list_after(call, models.MeterPointTenancy, first, after)


@operation(
    OperationKind.QUERY,
    returns=types.ConsentReceipt,
    needs=Permission.CONSENT_READ,
    rest=RestRoute("GET", "/user/consentreceipt/{receiptId}", Tag.CONSENTS),
    in_graphql=BY_NODE,
)
async def consent_receipt(
    call: Call, *, receipt_id: Annotated[Id, Described("ID of the receipt.")]
) -> types.ConsentReceipt:
    """Return the receipt with this ID."""
    return build_receipt(await call.rows.get(models.ConsentChange, receipt_id))


async def _edit_consents(call: Call, mpxns: Sequence[str]) -> list[models.MeterPointConsent]:
    """Return the user's consents for these meter points, for update. Raise NotFound if one does not exist.

    It locks them in an order that does not depend on that of the request, as all operations do.
    """
    consent_ids = await _consent_ids(call, mpxns)
    await lock_tenancies(call, *mpxns)
    await call.rows.lock(models.MeterPointConsent, col(models.MeterPointConsent.consent_id).in_(consent_ids))
    return [await call.rows.edit(models.MeterPointConsent, consent_id) for consent_id in consent_ids]


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


def _valid_until(call: Call, requested: datetime | None) -> datetime:
    latest = call.rows.now + records.MAX_CONSENT_PERIOD
    if requested is not None and requested <= call.rows.now:
        raise BadInput("A consent must end in the future.", problems=[Problem(("validUntil",), "is not in the future")])
    return latest if requested is None else min(requested, latest)


def _build_change(row: models.ConsentChange) -> types.ConsentChange:
    return types.ConsentChange(
        change_id=Id(row.change_id),
        application_id=Id(row.application_id),
        user_id=Id(row.user_id),
        mpxn=row.mpxn,
        mpxn_key=mpxn_key_for(row.mpxn),
        kind=types.ConsentChangeKind(row.kind),
        valid_until=row.valid_until,
        created_at=row.created_at,
    )
