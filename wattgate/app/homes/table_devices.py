"""The device of a line of a table of homes: the stored records that it meets, and how it is added."""

from dataclasses import dataclass

from sqlmodel import col

from wattgate.app.homes.request import HomeRequest
from wattgate.app.homes.table import HomeLine
from wattgate.db.models import Account, Device, DeviceType
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_messages import ELECTRICITY, GAS
from wattgate.energy.meters.meter_points import hardware_id_spellings, normalize_hardware_id
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices.device_changes import add_device
from wattgate.operations.types.meters.devices import NewDevice, NewHardwareIds
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Principal

MAX_NAMED_TYPES = 5
"""Maximum number of device types that a message names."""


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The stored records about the device of a line. `problem` says why it cannot be added.

    A device that the owner has already has no `type_id`.
    """

    type_id: str | None = None
    problem: str | None = None


async def load_device_state(rows: Rows, line: HomeLine, owner_id: str | None) -> DeviceState:
    """Return the stored records about the device of a line, which the user `owner_id` will own."""
    if line.device is None:
        return DeviceState()
    if not hardware_id_spellings(line.device):
        return DeviceState(problem=f"device: {line.device!r} has no letter or digit")
    key = normalize_hardware_id(line.device)
    stored = await rows.first(Device, col(Device.hardware_key) == key, col(Device.active).is_(True))
    if stored is not None and stored.owner_id != owner_id:
        account = await rows.first(Account, col(Account.user_id) == stored.owner_id)
        owner = account.username if account else stored.owner_id
        return DeviceState(problem=f"device: {line.device!r} belongs to the user {owner}")
    if stored is not None:
        return DeviceState()
    types = await rows.all(DeviceType, col(DeviceType.active).is_(True), order_by=[DeviceType.created_at])
    found = [one for one in types if line.device_type in (None, one.device_type_id, one.description)]
    if len(found) == 1:
        return DeviceState(found[0].device_type_id)
    names = ", ".join(repr(one.description) for one in types[:MAX_NAMED_TYPES]) or "none"
    if line.device_type is None:
        return DeviceState(problem=f"deviceType: is empty, and the application has {len(types)} device types: {names}")
    described = f"{len(found)} device types have" if found else "no device type has"
    return DeviceState(
        problem=f"deviceType: {described} the ID or description {line.device_type!r}. There are: {names}"
    )


async def add_home_device(
    runner: Runner, owner: Principal, line: HomeLine, state: DeviceState, request: HomeRequest
) -> bool:
    """Add the device of a line for its owner. Return whether it was missing.

    Its sensors supply the resources at the meter points of the home.
    """
    if line.device is None or state.type_id is None:
        return False
    numbers = NewHardwareIds(mpan=request.meter_points[ELECTRICITY], mprn=request.meter_points.get(GAS))
    new_device = NewDevice(device_type_id=Id(state.type_id), hardware_id=line.device, hardware_ids=numbers)
    await runner.run(add_device, owner, {"input": new_device})
    return True
