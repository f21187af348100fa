"""Pushes to the apps of a user: to browsers by Web Push, to phones by a provider that the operator names."""

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
from wattgate.delivery.http.outbound_http import BLOCKED, OutboundHttpClient, OutboundRequestFailed, OutboundResponse

NO_TOKENS_CODE = "user.tokens.not_found"
"""The code where there is no token that is good: SPEC.md's."""

NO_PROVIDER_CODE = "provider.not_configured"
TOKEN_REJECTED_CODE = "user.tokens.refused"
PROVIDER_REJECTED_CODE = "provider.refused"

TOKEN_GONE = "gone"
"""The fact of an outcome that says that the token is good no more."""

TTL_SECONDS = 24 * 3600
"""Seconds for which a push service keeps a message for a browser that is away."""

MAX_TEXT_LENGTH = 1_000
"""Characters of a push; what is longer is cut. No phone shows more."""

TOKEN_GONE_REASON = "the push token is good no more and was removed"


@dataclass(frozen=True, slots=True)
class PushProvider:
    """A service that brings pushes to phones, by HTTP. `token` is our credential there."""

    url: str
    token: str | None = None


class PushChannel:
    """The channel of pushes: each delivery has one address, the token of one app."""

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
        except OutboundRequestFailed as failed:
            if failed.type == BLOCKED:
                return PermanentFailure(TOKEN_REJECTED_CODE, failed.message)
            return TemporaryFailure(failed.message)

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
        answer = await self._browser_http.send("POST", subscription.endpoint, headers=headers, body=body)
        return outcome_of(answer, gone_statuses=(404, 410))

    async def _send_to_phone(self, outbound: OutboundMessage, token: str) -> Outcome:
        if self._provider is None:
            return PermanentFailure(NO_PROVIDER_CODE, "the gateway has no push provider (WATTGATE_PUSH_URL)")
        headers = {"Content-Type": "application/json", "Idempotency-Key": outbound.delivery_id}
        if self._provider.token is not None:
            headers["Authorization"] = f"Bearer {self._provider.token}"
        body = json.dumps({**push_payload(outbound), "token": token}).encode()
        # 404 would also come from a provider whose address is wrong, and then every token would be removed
        return outcome_of(
            await self._phone_http.send("POST", self._provider.url, headers=headers, body=body), gone_statuses=(410,)
        )


def push_payload(outbound: OutboundMessage) -> dict[str, Any]:
    """What an app gets. `id` is the same at every attempt, so that an app can leave out what it has shown."""
    return {
        "id": outbound.delivery_id,
        "title": outbound.content.subject[:MAX_TEXT_LENGTH],
        "body": outbound.content.text[:MAX_TEXT_LENGTH],
        "data": outbound.content.data,
    }


def outcome_of(response: OutboundResponse, *, gone_statuses: tuple[int, ...]) -> Outcome:
    """What the answer of a push service means."""
    facts = {"statusCode": response.status}
    if 200 <= response.status < 300:
        return Sent(response.headers.get("location"), facts)
    if response.status in gone_statuses:
        return PermanentFailure(NO_TOKENS_CODE, TOKEN_GONE_REASON, {**facts, TOKEN_GONE: True})
    reason = f"the push service answered {response.status}"
    if response.status in (408, 425, 429) or response.status >= 500:
        return TemporaryFailure(reason, _retry_after_seconds(response.headers), facts)
    return PermanentFailure(PROVIDER_REJECTED_CODE, reason, facts)


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """How long the service asks to be left alone, where it says so in seconds."""
    asked = headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() else None


def _fit_payload(payload: Mapping[str, Any]) -> bytes:
    """A message in as many bytes as Web Push takes: a text that is too long loses its end."""
    body = str(payload["body"])
    while (
        len(written := json.dumps({**payload, "body": body}, ensure_ascii=False).encode()) > MAX_PLAINTEXT_BYTES
        and body
    ):
        body = body[: -max(1, (len(written) - MAX_PLAINTEXT_BYTES) // 4)]
    return written
