"""The outbox: outgoing deliveries, stored in the transaction that causes them and sent by a worker."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlmodel import col

from wattgate.db.models import Delivery
from wattgate.db.rows.pages import Condition
from wattgate.delivery.channels.channel import (
    MessageContent,
    OutboundMessage,
    Outcome,
    PermanentFailure,
    Sent,
    TemporaryFailure,
)
from wattgate.delivery.schedule import SCHEDULES
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.operations.core.operation import Call
from wattgate.realtime import topics
from wattgate.realtime.events import DeliveryQueued, Event

RETRIES_EXHAUSTED = "gave.up"
"""The error code of a delivery that failed in every attempt of its schedule."""


async def enqueue(
    call: Call,
    kind: DeliveryKind,
    target_id: str,
    *,
    user_id: str | None = None,
    address: str | None = None,
    order_key: str | None = None,
    due_at: datetime | None = None,
    suppressed_reason: str | None = None,
) -> Delivery:
    """Enqueue a delivery of a notification or webhook, due immediately unless `due_at` is given.

    With `suppressed_reason`, only store it: it is never sent. See `models.Delivery`.
    """
    delivery = new_delivery(
        kind,
        target_id,
        now=call.rows.now,
        user_id=user_id,
        address=address,
        order_key=order_key,
        due_at=due_at,
        suppressed_reason=suppressed_reason,
    )
    await call.rows.add(delivery)
    if suppressed_reason is None and delivery.due_at <= call.rows.now:
        announce(call, kind)
    return delivery


async def enqueue_all(
    call: Call, kind: DeliveryKind, target_ids: Sequence[str], *, user_id: str | None, order_keys: Sequence[str | None]
) -> None:
    """Enqueue deliveries of several targets in one statement, each with its own order key, due immediately."""
    queued = [
        new_delivery(kind, target_id, now=call.rows.now, user_id=user_id, order_key=order_key)
        for target_id, order_key in zip(target_ids, order_keys, strict=True)
    ]
    if queued:
        await call.rows.add_all(queued)
        announce(call, kind)


def announce(call: Call, kind: DeliveryKind) -> None:
    """Wake the workers, because a delivery is due."""
    call.emit(Event(topics.deliveries(), kind.value, DeliveryQueued(kind)))


def new_delivery(
    kind: DeliveryKind,
    target_id: str,
    *,
    now: datetime,
    user_id: str | None = None,
    address: str | None = None,
    order_key: str | None = None,
    due_at: datetime | None = None,
    suppressed_reason: str | None = None,
) -> Delivery:
    """Return a delivery that is not stored yet. See `enqueue`."""
    delivery = Delivery(
        kind=kind,
        target_id=target_id,
        user_id=user_id,
        address=address,
        order_key=order_key,
        due_at=due_at or now,
        created_at=now,
    )
    if suppressed_reason is not None:
        delivery.state, delivery.reason, delivery.ended_at = DeliveryState.SUPPRESSED, suppressed_reason, now
    return delivery


def build_outgoing(
    delivery: Delivery,
    address: str,
    content: MessageContent,
    headers: Mapping[str, str] = MappingProxyType({}),
    *,
    unsubscribable: bool = True,
) -> OutboundMessage:
    """Return the message of a delivery attempt to one address."""
    return OutboundMessage(
        delivery_id=delivery.delivery_id,
        application_id=delivery.application_id,
        attempt=delivery.attempts,
        created_at=delivery.created_at,
        addresses=(address,),
        content=content,
        headers=headers,
        unsubscribable=unsubscribable,
    )


async def record_delivery_outcome(
    call: Call, delivery_id: str, worker: str, attempt: int, outcome: Outcome
) -> Delivery | None:
    """Store the outcome of an attempt: sent, waiting for the next attempt of the schedule, or failed.

    Return None if the worker no longer holds the lease of the delivery, because it expired and another worker claimed
    it.
    """
    has_lease = lease_conditions(delivery_id, worker, attempt)
    delivery = await call.rows.first(Delivery, *has_lease)
    if delivery is None or not await call.rows.update(
        Delivery, *has_lease, **_columns_after(delivery, outcome, call.rows.now)
    ):
        return None
    return await call.rows.get(Delivery, delivery_id)


async def postpone(call: Call, delivery_id: str, worker: str, attempt: int, due_at: datetime) -> bool:
    """Put a delivery that could not be attempted back into the queue.

    Return False if the worker no longer holds its lease.
    """
    columns = {"state": DeliveryState.WAITING, "worker": None, "leased_until": None, "attempts": attempt - 1}
    return bool(
        await call.rows.update(Delivery, *lease_conditions(delivery_id, worker, attempt), **columns, due_at=due_at)
    )


def lease_conditions(delivery_id: str, worker: str, attempt: int) -> tuple[Condition, ...]:
    """Return the conditions that a worker still holds the lease of a delivery that it claimed for this attempt."""
    return (
        col(Delivery.delivery_id) == delivery_id,
        col(Delivery.worker) == worker,
        col(Delivery.attempts) == attempt,
        col(Delivery.state) == DeliveryState.LEASED,
    )


def _columns_after(delivery: Delivery, outcome: Outcome, now: datetime) -> dict[str, Any]:
    """Return the column values of a delivery after an attempt with this outcome."""
    released = {"worker": None, "leased_until": None}
    if isinstance(outcome, Sent):
        ended = {"state": DeliveryState.SENT, "reference": outcome.reference, "reason": None, "ended_at": now}
        return {**released, **ended}
    if isinstance(outcome, TemporaryFailure):
        pause = SCHEDULES[delivery.kind].pause_after(delivery.attempts, random.random(), outcome.retry_after_seconds)  # noqa: S311 (jitter, not a secret)
        if pause is not None:
            return {**released, "state": DeliveryState.WAITING, "reason": outcome.reason, "due_at": now + pause}
    return {**released, "state": DeliveryState.FAILED, "reason": outcome.reason, "ended_at": now}


def failure_code(outcome: Outcome) -> str:
    """Return the machine-readable code of a permanent failure or of exhausted retries."""
    return outcome.code if isinstance(outcome, PermanentFailure) else RETRIES_EXHAUSTED
