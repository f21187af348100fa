"""Keys of which one is given: @oneOf inputs."""

import strawberry


@strawberry.input(one_of=True, description="Which user: exactly one of these.")
class UserKey:
    user_id: strawberry.ID | None = strawberry.UNSET
    username: str | None = strawberry.field(default=strawberry.UNSET, description="In the application's own directory.")


@strawberry.input(one_of=True, description="Which device: exactly one of these.")
class DeviceKey:
    device_id: strawberry.ID | None = strawberry.UNSET
    hardware_id: str | None = strawberry.UNSET
    resource_id: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET, description="A resource that the device sources."
    )
