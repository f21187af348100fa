"""Look-ups by one of several keys. In REST, each key has an operation of its own, which needs the same permission."""

from typing import Annotated

from wattgate.db import models
from wattgate.operations.accounts import users
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.devices import devices
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.operations.types.users import users as user_types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.principal import Permission
from wattgate.values.annotations import Described


@operation(OperationKind.QUERY, returns=user_types.User, needs=Permission.USER_READ)
async def find_user(
    call: Call,
    *,
    by: Annotated[types.UserKey, Described("Key of the user: exactly one of its fields.")],
    directory_id: ids.LoginDirectoryId | None = None,
) -> user_types.User:
    """Return the user with this ID, or with an account of this username in a directory."""
    if by.user_id is not UNSET:
        return await users.load_user(call.rows, str(by.user_id))
    return await users.load_user_by_name(call.rows, str(by.username), directory_id)


@operation(OperationKind.QUERY, returns=resource_types.Device, needs=Permission.DEVICE_READ)
async def find_device(
    call: Call, *, by: Annotated[types.DeviceKey, Described("Key of the device: exactly one of its fields.")]
) -> models.Device:
    """Return the device with this ID or hardware ID, or the device that supplies a resource with readings."""
    if by.device_id is not UNSET:
        return await devices.load_device(call.rows, str(by.device_id))
    if by.hardware_id is not UNSET:
        return await devices.load_device_by_hardware_id(call.rows, str(by.hardware_id))
    return await devices.load_device_of_resource(call.rows, str(by.resource_id))
