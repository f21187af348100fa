"""Error responses: one schema for all errors, and the codes that each operation can have.

The permission, the method and the arguments of an operation imply most codes. `Operation.raises` has those that its
resolver adds. The tests check every error response of every test against the result.
"""

from collections.abc import Iterable

from wattgate.errors import (
    METHOD_NOT_ALLOWED,
    BadInput,
    Conflict,
    CostTooHigh,
    Forbidden,
    GatewayError,
    Internal,
    NotFound,
    PersistedQueryNotFound,
    QuotaExceeded,
    RateLimited,
    SecondFactorRequired,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
    all_error_kinds,
)
from wattgate.operations.core.operation import JSON, Operation, OperationKind, RestRoute
from wattgate.operations.core.refusals import adds_records
from wattgate.principal import AuthScheme, Permission
from wattgate.rest_compat.openapi.components import Json, reference

ErrorKind = type[GatewayError]

GRAPHQL_ONLY: frozenset[ErrorKind] = frozenset({PersistedQueryNotFound})
"""Errors that no REST response has."""


def error_kinds(operation: Operation, rest: RestRoute) -> set[ErrorKind]:
    """Return the errors that a route can have."""
    return implied_kinds(operation, rest).union(operation.raises)


def implied_kinds(operation: Operation, rest: RestRoute) -> set[ErrorKind]:
    """Return the errors of a route that the permission, the method and the arguments of its operation imply."""
    kinds: set[ErrorKind] = {Forbidden, Internal, RateLimited, Unauthenticated, Unavailable}
    writes = operation.kind is OperationKind.MUTATION
    if operation.arguments:
        kinds.add(BadInput)
    if operation.needs is not Permission.ANYONE and rest.accepted_scheme is not AuthScheme.TOKEN:  # Basic passwords
        kinds.add(SecondFactorRequired)
    if "{" in rest.path or (writes and "input" in operation.arguments):  # an input can name other records
        kinds.add(NotFound)
    if adds_records(operation):
        kinds |= {Conflict, QuotaExceeded}
    if (rest.method != "GET" and operation.arguments) or operation.needs is Permission.ANYONE:
        kinds.add(TooLarge)
    if rest.method != "GET":
        kinds.add(UnsupportedMediaType)
    if _has_variable_cost(operation, rest):
        kinds.add(CostTooHigh)
    return kinds


def error_responses(kinds: Iterable[ErrorKind], components: dict[str, Json]) -> Json:
    """Return references to the responses of these errors by status. Add the responses to the components."""
    by_status: dict[int, list[str]] = {}
    for kind in sorted(kinds, key=lambda kind: (kind.status, kind.code)):
        by_status.setdefault(kind.status, []).append(kind.code)
    responses = {}
    for status, codes in by_status.items():
        name = "Or".join(code.title().replace("_", "") for code in codes)
        components.setdefault(name, _response(status, codes))
        responses[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return responses


def _response(status: int, codes: list[str]) -> Json:
    headers = {401: WWW_AUTHENTICATE, 429: RETRY_AFTER, 503: RETRY_AFTER}.get(status)
    return {
        "description": ", ".join(codes),
        **({"headers": headers} if headers else {}),
        "content": {JSON: {"schema": reference("Error")}},
        "x-error-codes": codes,
    }


PROBLEM_MEMBERS: Json = {
    "path": {
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "description": "Path of the value in the request: names of members and positions in lists.",
    },
    "line": {"type": "integer", "description": "Number of the line or row of a bulk upload, from 1."},
    "message": {"type": "string", "description": "Problem of the value, in words."},
}
ERROR_MEMBERS: Json = {
    "error": {
        "type": "string",
        "description": "Error message. Some endpoints keep the message of the legacy interface.",
    },
    "code": reference("ErrorCode"),
    "docUrl": {
        "type": "string",
        "format": "uri-reference",
        "description": "Page of the gateway with the cause of the error and its fix.",
    },
    "param": {"type": "string", "description": "Path of the first wrong or missing value."},
    "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
    "retryAfter": {"type": "integer", "description": "Seconds to wait before a retry."},
    "traceId": {"type": "string", "description": "ID of the request in the log of the gateway."},
    "description": {"type": "string", "description": "Message, if `error` has the text of the legacy interface."},
    "error_description": {"type": "string", "description": "Message of an OAuth error (RFC 6749, section 5.2)."},
    "reason": {"type": "string", "description": "Name of the error in a standard, or the reason of withheld data."},
    "problems": {
        "type": "array",
        "items": reference("Problem"),
        "description": "Problems of the request, at most 100.",
    },
    "moreProblems": {"type": "integer", "description": "Number of problems that are not listed."},
    "resourceId": {"type": "string", "description": "ID of the resource whose data is withheld."},
    "mpxn": {"type": "string", "description": "Meter point whose data is withheld."},
    "valid": {"type": "boolean", "description": "Always false. Only refused log-ins have it."},
}
RETRY_AFTER: Json = {"Retry-After": {"description": "Seconds to wait before a retry.", "schema": {"type": "integer"}}}
WWW_AUTHENTICATE: Json = {
    "WWW-Authenticate": {"description": "Scheme that the gateway accepts.", "schema": {"type": "string"}}
}


def error_schemas() -> dict[str, Json]:
    """Return the schemas of errors by name."""
    codes = {kind.code for kind in all_error_kinds() - GRAPHQL_ONLY}
    return {
        "ErrorCode": {
            "type": "string",
            "enum": sorted({*codes, METHOD_NOT_ALLOWED}),
            "description": "Code of an error. Each operation lists the codes that it can have.",
        },
        "Problem": {
            "type": "object",
            "description": "Problem of a request.",
            "properties": PROBLEM_MEMBERS,
            "required": ["message"],
        },
        "Error": {
            "type": "object",
            "description": "Error response.",
            "properties": ERROR_MEMBERS,
            "required": ["error", "code", "docUrl", "retryable", "traceId"],
        },
    }


def _has_variable_cost(operation: Operation, rest: RestRoute) -> bool:
    """Return whether the size of the request or of the response decides what a call costs."""
    if operation.needs is Permission.ANYONE:
        return False
    return bool(operation.rest_returns_list or operation.sizes or rest.edges or operation.weight is not None) or (
        rest.method != "GET" and bool(operation.arguments)
    )
