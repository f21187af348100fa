"""What can go wrong, as types. Each edge of the house translates a `GatewayError` once.

- GatewayError
  - BadInput: the request says something that cannot be (400)
  - CostTooHigh: the request asks for more than any budget allows at once (400)
  - PersistedQueryNotFound: the gateway does not have the document that is named; send its text (400)
  - Unauthenticated: no acceptable credentials (401)
  - Forbidden: the credentials do not allow this operation (403)
  - ConsentRevoked: the data's owner has withdrawn the consent to it (403)
  - NotFound: no such record in the caller's application (404)
  - NotSupported: the record is there, but what is asked of it does not exist for its kind (404)
  - Conflict: the record stands against the change (409)
  - TooLarge: the request is larger than the gateway takes (413)
  - UnsupportedMediaType: the request is of a type that the gateway does not read (415)
  - RateLimited: too many attempts, or a budget that is spent; again after `retry_after` seconds (429)
  - TimedOut: the operation took longer than it may, and was given up (503)
  - Unavailable: a part of the gateway is away for the moment (503)
  - Internal: a fault of ours; the log has it under the trace id (500)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from wattgate.enums import TRACE_ID

Path = tuple[str | int, ...]
"""Where something stands in a request: names of members and positions in lists."""

MAX_TOLD = 100
"""How many problems an error tells; a batch of 10,000 wrong readings would be a very long answer."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a request: where (path of keys and list positions) and what."""

    path: Path
    message: str
    missing: bool = False

    def told(self) -> dict[str, Any]:
        return {"path": list(self.path), "message": self.message}


class GatewayError(Exception):
    """The base of everything the gateway tells a caller; never raised itself.

    What an operation wrote before it raised one is undone, unless the error says that it is `kept`: a failed
    attempt counts although it is refused.
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
        kept: bool = False,
    ) -> None:
        if type(self) is GatewayError:
            raise TypeError("raise one of GatewayError's subclasses")
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)
        self.retry_after = retry_after
        self.reason = reason
        self.kept = kept

    @property
    def extensions(self) -> dict[str, Any]:
        """The error contract beside the message: code, retryable, traceId, and what applies of the rest.

        graphql-core copies the property `extensions` of an exception into `errors[].extensions` by itself.
        `retryAfter` is in seconds; `reason` is the name that a standard (such as RFC 6749) has for the error.
        """
        told: dict[str, Any] = {"code": self.code, "retryable": self.retryable, "traceId": TRACE_ID.get()}
        if self.retry_after is not None:
            told["retryAfter"] = self.retry_after
        if self.reason is not None:
            told["reason"] = self.reason
        if self.problems:
            told["problems"] = [problem.told() for problem in self.problems[:MAX_TOLD]]
        if len(self.problems) > MAX_TOLD:
            told["moreProblems"] = len(self.problems) - MAX_TOLD
        return told


class BadInput(GatewayError):
    code, status = "BAD_INPUT", 400


class CostTooHigh(GatewayError):
    code, status = "COST_TOO_HIGH", 400


class PersistedQueryNotFound(GatewayError):
    code, status = "PERSISTED_QUERY_NOT_FOUND", 400


class Unauthenticated(GatewayError):
    code, status = "UNAUTHENTICATED", 401


class Forbidden(GatewayError):
    code, status = "FORBIDDEN", 403


class ConsentRevoked(GatewayError):
    code, status = "CONSENT_REVOKED", 403


class NotFound(GatewayError):
    code, status = "NOT_FOUND", 404


class NotSupported(GatewayError):
    code, status = "NOT_SUPPORTED", 404


class Conflict(GatewayError):
    code, status = "CONFLICT", 409


class TooLarge(GatewayError):
    code, status = "TOO_LARGE", 413


class UnsupportedMediaType(GatewayError):
    code, status = "UNSUPPORTED_MEDIA_TYPE", 415


class RateLimited(GatewayError):
    code, status, retryable = "RATE_LIMITED", 429, True


class TimedOut(GatewayError):
    code, status = "TIMED_OUT", 503


class Unavailable(GatewayError):
    code, status, retryable = "UNAVAILABLE", 503, True


class Internal(GatewayError):
    code, status = "INTERNAL", 500
