"""Look-ups by one of several keys; each key is an operation of its own for REST."""

from strawberry import UNSET

from wattgate.db import models
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.resolvers import devices, users
from wattgate.graphql.types import lookups as types
from wattgate.graphql.types import resources as resource_types
from wattgate.graphql.types import users as user_types
from wattgate.principal import Permission


@operation(Kind.QUERY, returns=user_types.User, needs=Permission.USER_READ)
async def find_user(call: Call, *, by: types.UserKey) -> users.UserRecord:
    """The user with this id or username."""
    if by.user_id is not UNSET:
        found: users.UserRecord = await users.user.resolver(call, user_id=by.user_id)
        return found
    by_name: users.UserRecord = await users.user_by_username.resolver(call, username=by.username)
    return by_name


@operation(Kind.QUERY, returns=resource_types.Device, needs=Permission.DEVICE_READ)
async def find_device(call: Call, *, by: types.DeviceKey) -> models.Device:
    """The device with this id or hardware id, or the one that sources a resource."""
    found: models.Device
    if by.device_id is not UNSET:
        found = await devices.device.resolver(call, device_id=by.device_id)
    elif by.hardware_id is not UNSET:
        found = await devices.discover.resolver(call, hardware_id=by.hardware_id)
    else:
        found = await devices.resource_device.resolver(call, resource_id=by.resource_id)
    return found
