"""GraphQL types of consents, their receipts, tenancies and the access log."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum

import strawberry

from wattgate.db import models
from wattgate.db.queries.consent import CONSENTS_BY_METER_POINT, is_valid
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.enums import ConsentBasis, TenancyProof, WithheldReason
from wattgate.operations.core.fields import list_result
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import enum_type
from wattgate.values import terms


@enum_type(
    "Network of a meter point.",
    MPAN="Electricity.",
    MPRN="Gas.",
)
class MpxnKey(Enum):
    MPAN = "mpan"
    MPRN = "mprn"


@enum_type(
    "Kind of change of a consent.",
    GRANT="The consent was recorded, or verified for the first time.",
    RENEWAL="The consent was given again or extended.",
    REVOCATION="The consent was revoked.",
)
class ConsentChangeKind(Enum):
    GRANT = "grant"
    RENEWAL = "renewal"
    REVOCATION = "revocation"


@enum_type(
    "State of a consent.",
    VALID="The readings of the meter point may be used.",
    EXPIRED="The consent has expired.",
    REVOKED="The user has revoked the consent.",
    ENDED="The household has moved out. The readings of its own time stay readable.",
)
class ConsentState(Enum):
    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"
    ENDED = "ended"


@strawberry.type(description="Why the data of a resource is withheld.")
class WithheldData:
    reason: WithheldReason = strawberry.field(description="Why the data is withheld.")
    message: str = strawberry.field(description="The reason in words, and what to do.")


@strawberry.type(
    description="Consent of a user to the use of the readings of one meter point. Readings of the time after its end "
    "or its revocation are not stored, unless the operator has another legal basis. A renewal does not bring them back."
)
class MeterPointConsent:
    consent_id: strawberry.ID = strawberry.field(description="ID of the consent.")
    user_id: ids.UserId
    mpxn: terms.Mpxn
    mpxn_key: MpxnKey = strawberry.field(description="Network of the meter point.")
    verified: bool = strawberry.field(description="Whether the application has verified that the user may consent.")
    valid_until: datetime = strawberry.field(description="When the consent ends.")
    revoked_at: datetime | None = strawberry.field(description="When the consent was revoked. Null if it was not.")
    ended_at: datetime | None = strawberry.field(
        description="When the household moved out. Null while it lives at the meter point."
    )
    state: ConsentState = strawberry.field(description="State of the consent now.")
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.type(description="Receipt of a grant, a renewal or a revocation of a consent. It never changes.")
class ConsentReceipt(Node, model=models.ConsentChange, key="receipt_id"):
    receipt_id: strawberry.ID = strawberry.field(description="ID of the receipt.")
    user_id: ids.UserId
    mpxn: terms.Mpxn
    kind: ConsentChangeKind = strawberry.field(description="Kind of the consent change.")
    basis: ConsentBasis = strawberry.field(description="On what ground the consent was recorded or changed.")
    purpose: str = strawberry.field(description="Purpose of the use of the data. Empty if it was not recorded.")
    recorded_by: str = strawberry.field(
        description="Caller that recorded it: `account:` with its ID, `application`, `system` or, for an upgrade of "
        "the database, `migration`. Empty if it was not recorded."
    )
    valid_until: datetime = strawberry.field(description="When the consent ends after this change.")
    created_at: datetime = strawberry.field(description="When the change was recorded.")


@strawberry.type(description="Record of a grant, a renewal or a revocation of a consent.")
class ConsentChange:
    change_id: strawberry.ID = strawberry.field(description="ID of the consent change.")
    application_id: ids.ApplicationId
    user_id: ids.UserId
    mpxn: terms.Mpxn
    mpxn_key: MpxnKey = strawberry.field(description="Network of the meter point.")
    kind: ConsentChangeKind = strawberry.field(description="Kind of the consent change.")
    valid_until: datetime = strawberry.field(description="When the consent ends after this change.")
    created_at: terms.CreatedAt


ConsentChanges = list_result(
    "ConsentChanges",
    ConsentChange,
    description="Changes of the consents for several meter points.",
    items="One change for each meter point, in the order of the call.",
)


# Results for consents and their receipts, made from rows, and the batch loaders that return them.


def build_consent(row: models.MeterPointConsent, now: datetime) -> MeterPointConsent:
    """Return the result for a consent, with its state at a time."""
    return MeterPointConsent(
        consent_id=strawberry.ID(row.consent_id),
        user_id=strawberry.ID(row.user_id),
        mpxn=row.mpxn,
        mpxn_key=mpxn_key_for(row.mpxn),
        verified=row.verified,
        valid_until=row.valid_until,
        revoked_at=row.revoked_at,
        ended_at=row.ended_at,
        state=_state_of(row, now),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _state_of(row: models.MeterPointConsent, now: datetime) -> ConsentState:
    if row.revoked_at is not None:
        return ConsentState.REVOKED
    if row.ended_at is not None:
        return ConsentState.ENDED
    return ConsentState.VALID if is_valid(row, now) else ConsentState.EXPIRED


def build_receipt(row: models.ConsentChange, now: datetime | None = None) -> ConsentReceipt:
    """Return the receipt for a change of a consent. It is the same at all times."""
    return ConsentReceipt(
        receipt_id=strawberry.ID(row.change_id),
        user_id=strawberry.ID(row.user_id),
        mpxn=row.mpxn,
        kind=ConsentChangeKind(row.kind),
        basis=ConsentBasis(row.basis),
        purpose=row.purpose,
        recorded_by=row.recorded_by,
        valid_until=row.valid_until,
        created_at=row.created_at,
    )


def mpxn_key_for(mpxn: str) -> MpxnKey:
    """Return the kind of number by its length. An MPAN has 13 digits (12 in some samples), an MPRN 6 to 10."""
    return MpxnKey.MPAN if len(mpxn) > 10 else MpxnKey.MPRN


async def consents_of_resources(rows: Rows, resources: Sequence[models.Resource]) -> list[MeterPointConsent | None]:
    """Return the consent of the owner of each resource for its meter point, or None."""
    keys = [(one.owner_id, canonical_meter_point(one.mpxn) if one.mpxn else "") for one in resources]
    rows_found = await rows.find(CONSENTS_BY_METER_POINT, {mpxn for _, mpxn in keys if mpxn})
    consents = {(row.user_id, row.mpxn): row for row in rows_found}
    return [build_consent(row, rows.now) if (row := consents.get(key)) else None for key in keys]


@strawberry.type(description="Reads of one resource of a household by one caller with one operation in one hour.")
class AccessRecord:
    access_id: strawberry.ID = strawberry.field(description="ID of the entry.")
    application_id: strawberry.ID = strawberry.field(
        description="ID of the application through which the data was read."
    )
    user_id: strawberry.ID = strawberry.field(description="ID of the user whose data was read.")
    resource_id: ids.ResourceId
    operation: str = strawberry.field(description="Operation or field that returned the data, such as readings.")
    purpose: str = strawberry.field(
        description="Purpose that the caller declared in the header X-Access-Purpose. Otherwise by its role: own use, "
        "shared home, service or administration."
    )
    role: str = strawberry.field(
        description="Role of the caller: account, display, member, template_editor, application or administrator."
    )
    reader: str = strawberry.field(description="Caller: `account:` with its ID, or `application`.")
    reader_user_id: strawberry.ID | None = strawberry.field(
        description="ID of the user of the account, or of the user for whom the application acted. Null without one."
    )
    own: bool = strawberry.field(description="Whether an account of the same user read the data.")
    count: int = strawberry.field(
        description="Number of requests. A subscription counts as one request, when it starts."
    )
    hour: datetime = strawberry.field(description="Start of the hour (UTC).")
    last_at: datetime = strawberry.field(description="Time of the last read in the hour.")
    created_at: datetime = strawberry.field(description="Time of the first read in the hour.")


@strawberry.type(description="Time in which a user lives at a meter point.")
class MeterPointTenancy:
    tenancy_id: strawberry.ID = strawberry.field(description="ID of the tenancy.")
    user_id: strawberry.ID = strawberry.field(description="User who lives there.")
    mpxn: str = strawberry.field(description="Number of the meter point.")
    began_at: datetime | None = strawberry.field(
        description="When the user moved in. Null if the application knows no user who lived there before."
    )
    ended_at: datetime | None = strawberry.field(
        description="When the user moved out. Null while the user lives there."
    )
    proof: TenancyProof = strawberry.field(description="On whose word the user lives there.")
