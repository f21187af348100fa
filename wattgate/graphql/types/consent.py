"""GraphQL types of consent to the readings of meter points."""

from datetime import datetime
from enum import Enum

import strawberry

from wattgate.enums import WithheldReason


@strawberry.enum(description="Network of a meter point.")
class MpxnKey(Enum):
    MPAN = "mpan"
    MPRN = "mprn"


@strawberry.enum(description="Kind of change of a consent.")
class ConsentChangeKind(Enum):
    RENEWAL = "renewal"
    REVOCATION = "revocation"


@strawberry.enum(description="State of a consent.")
class ConsentState(Enum):
    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@strawberry.type(description="Why the data of a resource is withheld.")
class WithheldData:
    reason: WithheldReason = strawberry.field(description="Why the data is withheld.")
    message: str = strawberry.field(description="The reason in words, and what to do.")


@strawberry.type(description="Consent of a user to the use of the readings of one meter point.")
class MeterPointConsent:
    consent_id: strawberry.ID
    user_id: strawberry.ID
    mpxn: str
    mpxn_key: MpxnKey
    verified: bool = strawberry.field(description="Whether the application has verified that the user may consent.")
    valid_until: datetime
    revoked_at: datetime | None
    state: ConsentState = strawberry.field(description="State of the consent now.")
    created_at: datetime
    updated_at: datetime


@strawberry.type(description="Record of a renewal or revocation of a consent.")
class ConsentChange:
    change_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    mpxn: str
    mpxn_key: MpxnKey
    kind: ConsentChangeKind
    valid_until: datetime = strawberry.field(description="When the consent ends after this change.")
    created_at: datetime
