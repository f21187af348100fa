"""Mail: suppressed addresses, test mails of templates, and mails that are kept if there is no mail server."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Enum, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field

from wattgate.db.column_types import AssignedId, created_at_field
from wattgate.db.models.tenancy import Tenanted
from wattgate.enums import SuppressionCause


class MailSuppression(Tenanted, table=True):
    """An address to which the application sends no mail. It is in lower case, in the form
    of `delivery.mail_addresses`.

    `reason` is the response of a mail server, and `delivery_id` is the last delivery to the address.
    """

    __tablename__ = "mail_suppression"
    __table_args__ = (UniqueConstraint("application_id", "address"),)
    key: ClassVar[str] = "suppression_id"

    suppression_id: str = AssignedId()
    address: str
    cause: SuppressionCause = Field(sa_type=Enum(SuppressionCause, native_enum=False, length=16))
    reason: str | None = None
    delivery_id: str | None = None
    created_at: datetime = created_at_field()


class TestMail(Tenanted, table=True):
    """A rendered template that is sent as a test to an address. `created_by` is the account of the sender."""

    __tablename__ = "test_mail"
    __table_args__ = (Index(None, "application_id", "created_at"),)
    key: ClassVar[str] = "test_mail_id"

    test_mail_id: str = AssignedId()
    address: str
    subject: str
    html: str
    text: str
    created_by: str | None = None
    created_at: datetime = created_at_field()


class KeptMail(Tenanted, table=True):
    """A mail that would have been sent. Each delivery has one, independent of its number of attempts.

    `user_id` is the user of the delivery.
    """

    __tablename__ = "kept_mail"
    __table_args__ = (Index(None, "application_id", "created_at"),)
    key: ClassVar[str] = "delivery_id"

    delivery_id: str = Field(primary_key=True)
    user_id: str | None = Field(default=None, index=True)
    recipient: str
    subject: str
    content: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = created_at_field()
