"""Mail: the addresses that get none, mails that try a template out, and those kept where there is no mail server."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Enum, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, created_at
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import SuppressionCause


class MailSuppression(Tenanted, table=True):
    """An address that gets no more mail of the application, in lower case, as `delivery/mail_addresses.py` writes it.

    `reason` is what a mail server said of it, and `delivery_id` the mail that was the last one.
    """

    __tablename__ = "mail_suppression"
    __table_args__ = (UniqueConstraint("application_id", "address"),)
    key: ClassVar[str] = "suppression_id"

    suppression_id: str = AssignedId()
    address: str
    cause: SuppressionCause = Field(sa_type=Enum(SuppressionCause, native_enum=False, length=16))
    reason: str | None = None
    delivery_id: str | None = None
    created_at: datetime = created_at()


class TestMail(Tenanted, table=True):
    """A template as somebody tried it out: rendered, and on its way to an address; `created_by` is their account."""

    __tablename__ = "test_mail"
    __table_args__ = (Index(None, "application_id", "created_at"),)
    key: ClassVar[str] = "test_mail_id"

    test_mail_id: str = AssignedId()
    address: str
    subject: str
    html: str
    text: str
    created_by: str | None = None
    created_at: datetime = created_at()


class KeptMail(Tenanted, table=True):
    """A mail as it would have been sent. Each delivery has one, however often it was attempted."""

    __tablename__ = "kept_mail"
    __table_args__ = (Index(None, "application_id", "created_at"),)
    key: ClassVar[str] = "delivery_id"

    delivery_id: str = Field(primary_key=True)
    recipient: str
    subject: str
    content: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = created_at()
