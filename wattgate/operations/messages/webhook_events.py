"""Webhook events: store each event for replays, and enqueue a delivery to each receiver."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from sqlmodel import col

from wattgate.db.column_types import new_id
from wattgate.db.models import Webhook, WebhookEndpoint, WebhookError, WebhookEvent
from wattgate.delivery.channels.webhook import matches_any
from wattgate.enums import DeliveryKind, WebhookStatus
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.outbox import enqueue_all
from wattgate.operations.vocabulary.cost_weights import DELIVERY_WEIGHT


async def enqueue_event(
    call: Call,
    event_code: str,
    payload: Mapping[str, Any],
    *,
    user_id: str | None = None,
    callback_url: str | None = None,
) -> None:
    """Store an event and enqueue it for all endpoints that match its code and for the callback URL.

    Each receiver gets `payload` with the event code added, and has its own webhook record and delivery. An endpoint
    whose URL equals the callback URL gets the event once. Each delivery above those that the mutation includes is
    charged before it is written.
    """
    enabled = await call.rows.all(WebhookEndpoint, col(WebhookEndpoint.enabled).is_(True))
    endpoints = [endpoint for endpoint in enabled if matches_any(endpoint.events, event_code)]
    has_callback = callback_url is not None and callback_url not in {endpoint.url for endpoint in endpoints}
    if not call.outside.demand(DELIVERY_WEIGHT * (len(endpoints) + has_callback)):
        return
    event = await store_event(call, event_code, payload, user_id)
    webhooks = [_build_for_endpoint(call, endpoint, event) for endpoint in endpoints]
    await _store_and_enqueue(call, webhooks, [_order_key(endpoint) for endpoint in endpoints])
    if has_callback:
        callback = _build_webhook(call, event, user_id=user_id, callback_url=callback_url)
        await _store_and_enqueue(call, [callback], [None], user_id=user_id)


async def enqueue_error_event(
    call: Call, event_code: str, error_code: str, payload: Mapping[str, Any], **to: Any
) -> None:
    """Enqueue an error event. Add the error code and an id that support can search for."""
    await enqueue_event(call, event_code, {"errorCode": error_code, "errorId": new_id(), **payload}, **to)


async def store_event(call: Call, event_code: str, payload: Mapping[str, Any], user_id: str | None) -> WebhookEvent:
    """Store an event, so that it can be sent again."""
    event_payload = {**payload, "eventCode": event_code}
    return await call.rows.add(
        WebhookEvent(event_code=event_code, user_id=user_id, payload=event_payload, created_at=call.rows.now)
    )


async def enqueue_ping(call: Call, endpoint: WebhookEndpoint, event: WebhookEvent) -> Webhook:
    """Enqueue a test event for an endpoint. It does not wait for other events of the endpoint."""
    webhook = _build_for_endpoint(call, endpoint, event)
    await _store_and_enqueue(call, [webhook], [None])
    return webhook


async def enqueue_again(
    call: Call, endpoint: WebhookEndpoint, ended: Sequence[Webhook], events: Sequence[WebhookEvent] = ()
) -> None:
    """Enqueue ended webhooks of an endpoint again, and events that it has not received before, in their order.

    The error records of the webhooks are deleted, and their past deliveries stay on record. The number of statements
    does not depend on that of the webhooks.
    """
    ids = [webhook.webhook_id for webhook in ended]
    if ids:
        await call.rows.delete(WebhookError, col(WebhookError.webhook_id).in_(ids))
        await call.rows.update(Webhook, col(Webhook.webhook_id).in_(ids), status=WebhookStatus.PENDING)
    new = [_build_for_endpoint(call, endpoint, event) for event in events]
    await call.rows.add_all(new)
    queued = sorted([*ended, *new], key=attrgetter("event_number"))
    targets = [webhook.webhook_id for webhook in queued]
    keys = [_order_key(endpoint)] * len(targets)
    await enqueue_all(call, DeliveryKind.WEBHOOK, targets, user_id=None, order_keys=keys)


def _order_key(endpoint: WebhookEndpoint) -> str | None:
    return endpoint.endpoint_id if endpoint.ordered else None


def _build_for_endpoint(call: Call, endpoint: WebhookEndpoint, event: WebhookEvent) -> Webhook:
    return _build_webhook(call, event, callback_url=endpoint.url, endpoint_id=endpoint.endpoint_id)


def _build_webhook(call: Call, event: WebhookEvent, **to: Any) -> Webhook:
    return Webhook(
        event_id=event.event_id,
        event_number=event.number,
        subject_id=event.user_id,
        payload=event.payload,
        created_at=call.rows.now,
        **to,
    )


async def _store_and_enqueue(
    call: Call, webhooks: Sequence[Webhook], order_keys: Sequence[str | None], *, user_id: str | None = None
) -> None:
    with call.rows.whole_application():  # a user's act may send a webhook to an endpoint of the application
        await call.rows.add_all(webhooks)
        targets = [webhook.webhook_id for webhook in webhooks]
        await enqueue_all(call, DeliveryKind.WEBHOOK, targets, user_id=user_id, order_keys=order_keys)
