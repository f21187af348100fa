"""Displays that users have paired with their homes, and the pairings that are under way (RFC 8628)."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Enum, Index
from sqlmodel import Field

from wattgate.clock import utc_now
from wattgate.db.column_types import AssignedId, UtcDateTime, created_at_field
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import PairingState


class DisplayPairing(Tenanted, table=True):
    """A pairing that a display has started. Only the digests of its two codes are stored.

    `name` is the name that the display suggests, then the one that the user gives. `user_id`, `account_id` and `ve_id`
    are set when a user approves it, `token_id` when the display has taken its credential. `interval` is the number of
    seconds between two requests of the display, and `polled_at` the time of the last one.
    """

    __tablename__ = "display_pairing"
    __table_args__ = (Index(None, "application_id", "expires_at"),)
    key: ClassVar[str] = "pairing_id"

    pairing_id: str = AssignedId()
    device_digest: bytes = Field(unique=True)
    user_digest: bytes = Field(unique=True)
    state: PairingState = Field(default=PairingState.PENDING, sa_type=Enum(PairingState, native_enum=False, length=16))
    name: str = ""
    user_id: str | None = Field(default=None, foreign_key="app_user.user_id", index=True)
    account_id: str | None = Field(default=None, foreign_key="account.account_id", index=True)
    ve_id: str | None = Field(default=None, foreign_key="virtual_entity.ve_id", index=True)
    token_id: str | None = None
    interval: int
    polled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()
    expires_at: datetime = Field(sa_type=UtcDateTime)


class PairedDisplay(Tenanted, table=True):
    """A display of a home, with a credential of its own: the token with `token_id`. It ends with that token.

    `last_seen_at` is stored again only after some time, and `expires_at` with it.
    """

    __tablename__ = "paired_display"
    key: ClassVar[str] = "display_id"
    owner: ClassVar[str | None] = "user_id"

    display_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    ve_id: str = Field(foreign_key="virtual_entity.ve_id", index=True)
    token_id: str = Field(unique=True)
    name: str
    created_at: datetime = created_at_field()
    last_seen_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
