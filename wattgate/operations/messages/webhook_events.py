"""Webhook events: store each event for replays, and enqueue a delivery to each receiver."""

from collections.abc import Mapping
from typing import Any

from sqlmodel import col

from wattgate.db.column_types import new_id
from wattgate.db.models import Webhook, WebhookEndpoint, WebhookError, WebhookEvent
from wattgate.delivery.channels.webhook import matches_any
from wattgate.enums import DeliveryKind, WebhookStatus
from wattgate.operations.core.operation import Call
from wattgate.operations.messages.outbox import enqueue


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
    whose URL equals the callback URL gets the event once.
    """
    event = await store_event(call, event_code, payload, user_id)
    notified_urls = set()
    for endpoint in await call.rows.all(WebhookEndpoint, col(WebhookEndpoint.enabled).is_(True)):
        if matches_any(endpoint.events, event_code):
            await enqueue_webhook(call, endpoint, event)
            notified_urls.add(endpoint.url)
    if callback_url is not None and callback_url not in notified_urls:
        await _store_and_enqueue(call, _build_webhook(call, event, user_id=user_id, callback_url=callback_url))


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


async def enqueue_webhook(
    call: Call, endpoint: WebhookEndpoint, event: WebhookEvent, *, ordered: bool = True
) -> Webhook:
    """Enqueue an event for an endpoint that has not received it before."""
    webhook = _build_webhook(call, event, callback_url=endpoint.url, endpoint_id=endpoint.endpoint_id)
    return await _store_and_enqueue(
        call, webhook, order_key=endpoint.endpoint_id if endpoint.ordered and ordered else None
    )


async def requeue_webhook(call: Call, endpoint: WebhookEndpoint, ended: Webhook) -> Webhook:
    """Enqueue an ended webhook again. Remove its error record; its past deliveries stay on record."""
    await call.rows.delete(WebhookError, col(WebhookError.webhook_id) == ended.webhook_id)
    webhook = await call.rows.edit(Webhook, ended.webhook_id)
    webhook.status = WebhookStatus.PENDING
    order_key = endpoint.endpoint_id if endpoint.ordered else None
    await enqueue(call, DeliveryKind.WEBHOOK, webhook.webhook_id, order_key=order_key)
    return webhook


def _build_webhook(call: Call, event: WebhookEvent, **to: Any) -> Webhook:
    return Webhook(
        event_id=event.event_id,
        event_number=event.number,
        subject_id=event.user_id,
        payload=event.payload,
        created_at=call.rows.now,
        **to,
    )


async def _store_and_enqueue(call: Call, webhook: Webhook, *, order_key: str | None = None) -> Webhook:
    with call.rows.whole_application():  # a user's act may send a webhook to an endpoint of the application
        stored = await call.rows.add(webhook)
        await enqueue(call, DeliveryKind.WEBHOOK, stored.webhook_id, user_id=stored.user_id, order_key=order_key)
    return stored
