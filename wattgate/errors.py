"""Errors of the gateway, with their codes and HTTP statuses. Each interface translates a `GatewayError` once.

- GatewayError
  - BadInput: the request is invalid (400)
  - CostTooHigh: the request costs more than any budget allows at once (400)
  - PersistedQueryNotFound: the gateway does not have the named document; send its text (400)
  - Unauthenticated: no valid credentials (401)
    - SecondFactorRequired: the password is right; a code of the second factor is missing or wrong (401)
    - ReauthenticationRequired: the log-in of the token is too old for this change (401)
  - Forbidden: the credentials do not allow this operation (403)
  - ConsentRevoked: the consent to the use of the data is revoked, expired or not recorded (403)
  - NotFound: no such record in the caller's application (404)
  - NotSupported: the record exists, but its kind does not support the operation (404)
  - Conflict: the state of the record does not allow the change (409)
  - QuotaExceeded: a user or an application has as many records of a kind as it may have (409)
  - TooLarge: the request is larger than the gateway accepts (413)
  - UnsupportedMediaType: the gateway does not accept the media type of the request (415)
  - RateLimited: too many attempts, or a spent budget; retry after `retry_after` seconds (429)
  - TimedOut: the operation exceeded its time limit and was stopped (503)
  - Unavailable: a part of the gateway is temporarily unavailable (503)
  - Internal: an unexpected error; the log has it under the trace id (500)
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from wattgate.enums import TRACE_ID, WithheldReason
from wattgate.values.graphql_names import graphql_name, graphql_path

ProblemPath = tuple[str | int, ...]
"""The path of a value in a request: names of members and positions in lists."""

MAX_LISTED_PROBLEMS = 100
"""Maximum number of problems in one error response. A batch of 10,000 wrong readings would make it very long."""


METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
"""The code of the response to a method that a REST path does not have. No exception has it."""


def documentation_url(code: str) -> str:
    """Return the address of the section about an error code on the gateway, relative to its origin."""
    return f"/errors#{code}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a request: the path of the wrong or missing value, and a message."""

    path: ProblemPath
    message: str
    is_missing: bool = False

    @property
    def named_param(self) -> dict[str, str]:
        """The path as the member `param`, such as `input.tariff.rate`. A position alone, such as a line, is none."""
        is_named = bool(self.path) and isinstance(self.path[0], str)
        return {"param": ".".join(map(str, self.path))} if is_named else {}

    def to_json(self) -> dict[str, Any]:
        return {"path": list(self.path), "message": self.message}


class GatewayError(Exception):
    """The base class of all errors that are reported to a caller. Raise one of its subclasses.

    The changes of an operation that raises one are rolled back, unless `commits_changes` is true. A failed login
    attempt needs this: it must be counted although it is rejected.
    """

    code: ClassVar[str]
    status: ClassVar[int]
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        problems: Sequence[Problem] = (),
        retry_after: int | None = None,
        reason: str | None = None,
        commits_changes: bool = False,
    ) -> None:
        if type(self) is GatewayError:
            raise TypeError("raise one of GatewayError's subclasses")
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)
        self.retry_after = retry_after
        self.reason = reason
        self.commits_changes = commits_changes

    @property
    def extensions(self) -> dict[str, Any]:
        """The members of an error in GraphQL, with its names of arguments.

        graphql-core copies the property `extensions` of an exception into `errors[].extensions` by itself.
        """
        return self._members([replace(problem, path=graphql_path(problem.path)) for problem in self.problems])

    @property
    def rest_members(self) -> dict[str, Any]:
        """The members of an error in REST, with its names of arguments."""
        return self._members(self.problems)

    def _members(self, problems: Sequence[Problem]) -> dict[str, Any]:
        """Return the members besides the message: code, docUrl, retryable, traceId, and others if they apply.

        `retryAfter` is in seconds; `reason` is the name that a standard (such as RFC 6749) has for the error, or why
        data is withheld. `param` is the path of the first problem.
        """
        members: dict[str, Any] = {
            "code": self.code,
            "docUrl": documentation_url(self.code),
            "retryable": self.retryable,
            "traceId": TRACE_ID.get(),
        }
        if self.retry_after is not None:
            members["retryAfter"] = self.retry_after
        if self.reason is not None:
            members["reason"] = self.reason
        if problems:
            members |= problems[0].named_param
            members["problems"] = [problem.to_json() for problem in problems[:MAX_LISTED_PROBLEMS]]
        if len(problems) > MAX_LISTED_PROBLEMS:
            members["moreProblems"] = len(problems) - MAX_LISTED_PROBLEMS
        return members


class BadInput(GatewayError):
    code, status = "BAD_INPUT", 400


class CostTooHigh(GatewayError):
    code, status = "COST_TOO_HIGH", 400


class PersistedQueryNotFound(GatewayError):
    code, status = "PERSISTED_QUERY_NOT_FOUND", 400


class Unauthenticated(GatewayError):
    """The credentials are missing or wrong. Clients log in again, so nothing else raises it."""

    code, status = "UNAUTHENTICATED", 401


class SecondFactorRequired(Unauthenticated):
    """The password is right, and a code of the second factor is missing or wrong. Clients ask for the code."""

    code = "SECOND_FACTOR_REQUIRED"


class ReauthenticationRequired(Unauthenticated):
    """The token is valid, but its log-in is too old for this change. Clients log in again, or send the password."""

    code = "REAUTHENTICATION_REQUIRED"


NO_CREDENTIALS = (
    "The request has no credentials. Send a token in the header token or in Authorization: Bearer, or a username and "
    "password in Authorization: Basic."
)
"""The message for a caller who needs credentials and sent none."""

ENDED_CREDENTIALS = "The credentials have ended: they were revoked or changed, or have expired. Log in again."
"""The message for a caller whose credentials ended between their check and the operation. Nothing was changed."""


EXPIRED_CREDENTIALS = (
    "The token has expired. Send a new one, or log in again. Until then, only createToken is executed."
)
"""The message for a caller on an open connection whose token has expired."""


class Forbidden(GatewayError):
    code, status = "FORBIDDEN", 403


class ConsentRevoked(GatewayError):
    """The data of a meter point is withheld. The extensions name the resource, if it is known, and the reason."""

    code, status = "CONSENT_REVOKED", 403

    def __init__(
        self,
        message: str,
        withheld: WithheldReason = WithheldReason.REVOKED,
        *,
        mpxn: str | None = None,
        resource_id: str | None = None,
    ) -> None:
        super().__init__(message, reason=withheld.name)
        self.withheld = withheld
        self.mpxn = mpxn
        self.resource_id = resource_id

    @property
    def extensions(self) -> dict[str, Any]:
        return {**super().extensions, **self._withheld_from(graphql_name("mpxn"))}

    @property
    def rest_members(self) -> dict[str, Any]:
        return {**super().rest_members, **self._withheld_from("mpxn")}

    def _withheld_from(self, meter_point: str) -> dict[str, Any]:
        """Return the members that name the resource and the meter point, as far as they are known."""
        named = {"resourceId": self.resource_id, meter_point: self.mpxn}
        return {name: value for name, value in named.items() if value is not None}


class NotFound(GatewayError):
    code, status = "NOT_FOUND", 404


class NotSupported(GatewayError):
    code, status = "NOT_SUPPORTED", 404


class Conflict(GatewayError):
    code, status = "CONFLICT", 409


class QuotaExceeded(GatewayError):
    code, status = "QUOTA_EXCEEDED", 409


class TooLarge(GatewayError):
    code, status = "TOO_LARGE", 413


class UnsupportedMediaType(GatewayError):
    """An error with the media types that the path accepts, which the response names in its header Accept."""

    code, status = "UNSUPPORTED_MEDIA_TYPE", 415

    def __init__(self, message: str, *, accepted: Collection[str] = ()) -> None:
        super().__init__(message)
        self.accepted = ", ".join(accepted)


class RateLimited(GatewayError):
    """Too many attempts."""

    code, status, retryable = "RATE_LIMITED", 429, True


class TimedOut(GatewayError):
    code, status = "TIMED_OUT", 503


class Unavailable(GatewayError):
    code, status, retryable = "UNAVAILABLE", 503, True


class Internal(GatewayError):
    code, status = "INTERNAL", 500


def all_error_kinds() -> frozenset[type[GatewayError]]:
    """Return the classes of errors that have a code of their own."""
    kinds, found = [GatewayError], set[type[GatewayError]]()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if "code" in vars(kind):
            found.add(kind)
    return frozenset(found)
