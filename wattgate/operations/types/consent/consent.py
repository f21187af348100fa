"""GraphQL types of consent to the readings of meter points."""

from datetime import datetime
from enum import Enum

import strawberry

from wattgate.db import models
from wattgate.enums import ConsentBasis, WithheldReason
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.enum_types import enum_type
from wattgate.operations.vocabulary.node import Node
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
