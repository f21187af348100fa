"""Events are told to those who want to know: kept for replays, and put into the outbox for each who is told."""

from collections.abc import Mapping
from typing import Any

from sqlmodel import col

from wattgate.db.column_types import new_id
from wattgate.db.models import Webhook, WebhookEndpoint, WebhookError, WebhookEvent
from wattgate.delivery.channels.webhook import wants
from wattgate.enums import DeliveryKind
from wattgate.graphql.core.operation import Call
from wattgate.graphql.services.outbox import enqueue

PENDING, COMPLETE, FAILED = "pending", "complete", "failed"
"""What the status of a webhook is."""


async def enqueue_event(
    call: Call,
    event_code: str,
    payload: Mapping[str, Any],
    *,
    user_id: str | None = None,
    callback_url: str | None = None,
) -> None:
    """Tell that something has happened: the endpoints that want such events, and the callback URL of what it is about.

    `payload` is told as it is, with the event's code. Each receiver has a webhook on record and a delivery. An endpoint
    with the callback's own address is told once.
    """
    event = await keep_event(call, event_code, payload, user_id)
    told = set()
    for endpoint in await call.rows.all(WebhookEndpoint, col(WebhookEndpoint.enabled).is_(True)):
        if wants(endpoint.events, event_code):
            await send_to(call, endpoint, event)
            told.add(endpoint.url)
    if callback_url is not None and callback_url not in told:
        await _send(call, _record(call, event, user_id=user_id, callback_url=callback_url))


async def error_event(call: Call, event_code: str, error_code: str, payload: Mapping[str, Any], **to: Any) -> None:
    """Tell that something has failed: the same with the error's code, and an id under which it can be asked about."""
    await enqueue_event(call, event_code, {"errorCode": error_code, "errorId": new_id(), **payload}, **to)


async def keep_event(call: Call, event_code: str, payload: Mapping[str, Any], user_id: str | None) -> WebhookEvent:
    """Keep an event, so that it can be sent again."""
    told = {**payload, "eventCode": event_code}
    return await call.rows.add(
        WebhookEvent(event_code=event_code, user_id=user_id, payload=told, created_at=call.rows.now)
    )


async def send_to(call: Call, endpoint: WebhookEndpoint, event: WebhookEvent, *, ordered: bool = True) -> Webhook:
    """Have an event delivered to an endpoint that it was not delivered to before."""
    made = _record(call, event, callback_url=endpoint.url, endpoint_id=endpoint.endpoint_id)
    return await _send(call, made, order_key=endpoint.endpoint_id if endpoint.ordered and ordered else None)


async def send_again(call: Call, endpoint: WebhookEndpoint, before: Webhook) -> Webhook:
    """Have a webhook delivered once more that has come to an end; what became of it so far stays on record."""
    await call.rows.delete(WebhookError, col(WebhookError.webhook_id) == before.webhook_id)
    webhook = await call.rows.edit(Webhook, before.webhook_id)
    webhook.status = PENDING
    order_key = endpoint.endpoint_id if endpoint.ordered else None
    await enqueue(call, DeliveryKind.WEBHOOK, webhook.webhook_id, order_key=order_key)
    return webhook


def _record(call: Call, event: WebhookEvent, **to: Any) -> Webhook:
    return Webhook(
        event_id=event.event_id,
        event_number=event.number,
        payload=event.payload,
        created_at=call.rows.now,
        **to,
    )


async def _send(call: Call, webhook: Webhook, *, order_key: str | None = None) -> Webhook:
    made = await call.rows.add(webhook)
    await enqueue(call, DeliveryKind.WEBHOOK, made.webhook_id, user_id=made.user_id, order_key=order_key)
    return made
