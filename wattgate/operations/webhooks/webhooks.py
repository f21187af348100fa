"""Webhook records, and operations for the workers that deliver them. Only the system writes them."""

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db import models
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.channels import webhook as signature
from wattgate.delivery.channels.channel import (
    MessageContent,
    OutboundMessage,
    Outcome,
    PermanentFailure,
    Sent,
    TemporaryFailure,
)
from wattgate.delivery.channels.webhook import STATUS_GONE, THROTTLING_STATUSES, failed_attempt_json
from wattgate.delivery.schedule import MAX_RETRY_AFTER
from wattgate.delivery.webhook_event_codes import PING_EVENT
from wattgate.enums import DeliveryState, WebhookStatus
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import outbox
from wattgate.operations.types.messages import webhooks as types
from wattgate.operations.webhooks.endpoint_secrets import signing_secrets
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.stored_json import encode_json

# Circuit breaker of webhook endpoints: pauses after failures, and disables an endpoint. No I/O.

FAILURE_THRESHOLD = 5
"""Consecutive failures after which deliveries to an endpoint pause."""

MIN_PAUSE = timedelta(minutes=1)
MAX_PAUSE = timedelta(hours=1)
"""The first pause, and the longest. Each further failure doubles the pause."""

THROTTLE_PAUSE = timedelta(minutes=1)
"""The pause after a response that asks to slow down without Retry-After."""

PROBE_TIMEOUT = timedelta(seconds=30)
"""How long other deliveries wait while one delivery probes the endpoint. An attempt takes at most 15 seconds."""

DISABLE_AFTER = timedelta(days=5)
"""An endpoint is disabled after this time without a success."""


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """The state of an endpoint: consecutive failures, the time of the first one, and the end of the pause."""

    failures: int = 0
    failing_since: datetime | None = None
    paused_until: datetime | None = None


def open_until(health: EndpointHealth, now: datetime) -> datetime | None:
    """Return the end of the pause; None if a delivery may be attempted now."""
    return health.paused_until if health.paused_until is not None and health.paused_until > now else None


def on_attempt_started(health: EndpointHealth, now: datetime) -> EndpointHealth:
    """Return the health when an attempt starts. After a pause, it is a probe for which other deliveries wait."""
    return health if health.paused_until is None else replace(health, paused_until=now + PROBE_TIMEOUT)


def on_attempt_failed(
    health: EndpointHealth, now: datetime, *, throttled: bool, retry_after_seconds: float | None
) -> EndpointHealth:
    """Return the health after a failed attempt. `retry_after_seconds` is the pause that the receiver requests."""
    failures = health.failures + 1
    pause = timedelta(0)
    if failures >= FAILURE_THRESHOLD:
        pause = min(MIN_PAUSE * 2 ** min(failures - FAILURE_THRESHOLD, 10), MAX_PAUSE)
    if throttled:
        pause = max(
            pause,
            THROTTLE_PAUSE
            if retry_after_seconds is None
            else min(timedelta(seconds=retry_after_seconds), MAX_RETRY_AFTER),
        )
    return EndpointHealth(failures, health.failing_since or now, now + pause if pause else None)


def should_disable(health: EndpointHealth, now: datetime) -> bool:
    """Return whether an endpoint must be disabled, because it has failed for DISABLE_AFTER."""
    return health.failing_since is not None and now - health.failing_since >= DISABLE_AFTER


# Webhook records, and operations for the workers that deliver them.


log = logging.getLogger(__name__)

POSTPONED_UNTIL = "postponed"
"""Key in the details of an outcome without an attempt: the instant to which the delivery is postponed."""

EVENT_RETENTION = timedelta(days=30)
"""Time during which an event can be sent again."""

WEBHOOK_RETENTION = EVENT_RETENTION
"""Time for which the record of a webhook is kept after its last attempt. A failed one can be sent again until then."""

WEBHOOKS_PER_TRANSACTION = 1_000
EVENTS_PER_TRANSACTION = 1_000


@operation(OperationKind.MUTATION, returns=types.Webhook, needs=Permission.SYSTEM)
async def record_webhook(
    call: Call,
    *,
    callback_url: terms.Url,
    payload: Any,
    user_id: str | None = None,
    successful_attempt: Any = None,
    failed_attempts: list[Any],
) -> models.Webhook:
    """Record a webhook. Without a successful attempt it has failed, and is also listed as an error."""
    status = WebhookStatus.COMPLETE if successful_attempt else WebhookStatus.FAILED
    webhook = await call.rows.add(
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
    await _update_error(call, webhook)
    return webhook


@operation(OperationKind.MUTATION, returns=OutboundMessage, needs=Permission.SYSTEM)
async def prepare_webhook(call: Call, *, delivery_id: str) -> OutboundMessage | PermanentFailure | TemporaryFailure:
    """Return the signed message of a delivery, or a failure.

    The failure is permanent if the endpoint is deleted or disabled. It is temporary, with POSTPONED_UNTIL, while the
    circuit breaker of the endpoint is open.
    """
    delivery = await call.rows.get(models.Delivery, delivery_id)
    webhook = await call.rows.edit(models.Webhook, delivery.target_id)
    endpoint = await _edit_endpoint(call, webhook)
    if webhook.endpoint_id is not None:
        if endpoint is None:
            return PermanentFailure("endpoint.deleted", "the endpoint was deleted")
        if not _is_ping(webhook):
            if not endpoint.enabled:
                return PermanentFailure("endpoint.disabled", "the endpoint is disabled")
            until = open_until(_health_of(endpoint), call.rows.now)
            if until is not None:
                return TemporaryFailure("the circuit breaker of the endpoint is open", details={POSTPONED_UNTIL: until})
            _store_health(endpoint, on_attempt_started(_health_of(endpoint), call.rows.now))
        webhook.callback_url = endpoint.url
    body = encode_json(webhook.payload)
    signing = endpoint or await _find_endpoint_by_url(call, webhook.callback_url)
    secrets = () if signing is None else signing_secrets(call, signing)
    signed = signature.signature_headers(webhook.event_id or webhook.webhook_id, call.rows.now, body, secrets)
    return outbox.build_outgoing(delivery, webhook.callback_url, MessageContent(text=body.decode()), signed)


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def record_webhook_outcome(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Record the outcome of an attempt. Return False if another worker has claimed the delivery."""
    if isinstance(outcome, TemporaryFailure) and POSTPONED_UNTIL in outcome.details:
        return await outbox.postpone(call, delivery_id, worker, attempt, outcome.details[POSTPONED_UNTIL])
    delivery = await outbox.record_delivery_outcome(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    webhook = await call.rows.edit(models.Webhook, delivery.target_id)
    _record_attempt(call, webhook, outcome)
    endpoint = await _edit_endpoint(call, webhook)
    if endpoint is not None:
        _update_health(call, endpoint, outcome, ping=_is_ping(webhook))
    if delivery.state is DeliveryState.FAILED:
        webhook.status = WebhookStatus.FAILED
    await _update_error(call, webhook)
    return True


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_old_events(call: Call) -> list[str]:
    """Return the applications with events older than EVENT_RETENTION."""
    return await call.rows.application_ids_with(
        models.WebhookEvent, col(models.WebhookEvent.created_at) < call.rows.now - EVENT_RETENTION
    )


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_events(call: Call) -> int:
    """Delete up to EVENTS_PER_TRANSACTION of the application's events older than EVENT_RETENTION. Return their number.

    The records of their webhooks have their own retention.
    """
    old = await call.rows.all(
        models.WebhookEvent,
        col(models.WebhookEvent.created_at) < call.rows.now - EVENT_RETENTION,
        order_by=[models.WebhookEvent.created_at],
        limit=EVENTS_PER_TRANSACTION,
    )
    numbers = [event.number for event in old]
    return await call.rows.delete(models.WebhookEvent, col(models.WebhookEvent.number).in_(numbers))


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_old_webhooks(call: Call) -> list[str]:
    """Return the applications with records of webhooks that ended before WEBHOOK_RETENTION."""
    return await call.rows.application_ids_with(models.Webhook, *_has_ended_long_ago(call))


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_webhooks(call: Call) -> int:
    """Delete up to WEBHOOKS_PER_TRANSACTION old records of webhooks with their error records. Return their number."""
    old = await call.rows.all(
        models.Webhook,
        *_has_ended_long_ago(call),
        order_by=[models.Webhook.updated_at],
        limit=WEBHOOKS_PER_TRANSACTION,
    )
    webhook_ids = [webhook.webhook_id for webhook in old]
    await call.rows.delete(models.WebhookError, col(models.WebhookError.webhook_id).in_(webhook_ids))
    return await call.rows.delete(models.Webhook, col(models.Webhook.webhook_id).in_(webhook_ids))


def _has_ended_long_ago(call: Call) -> tuple[ColumnElement[bool], ...]:
    return (
        col(models.Webhook.updated_at) < call.rows.now - WEBHOOK_RETENTION,
        col(models.Webhook.status) != WebhookStatus.PENDING,
    )


def _record_attempt(call: Call, webhook: models.Webhook, outcome: Outcome) -> None:
    """Record an attempt. An outcome without an attempt, such as a deleted endpoint, is not recorded."""
    number = webhook.number_of_attempts + 1
    if isinstance(outcome, Sent):
        attempt = {
            "attempt": number,
            "statusCode": outcome.details["statusCode"],
            "successedAt": format_iso(call.rows.now),
        }
        webhook.number_of_attempts, webhook.successful_attempt, webhook.status = number, attempt, WebhookStatus.COMPLETE
    elif isinstance(outcome, TemporaryFailure) or outcome.details:
        attempt = failed_attempt_json(number, format_iso(call.rows.now), outcome.details, outcome.reason)
        webhook.number_of_attempts, webhook.failed_attempts = number, [*webhook.failed_attempts, attempt]


def _update_health(call: Call, endpoint: models.WebhookEndpoint, outcome: Outcome, *, ping: bool) -> None:
    """Update the endpoint's health after an attempt. A failed ping does not count."""
    now, status = call.rows.now, outcome.details.get("statusCode")
    if isinstance(outcome, Sent):
        _store_health(endpoint, EndpointHealth())
    elif status == STATUS_GONE:
        _disable(endpoint, "it answered 410 Gone")
    elif isinstance(outcome, TemporaryFailure) and not ping:
        throttled = status in THROTTLING_STATUSES or outcome.retry_after_seconds is not None
        health = on_attempt_failed(
            _health_of(endpoint), now, throttled=throttled, retry_after_seconds=outcome.retry_after_seconds
        )
        _store_health(endpoint, health)
        if should_disable(health, now):
            _disable(endpoint, "it accepted no message for 5 days")


def _disable(endpoint: models.WebhookEndpoint, reason: str) -> None:
    log.warning("Webhook endpoint %s is disabled: %s", endpoint.endpoint_id, reason)
    endpoint.enabled, endpoint.disabled_reason = False, reason


async def _update_error(call: Call, webhook: models.Webhook) -> None:
    """List a webhook as an error from its first failed attempt until an attempt succeeds."""
    is_of_webhook = col(models.WebhookError.webhook_id) == webhook.webhook_id
    if webhook.status is WebhookStatus.COMPLETE:
        if webhook.failed_attempts:
            await call.rows.delete(models.WebhookError, is_of_webhook)
        return
    if not webhook.failed_attempts and webhook.status is not WebhookStatus.FAILED:
        return
    attempt = webhook.failed_attempts[-1] if webhook.failed_attempts else {}
    if await call.rows.update(models.WebhookError, is_of_webhook, attempt=attempt):
        return
    await call.rows.add(
        models.WebhookError(
            webhook_id=webhook.webhook_id, user_id=webhook.user_id, callback_url=webhook.callback_url, attempt=attempt
        )
    )


async def _edit_endpoint(call: Call, webhook: models.Webhook) -> models.WebhookEndpoint | None:
    """Return the endpoint of a webhook, for update. Return None if it was deleted, and for callbacks."""
    known = await call.rows.get_many(models.WebhookEndpoint, [webhook.endpoint_id or ""])
    return await call.rows.edit(models.WebhookEndpoint, str(webhook.endpoint_id)) if known else None


async def _find_endpoint_by_url(call: Call, url: str) -> models.WebhookEndpoint | None:
    """Return the endpoint at the address of a callback. Its secret signs the callback."""
    return await call.rows.first(models.WebhookEndpoint, col(models.WebhookEndpoint.url) == url)


def _is_ping(webhook: models.Webhook) -> bool:
    return bool(webhook.payload.get("eventCode") == PING_EVENT)


def _health_of(endpoint: models.WebhookEndpoint) -> EndpointHealth:
    return EndpointHealth(endpoint.failures, endpoint.failing_since, endpoint.paused_until)


def _store_health(endpoint: models.WebhookEndpoint, health: EndpointHealth) -> None:
    endpoint.failures, endpoint.failing_since, endpoint.paused_until = (
        health.failures,
        health.failing_since,
        health.paused_until,
    )
