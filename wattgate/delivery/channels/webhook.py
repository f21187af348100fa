"""Webhooks as a channel: which events an endpoint wants, and what the answer of a receiver means."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import Outcome, Outgoing, Refused, Retry, Sent
from wattgate.delivery.http.outbound_http import Answer, Callout, CalloutFailed

GONE = 410
"""The status by which a receiver says that it wants no more, ever."""

THROTTLING = (429, 502, 504)
"""The statuses by which a receiver, or what stands before it, says that it cannot take more for the moment."""

PATTERN = re.compile(r"(?:\*|[a-z0-9_]+)(?:\.(?:\*|[a-z0-9_]+))*")
"""Segments of an event's code, or * for one; * at the end stands for all that follow."""

MAX_REASON = 200
"""How much of a reason is kept, in characters."""


def wants(patterns: Iterable[str], event_code: str) -> bool:
    """Whether one of the patterns stands for the event."""
    return any(_matches(pattern.split("."), event_code.split(".")) for pattern in patterns)


def _matches(pattern: list[str], code: list[str]) -> bool:
    if pattern[-1] == "*" and len(code) > len(pattern):
        code = code[: len(pattern)]
    return len(pattern) == len(code) and all(one in ("*", part) for one, part in zip(pattern, code, strict=True))


class WebhookChannel:
    """Posts events to the addresses that integrators name."""

    def __init__(self, callout: Callout, clock: Clock = utc_now) -> None:
        self._callout = callout
        self._clock = clock

    async def send(self, outgoing: Outgoing) -> Outcome:
        """Post the text of an event, with the headers that were made for it, to its only address."""
        headers = {"Content-Type": "application/json", **outgoing.headers}
        (url,) = outgoing.addresses
        try:
            answer = await self._callout.send("POST", url, headers=headers, body=outgoing.content.text.encode())
        except CalloutFailed as failed:
            return Retry(failed.message[:MAX_REASON], facts={"statusCode": 0, "error": failed.told})
        return _outcome(answer, self._clock())


def _outcome(answer: Answer, now: datetime) -> Outcome:
    """What an answer means; any but a 2xx is a failure, redirects included."""
    if 200 <= answer.status < 300:
        return Sent(facts={"statusCode": answer.status})
    reason = _reason(answer.status)
    error = {"statusCode": answer.status, "message": reason}
    told = {"statusCode": answer.status, "error": {"type": "response", "error": error, "initialError": None}}
    if answer.status == GONE:
        return Refused("gone", reason, facts=told)
    return Retry(reason, retry_after(answer.headers, now), facts=told)


def _reason(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that an answer asks to wait (RFC 9110, 10.2.3); None where it asks nothing that can be read."""
    written = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", written):
        return float(written)
    try:
        return max((parsedate_to_datetime(written) - now).total_seconds(), 0.0)
    except (ValueError, TypeError):  # no date, or one without a zone
        return None


def failed_attempt(number: int, at: str, facts: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """An item of failedAttempts, as SPEC.md has it; `facts` are those of the outcome, which a fault of ours lacks."""
    error = {"type": "gateway", "error": {"statusCode": 0, "message": reason}, "initialError": None}
    return {"attempt": number, "attemptAt": at, "statusCode": 0, "error": error, **facts}
