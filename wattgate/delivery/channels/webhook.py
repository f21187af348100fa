"""Webhook channel: patterns of event codes, requests to endpoints, and outcomes of responses."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import OutboundMessage, Outcome, PermanentFailure, Sent, TemporaryFailure
from wattgate.delivery.outbound_http import OutboundHttpClient, OutboundRequestFailed, OutboundResponse

STATUS_GONE = 410
"""The status with which a receiver permanently stops deliveries."""

THROTTLING_STATUSES = (429, 502, 504)
"""The statuses with which a receiver, or a proxy before it, reports that it is overloaded."""

_SECONDS = re.compile(r"[0-9]{1,9}")
EVENT_PATTERN = re.compile(r"(?:\*|[a-z0-9_]+)(?:\.(?:\*|[a-z0-9_]+))*")
"""A pattern: segments of an event code, or * for any one segment. A final * matches all remaining segments."""

MAX_REASON_LENGTH = 200
"""Characters of a reason that are stored."""


def matches_any(patterns: Iterable[str], event_code: str) -> bool:
    """Return whether one of the patterns matches the event code."""
    return any(_matches(pattern.split("."), event_code.split(".")) for pattern in patterns)


def _matches(pattern: list[str], code: list[str]) -> bool:
    if pattern[-1] == "*" and len(code) > len(pattern):
        code = code[: len(pattern)]
    return len(pattern) == len(code) and all(
        segment in ("*", part) for segment, part in zip(pattern, code, strict=True)
    )


class WebhookChannel:
    """Posts events to the URLs that integrators have registered."""

    def __init__(self, http: OutboundHttpClient, clock: Clock = utc_now) -> None:
        self._http = http
        self._clock = clock

    async def send(self, outbound: OutboundMessage) -> Outcome:
        """Post the text of a message, with its headers, to its one address."""
        headers = {"Content-Type": "application/json", **outbound.headers}
        (url,) = outbound.addresses
        try:
            response = await self._http.send(
                "POST", url, headers=headers, body=outbound.content.text.encode(), owner=outbound.application_id
            )
        except OutboundRequestFailed as error:
            return TemporaryFailure(
                error.message[:MAX_REASON_LENGTH], details={"statusCode": 0, "error": error.to_json()}
            )
        return _outcome_of(response, self._clock())


def _outcome_of(response: OutboundResponse, now: datetime) -> Outcome:
    """Return the outcome for a response. Every status except 2xx is a failure, also a redirect."""
    if 200 <= response.status < 300:
        return Sent(details={"statusCode": response.status})
    reason = _status_reason(response.status)
    error = {"statusCode": response.status, "message": reason}
    details = {"statusCode": response.status, "error": {"type": "response", "error": error, "initialError": None}}
    if response.status == STATUS_GONE:
        return PermanentFailure("gone", reason, details=details)
    return TemporaryFailure(reason, parse_retry_after(response.headers, now), details=details)


def _status_reason(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110, 10.2.3); None if it is missing or invalid."""
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):  # not a date, without a zone, or with one of many years
        return None


def failed_attempt_json(number: int, at: str, details: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Return an item of `failedAttempts` in SPEC.md's form.

    `details` are those of the outcome. They are empty if the gateway itself failed.
    """
    error = {"type": "gateway", "error": {"statusCode": 0, "message": reason}, "initialError": None}
    return {"attempt": number, "attemptAt": at, "statusCode": 0, "error": error, **details}


# Symmetric signatures (v1) of Standard Webhooks: https://www.standardwebhooks.com. No I/O.

SECRET_PREFIX = "whsec_"  # noqa: S105 (not a credential)
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64
"""Minimum and maximum bytes of a decoded secret."""

NEW_SECRET_BYTES = 32


def new_secret() -> str:
    """Return a new random secret in the form that receivers get."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(NEW_SECRET_BYTES)).decode()


def decode_secret(secret: str) -> bytes:
    """Return the key that a secret encodes. Raise ValueError if the secret is invalid."""
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not whsec_ followed by base64") from None
    if not secret.startswith(SECRET_PREFIX) or not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
        raise ValueError(f"is not whsec_ followed by {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes in base64")
    return key


def signature_headers(message_id: str, sent_at: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers of a message: its id, the time of this attempt, and a signature for each secret.

    A receiver accepts a message with any valid signature, so that secrets can be rotated without interruption.
    """
    timestamp = str(int(sent_at.timestamp()))
    headers = {"webhook-id": message_id, "webhook-timestamp": timestamp}
    if secrets:
        headers["webhook-signature"] = " ".join(_sign(message_id, timestamp, body, secret) for secret in secrets)
    return headers


def _sign(message_id: str, timestamp: str, body: bytes, secret: str) -> str:
    content = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(decode_secret(secret), content, hashlib.sha256)).decode()
