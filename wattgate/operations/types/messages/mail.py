"""GraphQL types of test mails and of suppressed mail addresses."""

import strawberry

from wattgate.enums import DeliveryState, SuppressionCause
from wattgate.operations.vocabulary import ids
from wattgate.values import terms


@strawberry.type(description="E-mail address that receives no more mail from the application.")
class MailSuppression:
    suppression_id: strawberry.ID = strawberry.field(description="ID of the suppression.")
    application_id: ids.ApplicationId
    address: str = strawberry.field(description="E-mail address, in lower case.")
    cause: SuppressionCause = strawberry.field(description="Reason why the address receives no mail.")
    reason: str | None = strawberry.field(
        description="Response of the mail server, or the reason that the application reported. Null if the recipient "
        "unsubscribed."
    )
    created_at: terms.CreatedAt


@strawberry.type(description="Mail that was rendered from a template and sent as a test.")
class TestMail:
    test_mail_id: ids.TestMailId
    application_id: ids.ApplicationId
    address: str = strawberry.field(description="E-mail address of the recipient.")
    subject: str = strawberry.field(description="Subject, which starts with [TEST].")
    created_at: terms.CreatedAt


@strawberry.type(description="A test mail and the state of its delivery.")
class SentTestMail:
    test_mail: TestMail = strawberry.field(description="The test mail.")
    state: DeliveryState = strawberry.field(description="State of the delivery.")
    reason: str | None = strawberry.field(description="Error of the last failed attempt. Null if no attempt failed.")
