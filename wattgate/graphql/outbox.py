"""What has to leave the house is put here, in the transaction of what causes it; a worker takes it from there."""

import random
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlmodel import col

from wattgate.db.columns import new_id
from wattgate.db.models import Delivery, Webhook
from wattgate.db.rows import Condition
from wattgate.graphql.operation import Call
from wattgate.messages.channel import Outcome, Refused, Retry, Sent
from wattgate.messages.schedule import SCHEDULES
from wattgate.names import DeliveryKind, DeliveryState
from wattgate.realtime import topics
from wattgate.realtime.events import DeliveryDue, Event

GIVEN_UP = "gave.up"
"""The code of what was tried for as long as its schedule says."""


async def enqueue(
    call: Call,
    kind: DeliveryKind,
    target_id: str,
    *,
    user_id: str | None = None,
    address: str | None = None,
    order_key: str | None = None,
    due_at: datetime | None = None,
) -> Delivery:
    """Have a notification or webhook delivered, at once where `due_at` says nothing else; see `models.Delivery`."""
    now = call.rows.now
    made = Delivery(
        kind=kind,
        target_id=target_id,
        user_id=user_id,
        address=address,
        order_key=order_key,
        due_at=due_at or now,
        created_at=now,
    )
    await call.rows.add(made)
    if made.due_at <= now:
        call.emit(Event(topics.deliveries(), kind.value, DeliveryDue(kind)))
    return made


async def enqueue_event(
    call: Call,
    event_code: str,
    payload: Mapping[str, Any],
    *,
    user_id: str | None = None,
    callback_url: str | None = None,
) -> None:
    """Tell those who want to know that something has happened: the callback URL of what it happened to.

    `payload` is told as it is, with the event's code. Each receiver has a webhook on record and a delivery.
    """
    if callback_url is None:
        return
    told = {**payload, "eventCode": event_code}
    made = await call.rows.add(Webhook(user_id=user_id, callback_url=callback_url, payload=told))
    await enqueue(call, DeliveryKind.WEBHOOK, made.webhook_id, user_id=user_id)


async def error_event(call: Call, event_code: str, error_code: str, payload: Mapping[str, Any], **to: Any) -> None:
    """Tell that something has failed: the same with the error's code, and an id under which it can be asked about."""
    await enqueue_event(call, event_code, {"errorCode": error_code, "errorId": new_id(), **payload}, **to)


async def settle(call: Call, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> Delivery | None:
    """Keep what became of an attempt: sent, waiting for the next one by the schedule, or failed.

    None where the delivery is no longer this worker's: its lease has ended, and somebody else has taken it over.
    """
    mine = held(delivery_id, worker, attempt)
    known = await call.rows.first(Delivery, *mine)
    if known is None or not await call.rows.update(Delivery, *mine, **_after(known, outcome, call.rows.now)):
        return None
    return await call.rows.get(Delivery, delivery_id)


def held(delivery_id: str, worker: str, attempt: int) -> tuple[Condition, ...]:
    """That a delivery is still a worker's, since it took it for this attempt."""
    return (
        col(Delivery.delivery_id) == delivery_id,
        col(Delivery.worker) == worker,
        col(Delivery.attempts) == attempt,
        col(Delivery.state) == DeliveryState.LEASED,
    )


def _after(delivery: Delivery, outcome: Outcome, now: datetime) -> dict[str, Any]:
    """What changes on a delivery by the outcome of an attempt."""
    free = {"worker": None, "leased_until": None}
    if isinstance(outcome, Sent):
        ended = {"state": DeliveryState.SENT, "reference": outcome.reference, "reason": None, "ended_at": now}
        return {**free, **ended}
    if isinstance(outcome, Retry):
        pause = SCHEDULES[delivery.kind].pause(delivery.attempts, random.random(), outcome.after)
        if pause is not None:
            return {**free, "state": DeliveryState.WAITING, "reason": outcome.reason, "due_at": now + pause}
    return {**free, "state": DeliveryState.FAILED, "reason": outcome.reason, "ended_at": now}


def code_of(outcome: Outcome) -> str:
    """What software is told of an outcome that was a failure for good."""
    return outcome.code if isinstance(outcome, Refused) else GIVEN_UP
