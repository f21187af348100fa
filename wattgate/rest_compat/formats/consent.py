"""Consent, as the legacy interface has it."""

from collections.abc import Mapping
from typing import Any

from wattgate.clock import iso
from wattgate.graphql.execution.argument_binder import RawArguments
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.legacy_request import Answer, Exchange

NOW = "now"


def _status(answer: Answer) -> dict[str, Any]:
    return {
        "meterPointVerification": [
            {
                "isVerified": one.verified,
                "isValidUntil": iso(one.revoked_at or one.valid_until),
                "mpxnKey": one.mpxn_key.value,
                "mpxn": one.mpxn,
            }
            for one in answer.result
        ]
    }


def _several(exchange: Exchange) -> RawArguments:
    """A body `{"meterPoints": [{"mpxn"}]}`."""
    points = exchange.members.get("meterPoints")
    if not isinstance(points, list):
        return RawArguments({})
    return RawArguments({"mpxns": [point.get("mpxn") if isinstance(point, dict) else point for point in points]})


def _one(exchange: Exchange) -> RawArguments:
    """The meter point of the path; a body may say `isValidUntil`, which only a renewal heeds."""
    until = exchange.members.get("isValidUntil")
    given: dict[str, Any] = {"mpxns": [exchange.path["mpxn"]]}
    return RawArguments(given if until in (None, NOW) else {**given, "validUntil": until})


def _renewed(answer: Answer) -> dict[str, Any]:
    return {
        "valid": True,
        "meterPointVerificationRenewals": [
            {
                "mpxn": change.mpxn,
                "valid": True,
                "meterPointVerificationRenewalId": change.change_id,
                "isValidUntil": iso(change.valid_until),
            }
            for change in answer.result
        ],
    }


def _revoked(answer: Answer) -> dict[str, Any]:
    return {
        "valid": True,
        "meterPointRevocations": [
            {"mpxn": change.mpxn, "meterPointVerificationRevocationId": change.change_id} for change in answer.result
        ],
    }


def _history(kind: str, members: str, by: str, id_name: str) -> Shape:
    def body(answer: Answer) -> dict[str, Any]:
        changes = [
            {
                "auditReference": {"applicationId": change.application_id},
                "createdAt": iso(change.created_at),
                "mpxnKey": change.mpxn_key.value,
                "mpxn": change.mpxn,
                by: {"key": "userId", "value": change.user_id},
                id_name: change.change_id,
            }
            for change in answer.result
        ]
        return {"valid": True, members: changes}

    return Shape(given=lambda exchange: RawArguments({**exchange.path, "kind": kind}), body=body)


_MPXNS: Mapping[tuple[str | int, ...], tuple[str | int, ...]] = {("mpxns",): ("meterPoints",)}
_ROOT = "/user/verification/status"
CONSENT: Mapping[str, Shape] = {
    f"GET {_ROOT}": Shape(body=_status),
    f"POST {_ROOT}/mpxns/renewal": Shape(given=_several, places=_MPXNS, body=_renewed),
    f"POST {_ROOT}/mpxns/revocation": Shape(given=_several, places=_MPXNS, body=_revoked),
    f"POST {_ROOT}/mpxn/{{mpxn}}/renewal": Shape(
        given=_one, places={("validUntil",): ("isValidUntil",)}, body=_renewed
    ),
    f"POST {_ROOT}/mpxn/{{mpxn}}/revocation": Shape(given=_one, body=_revoked),
    f"GET {_ROOT}/mpxn/{{mpxn}}/renewal": _history(
        "RENEWAL", "meterPointRenewals", "renewedBy", "meterPointVerificationRenewalId"
    ),
    f"GET {_ROOT}/mpxn/{{mpxn}}/revocation": _history(
        "REVOCATION", "meterPointRevocations", "revokedBy", "meterPointVerificationRevocationId"
    ),
}
