"""GraphQL types of the access log."""

from datetime import datetime

import strawberry

from wattgate.operations.vocabulary import ids


@strawberry.type(description="Reads of one resource of a household by one caller with one operation in one hour.")
class AccessRecord:
    access_id: strawberry.ID = strawberry.field(description="ID of the entry.")
    application_id: strawberry.ID = strawberry.field(
        description="ID of the application through which the data was read."
    )
    user_id: strawberry.ID = strawberry.field(description="ID of the user whose data was read.")
    resource_id: ids.ResourceId
    operation: str = strawberry.field(description="Operation or field that returned the data, such as readings.")
    purpose: str = strawberry.field(
        description="Purpose that the caller declared in the header X-Access-Purpose. Otherwise by its role: own use, "
        "service or administration."
    )
    role: str = strawberry.field(
        description="Role of the caller: account, template_editor, application or administrator."
    )
    reader: str = strawberry.field(description="Caller: `account:` with its ID, or `application`.")
    reader_user_id: strawberry.ID | None = strawberry.field(
        description="ID of the user of the account, or of the user for whom the application acted. Null without one."
    )
    own: bool = strawberry.field(description="Whether an account of the same user read the data.")
    count: int = strawberry.field(
        description="Number of requests. A subscription counts as one request, when it starts."
    )
    hour: datetime = strawberry.field(description="Start of the hour (UTC).")
    last_at: datetime = strawberry.field(description="Time of the last read in the hour.")
    created_at: datetime = strawberry.field(description="Time of the first read in the hour.")
