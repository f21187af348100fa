"""Keys for look-ups: @oneOf inputs, of which a client sets exactly one field."""

import strawberry

from wattgate.operations.vocabulary import ids
from wattgate.values import terms


@strawberry.input(one_of=True, description="Key of a user: exactly one field.")
class UserKey:
    user_id: ids.UserId | None = strawberry.UNSET
    username: terms.Address | None = strawberry.field(
        default=strawberry.UNSET, description="Login name in the application's own directory."
    )


@strawberry.input(one_of=True, description="Key of a device: exactly one field.")
class DeviceKey:
    device_id: ids.DeviceId | None = strawberry.UNSET
    hardware_id: terms.Text200 | None = strawberry.field(
        default=strawberry.UNSET,
        description="Identifier of the device, usually its MAC address, in any case and with or without separators.",
    )
    resource_id: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET, description="ID of a resource that the device supplies with readings."
    )
