"""Legacy formats of consent: the verification status of meter points, renewals and revocations."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from wattgate.clock import format_iso
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.operations.types.consent import ConsentState, MpxnKey
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire_readings import NoQuery
from wattgate.rest_compat.wire_shapes import EXAMPLE_MPXN, EXAMPLE_TIME, EXAMPLE_UUID, GraphQLName, Instant, Uuid, Valid
from wattgate.values import terms
from wattgate.values.annotations import Described

# Types of consent in legacy formats: the verification status of meter points, renewals and revocations.

Mpxn = Annotated[str, Meta(description="MPAN or MPRN of the meter point.")]


class MeterPointStatus(TypedDict):
    """Verification status of a meter point."""

    isVerified: Annotated[
        bool, Meta(description="Whether the consent is valid now, so that the readings of the meter point are served.")
    ]
    state: Annotated[Annotated[Any, GraphQLName("ConsentState")], Described("State of the consent now.")]
    isValidUntil: Annotated[Instant, Meta(description="When the consent ends, or when it was revoked.")]
    mpxnKey: Annotated[MpxnKey, Described("Network of the meter point.")]
    mpxn: Mpxn


class VerificationStatus(TypedDict):
    """Verification status of the meter points of the acting user."""

    meterPointVerification: Annotated[list[MeterPointStatus], Meta(description="Status of each meter point.")]


VERIFICATION_STATUS_EXAMPLE = {
    "meterPointVerification": [
        {"isVerified": True, "state": "valid", "isValidUntil": EXAMPLE_TIME, "mpxnKey": "mpan", "mpxn": EXAMPLE_MPXN}
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


# Legacy formats of consent: the verification status of meter points, renewals and revocations.


NOW = "now"


def _status_body(result: RestResult) -> dict[str, Any]:
    return {
        "meterPointVerification": [
            {
                "isVerified": status.state is ConsentState.VALID,
                "state": status.state.value,
                "isValidUntil": format_iso(status.revoked_at or status.ended_at or status.valid_until),
                "mpxnKey": status.mpxn_key.value,
                "mpxn": status.mpxn,
            }
            for status in result.result
        ]
    }


def _parse_meter_points(request: LegacyRequest) -> RawArguments:
    """Convert a body `{"meterPoints": [{"mpxn": ...}]}`."""
    points = request.body_members.get("meterPoints")
    if not isinstance(points, list):
        return RawArguments({})
    return RawArguments({"mpxns": [point.get("mpxn") if isinstance(point, dict) else point for point in points]})


def _parse_meter_point(request: LegacyRequest) -> RawArguments:
    """Convert the meter point in the path, and `isValidUntil` of the body, which revocations ignore."""
    until = request.body_members.get("isValidUntil")
    arguments: dict[str, Any] = {"mpxns": [request.path["mpxn"]]}
    return RawArguments(arguments if until in (None, NOW) else {**arguments, "validUntil": until})


def _renewals_body(result: RestResult) -> dict[str, Any]:
    return {
        "valid": True,
        "meterPointVerificationRenewals": [
            {
                "mpxn": change.mpxn,
                "valid": True,
                "meterPointVerificationRenewalId": change.change_id,
                "isValidUntil": format_iso(change.valid_until),
            }
            for change in result.result
        ],
    }


def _revocations_body(result: RestResult) -> dict[str, Any]:
    return {
        "valid": True,
        "meterPointRevocations": [
            {"mpxn": change.mpxn, "meterPointVerificationRevocationId": change.change_id} for change in result.result
        ],
    }


def _history_format(kind: str, members: str, by: str, id_name: str, response: Any, example: Any) -> LegacyFormat:
    def body(result: RestResult) -> dict[str, Any]:
        changes = [
            {
                "auditReference": {"applicationId": change.application_id},
                "createdAt": format_iso(change.created_at),
                "mpxnKey": change.mpxn_key.value,
                "mpxn": change.mpxn,
                by: {"key": "userId", "value": change.user_id},
                id_name: change.change_id,
            }
            for change in result.result
        ]
        return {"valid": True, members: changes}

    return LegacyFormat(
        parse_arguments=lambda request: RawArguments({**request.path, "kind": kind}),
        render_body=body,
        query=NoQuery,
        response=response,
        response_example=example,
    )


_MPXNS_REQUEST_PATHS: Mapping[tuple[str | int, ...], tuple[str | int, ...]] = {("mpxns",): ("meterPoints",)}
_STATUS_PATH = "/user/verification/status"
CONSENT_FORMATS: Mapping[str, LegacyFormat] = {
    f"GET {_STATUS_PATH}": LegacyFormat(
        render_body=_status_body, response=VerificationStatus, response_example=VERIFICATION_STATUS_EXAMPLE
    ),
    f"POST {_STATUS_PATH}/mpxns/renewal": LegacyFormat(
        parse_arguments=_parse_meter_points,
        request_paths=_MPXNS_REQUEST_PATHS,
        render_body=_renewals_body,
        body=MeterPoints,
        body_example=METER_POINTS_EXAMPLE,
        response=Renewals,
        response_example=RENEWALS_EXAMPLE,
    ),
    f"POST {_STATUS_PATH}/mpxns/revocation": LegacyFormat(
        parse_arguments=_parse_meter_points,
        request_paths=_MPXNS_REQUEST_PATHS,
        render_body=_revocations_body,
        body=MeterPoints,
        body_example=METER_POINTS_EXAMPLE,
        response=Revocations,
        response_example=REVOCATIONS_EXAMPLE,
    ),
    f"POST {_STATUS_PATH}/mpxn/{{mpxn}}/renewal": LegacyFormat(
        parse_arguments=_parse_meter_point,
        path_parameters={"mpxn": terms.Mpxn},
        request_paths={("validUntil",): ("isValidUntil",)},
        render_body=_renewals_body,
        body=ConsentEnd,
        body_example=RENEWAL_END_EXAMPLE,
        response=Renewals,
        response_example=RENEWALS_EXAMPLE,
    ),
    f"POST {_STATUS_PATH}/mpxn/{{mpxn}}/revocation": LegacyFormat(
        parse_arguments=_parse_meter_point,
        path_parameters={"mpxn": terms.Mpxn},
        render_body=_revocations_body,
        body=ConsentEnd,
        body_example=REVOCATION_END_EXAMPLE,
        response=Revocations,
        response_example=REVOCATIONS_EXAMPLE,
    ),
    f"GET {_STATUS_PATH}/mpxn/{{mpxn}}/renewal": _history_format(
        "RENEWAL",
        "meterPointRenewals",
        "renewedBy",
        "meterPointVerificationRenewalId",
        RenewalHistory,
        RENEWAL_HISTORY_EXAMPLE,
    ),
    f"GET {_STATUS_PATH}/mpxn/{{mpxn}}/revocation": _history_format(
        "REVOCATION",
        "meterPointRevocations",
        "revokedBy",
        "meterPointVerificationRevocationId",
        RevocationHistory,
        REVOCATION_HISTORY_EXAMPLE,
    ),
}
