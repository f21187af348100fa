"""Webhooks as a channel: which events an endpoint wants, and what the answer of a receiver means."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import OutboundMessage, Outcome, PermanentFailure, Sent, TemporaryFailure
from wattgate.delivery.http.outbound_http import OutboundHttpClient, OutboundRequestFailed, OutboundResponse

STATUS_GONE = 410
"""The status by which a receiver says that it wants no more, ever."""

THROTTLING_STATUSES = (429, 502, 504)
"""The statuses by which a receiver, or what stands before it, says that it cannot take more for the moment."""

EVENT_PATTERN = re.compile(r"(?:\*|[a-z0-9_]+)(?:\.(?:\*|[a-z0-9_]+))*")
"""Segments of an event's code, or * for one; * at the end stands for all that follow."""

MAX_REASON_LENGTH = 200
"""How much of a reason is kept, in characters."""


def matches_any(patterns: Iterable[str], event_code: str) -> bool:
    """Whether one of the patterns stands for the event."""
    return any(_matches(pattern.split("."), event_code.split(".")) for pattern in patterns)


def _matches(pattern: list[str], code: list[str]) -> bool:
    if pattern[-1] == "*" and len(code) > len(pattern):
        code = code[: len(pattern)]
    return len(pattern) == len(code) and all(one in ("*", part) for one, part in zip(pattern, code, strict=True))


class WebhookChannel:
    """Posts events to the addresses that integrators name."""

    def __init__(self, http: OutboundHttpClient, clock: Clock = utc_now) -> None:
        self._http = http
        self._clock = clock

    async def send(self, outbound: OutboundMessage) -> Outcome:
        """Post the text of an event, with the headers that were made for it, to its only address."""
        headers = {"Content-Type": "application/json", **outbound.headers}
        (url,) = outbound.addresses
        try:
            answer = await self._http.send("POST", url, headers=headers, body=outbound.content.text.encode())
        except OutboundRequestFailed as failed:
            return TemporaryFailure(
                failed.message[:MAX_REASON_LENGTH], details={"statusCode": 0, "error": failed.to_json}
            )
        return _outcome_of(answer, self._clock())


def _outcome_of(response: OutboundResponse, now: datetime) -> Outcome:
    """What an answer means; any but a 2xx is a failure, redirects included."""
    if 200 <= response.status < 300:
        return Sent(details={"statusCode": response.status})
    reason = _status_reason(response.status)
    error = {"statusCode": response.status, "message": reason}
    told = {"statusCode": response.status, "error": {"type": "response", "error": error, "initialError": None}}
    if response.status == STATUS_GONE:
        return PermanentFailure("gone", reason, details=told)
    return TemporaryFailure(reason, parse_retry_after(response.headers, now), details=told)


def _status_reason(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that an answer asks to wait (RFC 9110, 10.2.3); None where it asks nothing that can be read."""
    written = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", written):
        return float(written)
    try:
        return max((parsedate_to_datetime(written) - now).total_seconds(), 0.0)
    except (ValueError, TypeError):  # no date, or one without a zone
        return None


def failed_attempt_json(number: int, at: str, details: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """An item of failedAttempts, as SPEC.md has it; `facts` are those of the outcome, which a fault of ours lacks."""
    error = {"type": "gateway", "error": {"statusCode": 0, "message": reason}, "initialError": None}
    return {"attempt": number, "attemptAt": at, "statusCode": 0, "error": error, **details}
