"""Mail and those who get none."""

from datetime import datetime

import strawberry

from wattgate.names import SuppressionCause

strawberry.enum(SuppressionCause, description="Why an address gets no more mail.")


@strawberry.type(description="An address that gets no more mail of the application.")
class MailSuppression:
    suppression_id: strawberry.ID = strawberry.field(description="The entry.")
    application_id: strawberry.ID
    address: str = strawberry.field(description="The e-mail address, in lower case.")
    cause: SuppressionCause = strawberry.field(description="Why.")
    reason: str | None = strawberry.field(description="What the mail server said.")
    created_at: datetime
