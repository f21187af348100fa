"""The second factor of accounts: a secret for time-based codes, and recovery codes."""

from datetime import datetime
from typing import ClassVar

from sqlmodel import Field

from wattgate.db.column_types import AssignedId, UtcDateTime, created_at_field
from wattgate.db.models.tenancy import Tenanted


class SecondFactor(Tenanted, table=True):
    """The secret from which an app makes codes (RFC 6238). It is encrypted.

    It is in use when `confirmed_at` is set; `Account.second_factor` is true then. `last_step` is the time step of the
    newest accepted code. No code of that step or an earlier one is accepted again.
    """

    __tablename__ = "second_factor"
    key: ClassVar[str] = "account_id"
    owner: ClassVar[str | None] = "user_id"

    account_id: str = Field(primary_key=True, foreign_key="account.account_id")
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    secret: str
    last_step: int = 0
    confirmed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = created_at_field()


class RecoveryCode(Tenanted, table=True):
    """A code that replaces a code of the app once. Only its digest is stored. A used code is deleted."""

    __tablename__ = "recovery_code"
    key: ClassVar[str] = "recovery_code_id"
    owner: ClassVar[str | None] = "user_id"

    recovery_code_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    account_id: str = Field(foreign_key="account.account_id", index=True)
    digest: bytes
    created_at: datetime = created_at_field()
