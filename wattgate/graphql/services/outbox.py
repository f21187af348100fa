"""What has to leave the house is put here, in the transaction of what causes it; a worker takes it from there."""

import random
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlmodel import col

from wattgate.db.models import Delivery
from wattgate.db.rows import Condition
from wattgate.delivery.channels.channel import Content, Outcome, Outgoing, Refused, Retry, Sent
from wattgate.delivery.schedule import SCHEDULES
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.graphql.core.operation import Call
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


def outgoing(
    delivery: Delivery, address: str, content: Content, headers: Mapping[str, str] = MappingProxyType({})
) -> Outgoing:
    """An attempt of a delivery to one address."""
    return Outgoing(
        delivery_id=delivery.delivery_id,
        application_id=delivery.application_id,
        attempt=delivery.attempts,
        created_at=delivery.created_at,
        addresses=(address,),
        content=content,
        headers=headers,
    )


async def settle(call: Call, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> Delivery | None:
    """Keep what became of an attempt: sent, waiting for the next one by the schedule, or failed.

    None where the delivery is no longer this worker's: its lease has ended, and somebody else has taken it over.
    """
    mine = held(delivery_id, worker, attempt)
    known = await call.rows.first(Delivery, *mine)
    if known is None or not await call.rows.update(Delivery, *mine, **_after(known, outcome, call.rows.now)):
        return None
    return await call.rows.get(Delivery, delivery_id)


async def postpone(call: Call, delivery_id: str, worker: str, attempt: int, due_at: datetime) -> bool:
    """Put a delivery back that could not be attempted at all; False where it is no longer this worker's."""
    waits = {"state": DeliveryState.WAITING, "worker": None, "leased_until": None, "attempts": attempt - 1}
    return bool(await call.rows.update(Delivery, *held(delivery_id, worker, attempt), **waits, due_at=due_at))


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
