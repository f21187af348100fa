"""Pushes to the apps of a user: to browsers by Web Push, to phones by a provider that the operator names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.delivery.channels.channel import Outcome, Outgoing, Refused, Retry, Sent
from wattgate.delivery.channels.web_push import MAX_PLAINTEXT, Subscription, Vapid, encrypt, subscription_of
from wattgate.delivery.http.outbound_http import REFUSED, Answer, Callout, CalloutFailed

NO_TOKENS = "user.tokens.not_found"
"""The code where there is no token that is good: SPEC.md's."""

NO_PROVIDER = "provider.not_configured"
TOKEN_REFUSED = "user.tokens.refused"
PROVIDER_REFUSED = "provider.refused"

GONE = "gone"
"""The fact of an outcome that says that the token is good no more."""

TIME_TO_LIVE = 24 * 3600
"""Seconds for which a push service keeps a message for a browser that is away."""

MAX_TEXT = 1_000
"""Characters of a push; what is longer is cut. No phone shows more."""

WHY_GONE = "the push token is good no more and was removed"


@dataclass(frozen=True, slots=True)
class Provider:
    """A service that brings pushes to phones, by HTTP. `token` is our credential there."""

    url: str
    token: str | None = None


class Push:
    """The channel of pushes: each delivery has one address, the token of one app."""

    def __init__(
        self,
        browsers: Callout,
        phones: Callout,
        *,
        vapid: Vapid | None = None,
        provider: Provider | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._browsers = browsers
        self._phones = phones
        self._vapid = vapid
        self._provider = provider
        self._clock = clock

    async def send(self, outgoing: Outgoing) -> Outcome:
        (token,) = outgoing.addresses
        subscription = subscription_of(token)
        try:
            if subscription is not None:
                return await self._to_browser(outgoing, subscription)
            return await self._to_phone(outgoing, token)
        except CalloutFailed as failed:
            if failed.type == REFUSED:
                return Refused(TOKEN_REFUSED, failed.message)
            return Retry(failed.message)

    async def _to_browser(self, outgoing: Outgoing, subscription: Subscription) -> Outcome:
        if self._vapid is None:
            return Refused(NO_PROVIDER, "the gateway has no key for Web Push (WATTGATE_WEB_PUSH_KEY)")
        headers = {
            "Authorization": self._vapid.authorization(subscription.endpoint, self._clock()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(TIME_TO_LIVE),
            "Urgency": outgoing.headers.get("Urgency", "normal"),
        }
        body = encrypt(_short(message(outgoing)), subscription)
        answer = await self._browsers.send("POST", subscription.endpoint, headers=headers, body=body)
        return told(answer, gone=(404, 410))

    async def _to_phone(self, outgoing: Outgoing, token: str) -> Outcome:
        if self._provider is None:
            return Refused(NO_PROVIDER, "the gateway has no push provider (WATTGATE_PUSH_URL)")
        headers = {"Content-Type": "application/json", "Idempotency-Key": outgoing.delivery_id}
        if self._provider.token is not None:
            headers["Authorization"] = f"Bearer {self._provider.token}"
        body = json.dumps({**message(outgoing), "token": token}).encode()
        # 404 would also come from a provider whose address is wrong, and then every token would be removed
        return told(await self._phones.send("POST", self._provider.url, headers=headers, body=body), gone=(410,))


def message(outgoing: Outgoing) -> dict[str, Any]:
    """What an app gets. `id` is the same at every attempt, so that an app can leave out what it has shown."""
    return {
        "id": outgoing.delivery_id,
        "title": outgoing.content.subject[:MAX_TEXT],
        "body": outgoing.content.text[:MAX_TEXT],
        "data": outgoing.content.data,
    }


def told(answer: Answer, *, gone: tuple[int, ...]) -> Outcome:
    """What the answer of a push service means."""
    facts = {"statusCode": answer.status}
    if 200 <= answer.status < 300:
        return Sent(answer.headers.get("location"), facts)
    if answer.status in gone:
        return Refused(NO_TOKENS, WHY_GONE, {**facts, GONE: True})
    reason = f"the push service answered {answer.status}"
    if answer.status in (408, 425, 429) or answer.status >= 500:
        return Retry(reason, _seconds(answer.headers), facts)
    return Refused(PROVIDER_REFUSED, reason, facts)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """How long the service asks to be left alone, where it says so in seconds."""
    asked = headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() else None


def _short(told: Mapping[str, Any]) -> bytes:
    """A message in as many bytes as Web Push takes: a text that is too long loses its end."""
    body = str(told["body"])
    while len(written := json.dumps({**told, "body": body}, ensure_ascii=False).encode()) > MAX_PLAINTEXT and body:
        body = body[: -max(1, (len(written) - MAX_PLAINTEXT) // 4)]
    return written
