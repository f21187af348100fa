"""Legacy formats of consent: the verification status of meter points, renewals and revocations."""

from collections.abc import Mapping
from typing import Any

from wattgate.clock import format_iso
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import LegacyRequest, RestResult
from wattgate.rest_compat.wire import consent as wire
from wattgate.rest_compat.wire.readings import NoQuery
from wattgate.values import terms

NOW = "now"


def _status_body(result: RestResult) -> dict[str, Any]:
    return {
        "meterPointVerification": [
            {
                "isVerified": status.verified,
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
        render_body=_status_body, response=wire.VerificationStatus, response_example=wire.VERIFICATION_STATUS_EXAMPLE
    ),
    f"POST {_STATUS_PATH}/mpxns/renewal": LegacyFormat(
        parse_arguments=_parse_meter_points,
        request_paths=_MPXNS_REQUEST_PATHS,
        render_body=_renewals_body,
        body=wire.MeterPoints,
        body_example=wire.METER_POINTS_EXAMPLE,
        response=wire.Renewals,
        response_example=wire.RENEWALS_EXAMPLE,
    ),
    f"POST {_STATUS_PATH}/mpxns/revocation": LegacyFormat(
        parse_arguments=_parse_meter_points,
        request_paths=_MPXNS_REQUEST_PATHS,
        render_body=_revocations_body,
        body=wire.MeterPoints,
        body_example=wire.METER_POINTS_EXAMPLE,
        response=wire.Revocations,
        response_example=wire.REVOCATIONS_EXAMPLE,
    ),
    f"POST {_STATUS_PATH}/mpxn/{{mpxn}}/renewal": LegacyFormat(
        parse_arguments=_parse_meter_point,
        path_parameters={"mpxn": terms.Mpxn},
        request_paths={("validUntil",): ("isValidUntil",)},
        render_body=_renewals_body,
        body=wire.ConsentEnd,
        body_example=wire.RENEWAL_END_EXAMPLE,
        response=wire.Renewals,
        response_example=wire.RENEWALS_EXAMPLE,
    ),
    f"POST {_STATUS_PATH}/mpxn/{{mpxn}}/revocation": LegacyFormat(
        parse_arguments=_parse_meter_point,
        path_parameters={"mpxn": terms.Mpxn},
        render_body=_revocations_body,
        body=wire.ConsentEnd,
        body_example=wire.REVOCATION_END_EXAMPLE,
        response=wire.Revocations,
        response_example=wire.REVOCATIONS_EXAMPLE,
    ),
    f"GET {_STATUS_PATH}/mpxn/{{mpxn}}/renewal": _history_format(
        "RENEWAL",
        "meterPointRenewals",
        "renewedBy",
        "meterPointVerificationRenewalId",
        wire.RenewalHistory,
        wire.RENEWAL_HISTORY_EXAMPLE,
    ),
    f"GET {_STATUS_PATH}/mpxn/{{mpxn}}/revocation": _history_format(
        "REVOCATION",
        "meterPointRevocations",
        "revokedBy",
        "meterPointVerificationRevocationId",
        wire.RevocationHistory,
        wire.REVOCATION_HISTORY_EXAMPLE,
    ),
}
