"""Consent to meter points' data."""

from datetime import datetime
from enum import Enum

import strawberry


@strawberry.enum(description="Which network a meter point belongs to: mpan is electricity, mprn is gas.")
class MpxnKey(Enum):
    MPAN = "mpan"
    MPRN = "mprn"


@strawberry.enum(description="What happened to a consent.")
class ConsentChangeKind(Enum):
    RENEWAL = "renewal"
    REVOCATION = "revocation"


@strawberry.enum(description="Whether a meter point's data may be had.")
class ConsentState(Enum):
    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@strawberry.type(description="A user's consent for one meter point.")
class MeterPointConsent:
    consent_id: strawberry.ID
    user_id: strawberry.ID
    mpxn: str = strawberry.field(description="The meter point's number: an MPAN or an MPRN.")
    mpxn_key: MpxnKey
    verified: bool = strawberry.field(description="Whether it is verified that the user may consent.")
    valid_until: datetime
    revoked_at: datetime | None
    state: ConsentState
    created_at: datetime
    updated_at: datetime


@strawberry.type(description="A renewal or a revocation, as it happened.")
class ConsentChange:
    change_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    mpxn: str
    mpxn_key: MpxnKey
    kind: ConsentChangeKind
    valid_until: datetime = strawberry.field(description="Until when the consent holds since then.")
    created_at: datetime
