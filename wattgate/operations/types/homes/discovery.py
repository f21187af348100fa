"""GraphQL type of a device that was searched by one of its identifiers."""

from collections.abc import Sequence
from typing import Any

import strawberry

from wattgate.db.queries import devices as queries
from wattgate.db.queries.devices import DeviceProtocol as LoadedProtocol
from wattgate.db.rows.rows import Rows
from wattgate.operations.core.fields import edge
from wattgate.operations.types.homes.resources import Device
from wattgate.operations.types.meters.devices import DeviceProtocol, InventoryDevice
from wattgate.principal import Permission


async def protocols(rows: Rows, discovered: Sequence[Any]) -> list[LoadedProtocol | None]:
    """Return the protocol of each discovered device; None if no user has the device."""
    devices = [item.device for item in discovered if item.device is not None]
    loaded = iter(await queries.protocols(rows, devices))
    return [None if item.device is None else next(loaded) for item in discovered]


@strawberry.type(description="Device that was found by one of its identifiers.")
class DiscoveredHardware:
    hardware_id: str = strawberry.field(description="The identifier as it was searched.")
    device: Device | None = strawberry.field(
        description="The device of a user. Null if the caller may see none with this identifier."
    )
    network_device: InventoryDevice | None = strawberry.field(
        description="Its entry in the meter network's inventory. Null if the network does not list it, or if the "
        "caller may not read the inventory of its meter point, for example after the consent was revoked."
    )
    protocol: DeviceProtocol | None = edge(
        protocols,
        needs=Permission.DEVICE_READ,
        description="Protocol and sensors of the device. Null without a device.",
    )
