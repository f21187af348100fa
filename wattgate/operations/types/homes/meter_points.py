"""GraphQL types of meter points, of moves there, of their discovery and of catch-ups."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import strawberry

from wattgate.db.queries import devices as queries
from wattgate.db.queries.devices import DeviceProtocol as LoadedProtocol
from wattgate.db.rows.rows import Rows
from wattgate.operations.core.fields import edge
from wattgate.operations.types.homes.resources import Device, Resource
from wattgate.operations.types.meters.devices import CatchUp, DeviceProtocol, InventoryDevice
from wattgate.operations.vocabulary.scalars import SourceTypeInfo, SourceUnitInfo
from wattgate.principal import Permission
from wattgate.values import terms


@strawberry.type(description="Resources that are measured at a meter point.")
class MeterPointResources:
    valid: bool = strawberry.field(description="Always true, because a meter point without resources returns an error.")
    mpxn: terms.Mpxn
    resources: list[Resource] = strawberry.field(description="Resources that are measured at the meter point.")


# GraphQL types of moves: what changes hands at a meter point, and what stays.


@strawberry.input(description="Fields of a resource to change. Omitted fields keep their values.")
class ResourceChange:
    name: terms.Name | None = strawberry.UNSET
    description: terms.Description | None = strawberry.UNSET
    label: terms.Label | None = strawberry.UNSET
    data_source_resource_type_info: SourceTypeInfo | None = strawberry.UNSET
    data_source_unit_info: SourceUnitInfo | None = strawberry.UNSET
    active: bool | None = strawberry.field(
        default=strawberry.UNSET,
        description="False closes the resource: lists omit it, nothing more is recorded for it, and its alert rules "
        "pause. True opens it again.",
    )


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


# GraphQL type of a device that was searched by one of its identifiers.


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


@strawberry.type(description="Result of a request to start a catch-up.")
class StartedCatchUp:
    resource: Resource = strawberry.field(description=terms.RESOURCE)
    started: bool = strawberry.field(
        description="Whether this call started the catch-up. False if one was started in the same half hour before."
    )
    catch_up: CatchUp = strawberry.field(description="The catch-up: a retrieval of readings from the meter network.")
