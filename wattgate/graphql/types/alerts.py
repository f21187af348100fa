"""The notification system's records."""

import strawberry


@strawberry.type(description="A kind of alert.")
class AlertType:
    alert_type_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    system_alert_type_id: str = strawberry.field(description="The short code of the system alert kind, such as CM01.")
    description: str
    active: bool


@strawberry.input(description="A kind of alert to add.")
class NewAlertType:
    system_alert_type_id: str
    name: str
    description: str = ""


@strawberry.input(description="What may change on a kind of alert; what is left out stays as it is.")
class AlertTypeChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    system_alert_type_id: str | None = strawberry.UNSET
    active: bool | None = strawberry.UNSET
