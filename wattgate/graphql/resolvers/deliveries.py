"""What workers do with the outbox, application by application: `app/workers/deliveries.py` runs these."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, case, exists, not_, or_
from sqlalchemy.orm import aliased
from sqlmodel import col

from wattgate.db.models import Delivery
from wattgate.delivery.channels.channel import Outcome
from wattgate.enums import DeliveryKind, DeliveryState
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.services import notifications, outbox
from wattgate.principal import Permission


@dataclass(frozen=True, slots=True)
class Due:
    """The applications for which something is to leave now, or else when the next thing is; None for never."""

    applications: list[str]
    next_at: datetime | None


@operation(Kind.QUERY, returns=Due, needs=Permission.SYSTEM)
async def due_deliveries(call: Call, *, kinds: Collection[DeliveryKind]) -> Due:
    """For whom something of these kinds is to leave, or when."""
    applications = await call.rows.applications_with(Delivery, *_free(kinds), _instant() <= call.rows.now)
    return Due(applications, None if applications else await call.rows.soonest(Delivery, _instant(), *_free(kinds)))


@operation(Kind.MUTATION, returns=list[Delivery], needs=Permission.SYSTEM)
async def claim_deliveries(
    call: Call, *, kinds: Collection[DeliveryKind], worker: str, limit: int, lease: float
) -> list[Delivery]:
    """Take the application's deliveries that are due, oldest first, for so many seconds; no two get the same one.

    The attempt counts from now on, so that what kills its workers is given up in the end.
    """
    return await call.rows.claim(
        Delivery,
        *_free(kinds),
        _instant() <= call.rows.now,
        order_by=[Delivery.due_at, Delivery.number],
        limit=limit,
        state=DeliveryState.LEASED,
        worker=worker,
        leased_until=call.rows.now + timedelta(seconds=lease),
        attempts=col(Delivery.attempts) + 1,
    )


@operation(Kind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def give_back_delivery(call: Call, *, delivery_id: str, worker: str, attempt: int) -> int:
    """Let others take a delivery that this worker was not able to try to an end; the attempt does not count."""
    return await call.rows.update(
        Delivery,
        *outbox.held(delivery_id, worker, attempt),
        state=DeliveryState.WAITING,
        worker=None,
        leased_until=None,
        attempts=attempt - 1,
    )


@operation(Kind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def settle_notification(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Keep what became of an attempt to deliver a notification; False where somebody else has taken it over."""
    delivery = await outbox.settle(call, delivery_id, worker, attempt, outcome)
    if delivery is None:
        return False
    await notifications.step(call, delivery, outcome)
    return True


def _instant() -> ColumnElement[datetime]:
    """When a delivery may be taken: when it is due, or when the lease of whoever has it ends."""
    return case((col(Delivery.state) == DeliveryState.LEASED, col(Delivery.leased_until)), else_=col(Delivery.due_at))


def _free(kinds: Collection[DeliveryKind]) -> tuple[ColumnElement[bool], ...]:
    """That a delivery of these kinds is not at its end, and no other one has to leave before it."""
    other = aliased(Delivery)
    at_work = col(other.state) == DeliveryState.LEASED
    before = and_(col(other.state) == DeliveryState.WAITING, col(other.number) < col(Delivery.number))
    blocked = exists().where(
        col(other.application_id) == col(Delivery.application_id),
        col(other.order_key) == col(Delivery.order_key),
        col(other.number) != col(Delivery.number),
        or_(at_work, before),
    )
    return (
        col(Delivery.kind).in_(kinds),
        col(Delivery.state).in_((DeliveryState.WAITING, DeliveryState.LEASED)),
        not_(blocked),
    )
