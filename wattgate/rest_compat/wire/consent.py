"""Types of consent in legacy formats: the verification status of meter points, renewals and revocations."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from wattgate.operations.types.consent.consent import MpxnKey
from wattgate.rest_compat.wire.shapes import EXAMPLE_MPXN, EXAMPLE_TIME, EXAMPLE_UUID, Instant, Uuid, Valid
from wattgate.values.annotations import Described

Mpxn = Annotated[str, Meta(description="MPAN or MPRN of the meter point.")]


class MeterPointStatus(TypedDict):
    """Verification status of a meter point."""

    isVerified: Annotated[bool, Meta(description="Whether the consent is valid now.")]
    isValidUntil: Annotated[Instant, Meta(description="When the consent ends, or when it was revoked.")]
    mpxnKey: Annotated[MpxnKey, Described("Network of the meter point.")]
    mpxn: Mpxn


class VerificationStatus(TypedDict):
    """Verification status of the meter points of the acting user."""

    meterPointVerification: Annotated[list[MeterPointStatus], Meta(description="Status of each meter point.")]


VERIFICATION_STATUS_EXAMPLE = {
    "meterPointVerification": [
        {"isVerified": True, "isValidUntil": EXAMPLE_TIME, "mpxnKey": "mpan", "mpxn": EXAMPLE_MPXN}
    ]
}


class MeterPointNumber(TypedDict):
    """Number of a meter point."""

    mpxn: Annotated[str, Meta(max_length=100, description="MPAN or MPRN of the meter point.")]


class MeterPoints(TypedDict):
    """Meter points of a request."""

    meterPoints: Annotated[list[MeterPointNumber], Meta(max_length=1000, description="At most 1,000 meter points.")]


METER_POINTS_EXAMPLE: MeterPoints = {"meterPoints": [{"mpxn": EXAMPLE_MPXN}]}


class ConsentEnd(TypedDict):
    """End of a consent."""

    isValidUntil: NotRequired[
        Annotated[
            str | None,
            Meta(
                max_length=100,
                description="When the consent ends: an instant with a UTC offset or Z. The text `now` means the "
                "default. Revocations ignore it.",
            ),
        ]
    ]


RENEWAL_END_EXAMPLE: ConsentEnd = {"isValidUntil": EXAMPLE_TIME}
REVOCATION_END_EXAMPLE: ConsentEnd = {"isValidUntil": "now"}


class Renewal(TypedDict):
    """Renewed consent of a meter point."""

    mpxn: Mpxn
    valid: Valid
    meterPointVerificationRenewalId: Annotated[Uuid, Meta(description="ID of the renewal.")]
    isValidUntil: Annotated[Instant, Meta(description="When the consent ends.")]


class Renewals(TypedDict):
    """Renewed consents."""

    valid: Valid
    meterPointVerificationRenewals: Annotated[list[Renewal], Meta(description="Renewal of each meter point.")]


RENEWALS_EXAMPLE: Renewals = {
    "valid": True,
    "meterPointVerificationRenewals": [
        {
            "mpxn": EXAMPLE_MPXN,
            "valid": True,
            "meterPointVerificationRenewalId": EXAMPLE_UUID,
            "isValidUntil": EXAMPLE_TIME,
        }
    ],
}


class Revocation(TypedDict):
    """Revoked consent of a meter point."""

    mpxn: Mpxn
    meterPointVerificationRevocationId: Annotated[Uuid, Meta(description="ID of the revocation.")]


class Revocations(TypedDict):
    """Revoked consents."""

    valid: Valid
    meterPointRevocations: Annotated[list[Revocation], Meta(description="Revocation of each meter point.")]


REVOCATIONS_EXAMPLE: Revocations = {
    "valid": True,
    "meterPointRevocations": [{"mpxn": EXAMPLE_MPXN, "meterPointVerificationRevocationId": EXAMPLE_UUID}],
}


class AuditReference(TypedDict):
    """Where a change of a consent was requested."""

    applicationId: Annotated[str, Described("ID of the application that the record belongs to.")]


class ChangedBy(TypedDict):
    """The user that changed a consent."""

    key: Annotated[Literal["userId"], Meta(description="Name of the member that `value` is for.")]
    value: Annotated[str | None, Meta(description="ID of the user.")]


class ConsentHistoryEntry(TypedDict):
    """Change of the consent of a meter point."""

    auditReference: AuditReference
    createdAt: Annotated[Instant, Described("When the record was created.")]
    mpxnKey: Annotated[MpxnKey, Described("Network of the meter point.")]
    mpxn: Mpxn


_HISTORY_ENTRY_EXAMPLE: dict[str, Any] = {
    "auditReference": {"applicationId": EXAMPLE_UUID},
    "createdAt": EXAMPLE_TIME,
    "mpxnKey": "mpan",
    "mpxn": EXAMPLE_MPXN,
}
_CHANGED_BY_EXAMPLE: ChangedBy = {"key": "userId", "value": EXAMPLE_UUID}


class RenewalEntry(ConsentHistoryEntry):
    """Past renewal of the consent of a meter point."""

    renewedBy: ChangedBy
    meterPointVerificationRenewalId: Annotated[Uuid, Meta(description="ID of the renewal.")]


class RevocationEntry(ConsentHistoryEntry):
    """Past revocation of the consent of a meter point."""

    revokedBy: ChangedBy
    meterPointVerificationRevocationId: Annotated[Uuid, Meta(description="ID of the revocation.")]


class RenewalHistory(TypedDict):
    """Past renewals of the consent of a meter point."""

    valid: Valid
    meterPointRenewals: Annotated[list[RenewalEntry], Meta(description="Renewals, oldest first.")]


RENEWAL_HISTORY_EXAMPLE = {
    "valid": True,
    "meterPointRenewals": [
        {
            **_HISTORY_ENTRY_EXAMPLE,
            "renewedBy": _CHANGED_BY_EXAMPLE,
            "meterPointVerificationRenewalId": EXAMPLE_UUID,
        }
    ],
}


class RevocationHistory(TypedDict):
    """Past revocations of the consent of a meter point."""

    valid: Valid
    meterPointRevocations: Annotated[list[RevocationEntry], Meta(description="Revocations, oldest first.")]


REVOCATION_HISTORY_EXAMPLE = {
    "valid": True,
    "meterPointRevocations": [
        {
            **_HISTORY_ENTRY_EXAMPLE,
            "revokedBy": _CHANGED_BY_EXAMPLE,
            "meterPointVerificationRevocationId": EXAMPLE_UUID,
        }
    ],
}
