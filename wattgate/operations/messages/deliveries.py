"""Outbox operations for the worker `app/workers/deliveries.py`: find, claim and release deliveries, record outcomes."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import ColumnElement, case, exists, func, not_, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from wattgate.db.column_types import is_literally
from wattgate.db.models import Delivery, TestMail
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.delivery.channels.channel import Outcome
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.messages import notifications, outbox
from wattgate.principal import Permission

DELIVERY_RETENTION = timedelta(days=30)
"""Time for which the record of a delivery is kept after its end."""

DELIVERIES_PER_TRANSACTION = 1_000


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


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_old_deliveries(call: Call) -> list[str]:
    """Return the applications with deliveries that ended before DELIVERY_RETENTION."""
    return await call.rows.application_ids_with(Delivery, _is_old(call))


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_deliveries(call: Call) -> int:
    """Delete up to DELIVERIES_PER_TRANSACTION of the application's old deliveries. Return their number.

    The test mails of deliveries are deleted too: their state is that of the delivery.
    """
    old = await call.rows.all(Delivery, _is_old(call), order_by=[Delivery.ended_at], limit=DELIVERIES_PER_TRANSACTION)
    test_mails = [delivery.target_id for delivery in old if delivery.kind is DeliveryKind.TEST_MAIL]
    if test_mails:
        await call.rows.delete(TestMail, col(TestMail.test_mail_id).in_(test_mails))
    return await call.rows.delete(Delivery, col(Delivery.number).in_([delivery.number for delivery in old]))


def _is_old(call: Call) -> ColumnElement[bool]:
    return col(Delivery.ended_at) < call.rows.now - DELIVERY_RETENTION


@cache
def _available_at() -> ColumnElement[datetime]:
    """Return when a delivery can be claimed: when it is due or, if it is leased, when the lease ends."""
    return case((col(Delivery.state) == DeliveryState.LEASED, col(Delivery.leased_until)), else_=col(Delivery.due_at))


def _claimable_conditions(kinds: Collection[DeliveryKind]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for claiming a delivery: it is open, and no other one of its order key must go first."""
    return (
        col(Delivery.kind).in_(kinds),
        _is_open(Delivery),
        _is_first_of_order_key(),
        not_(_is_order_key_leased()),
    )


def _is_open(delivery: type[Delivery]) -> ColumnElement[bool]:
    return is_literally(col(delivery.state), DeliveryState.WAITING, DeliveryState.LEASED)


@cache
def _is_first_of_order_key() -> ColumnElement[bool]:
    """Return whether no open delivery of the order key comes before.

    It reads one row of a partial index for each delivery, however many of the order key are open or have ended. The
    planner of PostgreSQL would make a join of an `EXISTS`, which compares all open ones with each other.
    """
    other = aliased(Delivery)
    first = select(func.min(col(other.number))).where(*_shares_order_key(other), _is_open(other))
    return or_(col(Delivery.order_key).is_(None), col(Delivery.number) == first.scalar_subquery())


@cache
def _is_order_key_leased() -> ColumnElement[bool]:
    """Return whether another delivery of the order key is leased. At most one is."""
    other = aliased(Delivery)
    is_leased = is_literally(col(other.state), DeliveryState.LEASED)
    return exists().where(*_shares_order_key(other), is_leased, col(other.number) != col(Delivery.number))


def _shares_order_key(other: type[Delivery]) -> tuple[ColumnElement[bool], ...]:
    return (
        col(other.application_id) == col(Delivery.application_id),
        col(other.order_key) == col(Delivery.order_key),
    )
