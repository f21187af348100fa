"""Push notifications to the apps of a user: to browsers by Web Push, to phones through the operator's provider."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import OutboundMessage, Outcome, PermanentFailure, Sent, TemporaryFailure
from wattgate.delivery.channels.web_push import (
    MAX_PLAINTEXT_BYTES,
    PushSubscription,
    Vapid,
    encrypt,
    parse_subscription,
)
from wattgate.delivery.outbound_http import (
    DESTINATION_FORBIDDEN,
    OutboundHttpClient,
    OutboundRequestFailed,
    OutboundResponse,
)

NO_TOKENS_CODE = "user.tokens.not_found"
"""SPEC.md's code for a user without a valid token."""

NO_PROVIDER_CODE = "provider.not_configured"
TOKEN_REJECTED_CODE = "user.tokens.refused"  # noqa: S105 (not a credential)
PROVIDER_REJECTED_CODE = "provider.refused"

TOKEN_GONE = "gone"  # noqa: S105 (not a credential)
"""The key in the details of an outcome that marks the token as expired."""

TTL_SECONDS = 24 * 3600
"""Seconds for which a push service stores a message for a browser that is offline."""

MAX_TEXT_LENGTH = 1_000
"""Maximum characters of a title or body; longer text is cut. No phone shows more."""

TOKEN_GONE_REASON = "the push token has expired and was removed"  # noqa: S105 (not a credential)


def token_digest(token: str) -> bytes:
    """Return the digest that identifies the app of a push token. New keys of a browser do not change it."""
    subscription = parse_subscription(token)
    return hashlib.sha256((token if subscription is None else subscription.endpoint).encode()).digest()


@dataclass(frozen=True, slots=True)
class PushProvider:
    """An HTTP service that forwards pushes to phones. `token` is the gateway's credential for it."""

    url: str
    token: str | None = None


class PushChannel:
    """The channel for push notifications. The one address of a delivery is the push token of an app."""

    def __init__(
        self,
        browser_http: OutboundHttpClient,
        phone_http: OutboundHttpClient,
        *,
        vapid: Vapid | None = None,
        provider: PushProvider | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._browser_http = browser_http
        self._phone_http = phone_http
        self._vapid = vapid
        self._provider = provider
        self._clock = clock

    async def send(self, outbound: OutboundMessage) -> Outcome:
        (token,) = outbound.addresses
        subscription = parse_subscription(token)
        try:
            if subscription is not None:
                return await self._send_to_browser(outbound, subscription)
            return await self._send_to_phone(outbound, token)
        except OutboundRequestFailed as error:
            if error.type == DESTINATION_FORBIDDEN:
                return PermanentFailure(TOKEN_REJECTED_CODE, error.message)
            return TemporaryFailure(error.message)

    async def _send_to_browser(self, outbound: OutboundMessage, subscription: PushSubscription) -> Outcome:
        if self._vapid is None:
            return PermanentFailure(NO_PROVIDER_CODE, "the gateway has no key for Web Push (WATTGATE_WEB_PUSH_KEY)")
        headers = {
            "Authorization": self._vapid.authorization(subscription.endpoint, self._clock()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(TTL_SECONDS),
            "Urgency": outbound.headers.get("Urgency", "normal"),
        }
        body = encrypt(_fit_payload(push_payload(outbound)), subscription)
        response = await self._browser_http.send(
            "POST", subscription.endpoint, headers=headers, body=body, owner=outbound.application_id
        )
        return outcome_of(response, gone_statuses=(404, 410))

    async def _send_to_phone(self, outbound: OutboundMessage, token: str) -> Outcome:
        if self._provider is None:
            return PermanentFailure(NO_PROVIDER_CODE, "the gateway has no push provider (WATTGATE_PUSH_URL)")
        headers = {"Content-Type": "application/json", "Idempotency-Key": outbound.delivery_id}
        if self._provider.token is not None:
            headers["Authorization"] = f"Bearer {self._provider.token}"
        body = json.dumps({**push_payload(outbound), "token": token}).encode()
        # A wrong provider URL also returns 404, and must not remove all tokens.
        return outcome_of(
            await self._phone_http.send("POST", self._provider.url, headers=headers, body=body), gone_statuses=(410,)
        )


def push_payload(outbound: OutboundMessage) -> dict[str, Any]:
    """Return the payload for an app. `id` is the same in all attempts, so that an app can drop duplicates."""
    return {
        "id": outbound.delivery_id,
        "title": outbound.content.subject[:MAX_TEXT_LENGTH],
        "body": outbound.content.text[:MAX_TEXT_LENGTH],
        "data": outbound.content.data,
    }


def outcome_of(response: OutboundResponse, *, gone_statuses: tuple[int, ...]) -> Outcome:
    """Return the outcome for a push service's response. `gone_statuses` mean that the token has expired."""
    details = {"statusCode": response.status}
    if 200 <= response.status < 300:
        return Sent(response.headers.get("location"), details)
    if response.status in gone_statuses:
        return PermanentFailure(NO_TOKENS_CODE, TOKEN_GONE_REASON, {**details, TOKEN_GONE: True})
    reason = f"the push service answered {response.status}"
    if response.status in (408, 425, 429) or response.status >= 500:
        return TemporaryFailure(reason, _retry_after_seconds(response.headers), details)
    return PermanentFailure(PROVIDER_REJECTED_CODE, reason, details)


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the pause that the service requests; None unless it is in seconds."""
    value = headers.get("retry-after", "")
    return float(value) if value.isdecimal() else None


def _fit_payload(payload: Mapping[str, Any]) -> bytes:
    """Return the payload as JSON. Cut the end of the body until the JSON fits into a Web Push message."""
    body = str(payload["body"])
    while (
        len(encoded := json.dumps({**payload, "body": body}, ensure_ascii=False).encode()) > MAX_PLAINTEXT_BYTES
        and body
    ):
        body = body[: -max(1, (len(encoded) - MAX_PLAINTEXT_BYTES) // 4)]
    return encoded
