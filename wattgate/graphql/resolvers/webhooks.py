"""Webhooks on record, and what workers do to deliver them; only the system writes them."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson
from sqlmodel import col

from wattgate.clock import iso
from wattgate.db import models
from wattgate.delivery import circuit_breaker
from wattgate.delivery.channels.channel import Content, Outcome, Outgoing, Refused, Retry, Sent
from wattgate.delivery.channels.webhook import GONE, THROTTLING, failed_attempt
from wattgate.delivery.circuit_breaker import Health
from wattgate.delivery.http import signature
from wattgate.delivery.webhook_event_codes import PING
from wattgate.enums import DeliveryState
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.services import outbox
from wattgate.graphql.services.webhook_events import COMPLETE, FAILED
from wattgate.graphql.types import webhooks as types
from wattgate.principal import Permission

log = logging.getLogger(__name__)

POSTPONED = "postponed"
"""The fact of an outcome that was no attempt: when the delivery is due instead."""

KEPT = timedelta(days=30)
"""For how long events can be told again."""


@operation(Kind.MUTATION, returns=types.Webhook, needs=Permission.SYSTEM)
async def record_webhook(
    call: Call,
    *,
    callback_url: str,
    payload: Any,
    user_id: str | None = None,
    successful_attempt: Any = None,
    failed_attempts: list[Any],
) -> models.Webhook:
    """Keep what became of a webhook; one without a successful attempt is failed, and stands among the errors too."""
    status = COMPLETE if successful_attempt else FAILED
    made = await call.rows.add(
        models.Webhook(
            user_id=user_id,
            callback_url=callback_url,
            payload=payload,
            status=status,
            number_of_attempts=len(failed_attempts) + bool(successful_attempt),
            successful_attempt=successful_attempt,
            failed_attempts=failed_attempts,
        )
    )
    if status == FAILED:
        await _give_up(call, made)
    return made


@operation(Kind.MUTATION, returns=Outgoing, needs=Permission.SYSTEM)
async def prepare_webhook(call: Call, *, delivery_id: str) -> Outgoing | Refused | Retry:
    """What goes out for a delivery: the event's text, signed as of now. Postponed where its endpoint is left alone."""
    delivery = await call.rows.get(models.Delivery, delivery_id)
    webhook = await call.rows.edit(models.Webhook, delivery.target_id)
    endpoint = await _endpoint(call, webhook)
    if webhook.endpoint_id is not None:
        if endpoint is None:
            return Refused("endpoint.deleted", "the endpoint was deleted")
        if not _is_ping(webhook):
            if not endpoint.enabled:
                return Refused("endpoint.disabled", "the endpoint is disabled")
            until = circuit_breaker.waits_until(_health(endpoint), call.rows.now)
            if until is not None:
                return Retry("the endpoint is left alone", facts={POSTPONED: until})
            _keep(endpoint, circuit_breaker.begun(_health(endpoint), call.rows.now))
        webhook.callback_url = endpoint.url
    body = orjson.dumps(webhook.payload)
    secrets = _secrets(call, endpoint or await _namesake(call, webhook.callback_url))
    signed = signature.headers(webhook.event_id or webhook.webhook_id, call.rows.now, body, secrets)
    return outbox.outgoing(delivery, webhook.callback_url, Content(text=body.decode()), signed)


@operation(Kind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def settle_webhook(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Keep what became of an attempt; False where somebody else has taken the delivery over."""
    if isinstance(outcome, Retry) and POSTPONED in outcome.facts:
        return await outbox.postpone(call, delivery_id, worker, attempt, outcome.facts[POSTPONED])
    delivery = await outbox.settle(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    webhook = await call.rows.edit(models.Webhook, delivery.target_id)
    _take_down(call, webhook, outcome)
    endpoint = await _endpoint(call, webhook)
    if endpoint is not None:
        _judge(call, endpoint, outcome, ping=_is_ping(webhook))
    if delivery.state is DeliveryState.FAILED:
        webhook.status = FAILED
        await _give_up(call, webhook)
    return True


@operation(Kind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def applications_with_old_events(call: Call) -> list[str]:
    """The applications with events that were kept for long enough."""
    return await call.rows.applications_with(
        models.WebhookEvent, col(models.WebhookEvent.created_at) < call.rows.now - KEPT
    )


@operation(Kind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def forget_events(call: Call) -> int:
    """Delete the application's events that were kept for long enough; what was sent of them stays on record."""
    return await call.rows.delete(models.WebhookEvent, col(models.WebhookEvent.created_at) < call.rows.now - KEPT)


def _take_down(call: Call, webhook: models.Webhook, outcome: Outcome) -> None:
    """Put an attempt on record. What was refused without one, because its endpoint is gone, counts as none."""
    number = webhook.number_of_attempts + 1
    if isinstance(outcome, Sent):
        taken = {"attempt": number, "statusCode": outcome.facts["statusCode"], "successedAt": iso(call.rows.now)}
        webhook.number_of_attempts, webhook.successful_attempt, webhook.status = number, taken, COMPLETE
    elif isinstance(outcome, Retry) or outcome.facts:
        failed = failed_attempt(number, iso(call.rows.now), outcome.facts, outcome.reason)
        webhook.number_of_attempts, webhook.failed_attempts = number, [*webhook.failed_attempts, failed]


def _judge(call: Call, endpoint: models.WebhookEndpoint, outcome: Outcome, *, ping: bool) -> None:
    """What an attempt says of its endpoint; a test that fails says nothing that is not known."""
    now, status = call.rows.now, outcome.facts.get("statusCode")
    if isinstance(outcome, Sent):
        _keep(endpoint, Health())
    elif status == GONE:
        _disable(endpoint, "it answered 410 Gone")
    elif isinstance(outcome, Retry) and not ping:
        throttled = status in THROTTLING or outcome.after is not None
        after = circuit_breaker.failed(_health(endpoint), now, throttled=throttled, asked=outcome.after)
        _keep(endpoint, after)
        if circuit_breaker.is_given_up(after, now):
            _disable(endpoint, "it has taken nothing for 5 days")


def _disable(endpoint: models.WebhookEndpoint, reason: str) -> None:
    log.warning("webhook endpoint %s is disabled: %s", endpoint.endpoint_id, reason)
    endpoint.enabled, endpoint.disabled_reason = False, reason


async def _give_up(call: Call, webhook: models.Webhook) -> None:
    await call.rows.add(
        models.WebhookError(
            webhook_id=webhook.webhook_id,
            user_id=webhook.user_id,
            callback_url=webhook.callback_url,
            attempt=webhook.failed_attempts[-1] if webhook.failed_attempts else {},
        )
    )


async def _endpoint(call: Call, webhook: models.Webhook) -> models.WebhookEndpoint | None:
    """The endpoint that a webhook is for, to be changed; None where it is gone, and for callbacks."""
    known = await call.rows.many(models.WebhookEndpoint, [webhook.endpoint_id or ""])
    return await call.rows.edit(models.WebhookEndpoint, str(webhook.endpoint_id)) if known else None


async def _namesake(call: Call, url: str) -> models.WebhookEndpoint | None:
    """The endpoint that has the address of a callback, and so its secret."""
    return await call.rows.first(models.WebhookEndpoint, col(models.WebhookEndpoint.url) == url)


def _secrets(call: Call, endpoint: models.WebhookEndpoint | None) -> Sequence[str]:
    """What is signed with: the newest secret first."""
    if endpoint is None:
        return ()
    before = endpoint.secret_before
    still = before is not None and endpoint.secret_expires_at is not None and endpoint.secret_expires_at > call.rows.now
    return (endpoint.secret, before) if still and before else (endpoint.secret,)


def _is_ping(webhook: models.Webhook) -> bool:
    return bool(webhook.payload.get("eventCode") == PING)


def _health(endpoint: models.WebhookEndpoint) -> Health:
    return Health(endpoint.failures, endpoint.failing_since, endpoint.paused_until)


def _keep(endpoint: models.WebhookEndpoint, kept: Health) -> None:
    endpoint.failures, endpoint.failing_since, endpoint.paused_until = (
        kept.failures,
        kept.failing_since,
        kept.paused_until,
    )
