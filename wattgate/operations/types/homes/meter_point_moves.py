"""GraphQL types of moves: what changes hands at a meter point, and what stays."""

from datetime import datetime

import strawberry


@strawberry.type(description="Resource that closes for good, because its user has moved out.")
class MovedResource:
    resource_id: strawberry.ID = strawberry.field(description="ID of the resource. It stays with the former user.")
    resource_type_id: strawberry.ID = strawberry.field(description="ID of its resource type.")
    classifier: str = strawberry.field(description="Classifier of the resource, such as electricity.consumption.")
    active: bool = strawberry.field(
        description="Whether the resource is open before the move. The next user gets a new resource for it then; open "
        "resources of the same type share one."
    )
    successor_id: strawberry.ID | None = strawberry.field(
        description="ID of the new resource of the next user. Null in a preview, and for a closed resource of a type "
        "without an open one."
    )


@strawberry.type(description="Device of the former user that measures the meter point, or that moves.")
class MovedDevice:
    device_id: strawberry.ID = strawberry.field(description="ID of the device of the former user.")
    hardware_id: str = strawberry.field(description="Hardware ID of the device.")
    moves: bool = strawberry.field(
        description="Whether the next user gets the device. If not, the former user keeps it, although it measures the "
        "meter point."
    )
    successor_id: strawberry.ID | None = strawberry.field(
        description="ID of the new device of the next user. Null in a preview, and if the device does not move."
    )


@strawberry.type(description="Move at a meter point, or the preview of one: what changes hands, and what stays.")
class MeterPointMove:
    mpxn: str = strawberry.field(description="Number of the meter point.")
    former_user_id: strawberry.ID = strawberry.field(description="User who moves out.")
    user_id: strawberry.ID = strawberry.field(description="User who moves in.")
    moved_in_at: datetime = strawberry.field(description="When the next user moves in, and the former one moves out.")
    resources: list[MovedResource] = strawberry.field(
        description="All resources of the former user at the meter point, and those of their costs."
    )
    devices: list[MovedDevice] = strawberry.field(
        description="Devices of the former user that move, then those that measure the meter point and stay."
    )
    disabled_alert_rule_ids: list[strawberry.ID] = strawberry.field(
        description="IDs of the former user's alert rules that are disabled."
    )
    ended_consent: bool = strawberry.field(description="Whether a consent of the former user ends.")
    ended_enrolment_ids: list[strawberry.ID] = strawberry.field(
        description="IDs of the former user's enrolments for flexibility that end, with the events ahead."
    )
    withdrawn_readings: int = strawberry.field(
        description="Number of readings of former users that are deleted, because they are from `movedInAt` or later."
    )
    home_name: str | None = strawberry.field(description="Name of the home that the new resources join, if any.")
    ve_id: strawberry.ID | None = strawberry.field(
        description="ID of this home. Null if there is none, and in a preview of a new home."
    )
