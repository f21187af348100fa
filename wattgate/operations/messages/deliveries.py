"""Outbox operations for the worker `app/workers/deliveries.py`: find, claim and release deliveries, record outcomes."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import ColumnElement, and_, case, exists, not_, or_
from sqlalchemy.orm import aliased
from sqlmodel import col

from wattgate.db.models import Delivery
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.channels.channel import Outcome
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import notifications, outbox
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True)
class DueDeliveries:
    """The applications with deliveries that are due, and, if there are none, when the next one is. None means never."""

    applications: list[str]
    next_at: datetime | None


@operation(OperationKind.QUERY, returns=DueDeliveries, needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def due_deliveries(call: Call, *, kinds: Collection[DeliveryKind]) -> DueDeliveries:
    """Return the applications with due deliveries of these kinds or, if there are none, when the next one is due."""
    applications = await call.rows.application_ids_with(
        Delivery, *_claimable_conditions(kinds), _available_at() <= call.rows.now
    )
    return DueDeliveries(
        applications,
        None if applications else await call.rows.earliest(Delivery, _available_at(), *_claimable_conditions(kinds)),
    )


@operation(OperationKind.MUTATION, returns=list[Delivery], needs=Permission.SYSTEM)
async def claim_deliveries(
    call: Call, *, kinds: Collection[DeliveryKind], worker: str, limit: int, lease: float
) -> list[Delivery]:
    """Claim due deliveries of the application, oldest first, for `lease` seconds. No two workers claim the same one.

    The attempt counts from the claim, so that a delivery that crashes its workers fails permanently in the end.
    """
    return await call.rows.claim(
        Delivery,
        *_claimable_conditions(kinds),
        _available_at() <= call.rows.now,
        order_by=[Delivery.due_at, Delivery.number],
        limit=limit,
        state=DeliveryState.LEASED,
        worker=worker,
        leased_until=call.rows.now + timedelta(seconds=lease),
        attempts=col(Delivery.attempts) + 1,
    )


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def release_delivery(call: Call, *, delivery_id: str, worker: str, attempt: int) -> int:
    """Release a claimed delivery whose attempt did not finish. The attempt does not count."""
    return await call.rows.update(
        Delivery,
        *outbox.lease_conditions(delivery_id, worker, attempt),
        state=DeliveryState.WAITING,
        worker=None,
        leased_until=None,
        attempts=attempt - 1,
    )


@operation(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def record_notification_outcome(
    call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome
) -> bool:
    """Record the outcome of an attempt to deliver a notification. Return False if another worker has claimed it."""
    delivery = await outbox.record_delivery_outcome(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    await notifications.record_notification_step(call, delivery, outcome)
    return True


@cache
def _available_at() -> ColumnElement[datetime]:
    """Return when a delivery can be claimed: when it is due or, if it is leased, when the lease ends."""
    return case((col(Delivery.state) == DeliveryState.LEASED, col(Delivery.leased_until)), else_=col(Delivery.due_at))


def _claimable_conditions(kinds: Collection[DeliveryKind]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for claiming a delivery: it is open, and no other one of its order key must go first."""
    return (
        col(Delivery.kind).in_(kinds),
        col(Delivery.state).in_((DeliveryState.WAITING, DeliveryState.LEASED)),
        not_(_is_blocked()),
    )


@cache
def _is_blocked() -> ColumnElement[bool]:
    """Return whether another delivery of its order key must go first."""
    other = aliased(Delivery)
    leased = col(other.state) == DeliveryState.LEASED
    queued_before = and_(col(other.state) == DeliveryState.WAITING, col(other.number) < col(Delivery.number))
    return exists().where(
        col(other.application_id) == col(Delivery.application_id),
        col(other.order_key) == col(Delivery.order_key),
        col(other.number) != col(Delivery.number),
        or_(leased, queued_before),
    )
