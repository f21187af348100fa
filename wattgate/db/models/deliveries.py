"""The outbox: what has to leave the house."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import BigInteger, Enum, Index, Integer
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import UtcDateTime, created_at, new_id
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import DeliveryKind, DeliveryState


class Delivery(Tenanted, table=True):
    """Something on its way out, written in the transaction of what caused it.

    `target_id` is the notification or webhook that is delivered; `address` is one of several receivers, where each
    has a delivery of its own. Deliveries with the same `order_key` leave one after the other, by their `number`.
    A worker has it until `leased_until`, and counts the attempt when it takes it. `reference` is what the receiver
    calls it.
    """

    __table_args__ = (Index(None, "state", "due_at"), Index(None, "order_key", "number"))
    key: ClassVar[str] = "delivery_id"
    owner: ClassVar[str | None] = "user_id"

    number: int | None = Field(default=None, primary_key=True, sa_type=BigInteger().with_variant(Integer(), "sqlite"))
    delivery_id: str = Field(default_factory=new_id, unique=True)
    kind: DeliveryKind = Field(sa_type=Enum(DeliveryKind, native_enum=False, length=16))
    target_id: str = Field(index=True)
    address: str | None = None
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id")
    order_key: str | None = None
    state: DeliveryState = Field(
        default=DeliveryState.WAITING, sa_type=Enum(DeliveryState, native_enum=False, length=16)
    )
    attempts: int = 0
    due_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    leased_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    worker: str | None = None
    reason: str | None = None
    reference: str | None = None
    created_at: datetime = created_at()
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
