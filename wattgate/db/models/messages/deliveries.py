"""The outbox: messages to send to other systems."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import BigInteger, Enum, Index, Integer
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import UtcDateTime, created_at_field, new_id
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import DeliveryKind, DeliveryState


class Delivery(Tenanted, table=True):
    """A message to send, written in the same transaction as its cause.

    `target_id` is the notification or webhook to deliver. `address` is the receiver if the target has several; each of
    them has its own delivery. Deliveries with the same `order_key` are sent one after the other, by `number`. A worker
    that claims a delivery increments `attempts` and has a lease until `leased_until`. `reference` is the receiver's id
    of the message. A SUPPRESSED delivery exceeded a bound when it was added; it is kept and never sent.
    """

    __table_args__ = (
        Index(None, "state", "due_at"),
        Index(None, "order_key", "number"),
        Index(None, "application_id", "address", "created_at"),
        Index(None, "user_id", "created_at"),
    )
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
    created_at: datetime = created_at_field()
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
