"""Mail and those who get none."""

from datetime import datetime

import strawberry

from wattgate.enums import DeliveryState, SuppressionCause


@strawberry.type(description="An address that gets no more mail of the application.")
class MailSuppression:
    suppression_id: strawberry.ID = strawberry.field(description="The entry.")
    application_id: strawberry.ID
    address: str = strawberry.field(description="The e-mail address, in lower case.")
    cause: SuppressionCause = strawberry.field(description="Why.")
    reason: str | None = strawberry.field(description="What the mail server said.")
    created_at: datetime


@strawberry.type(description="A template that was sent to somebody who tries it out.")
class TestMail:
    test_mail_id: strawberry.ID
    application_id: strawberry.ID
    address: str = strawberry.field(description="Who gets it.")
    subject: str = strawberry.field(description="Its subject, which begins with [TEST].")
    created_at: datetime


@strawberry.type(description="A test mail, and how far it is.")
class SentTestMail:
    test_mail: TestMail
    state: DeliveryState = strawberry.field(description="Whether a mail server has taken it.")
    reason: str | None = strawberry.field(description="Why not, where it was tried in vain.")
