"""Devices and meter points of a tenant, with their records in the registry of the meter network."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from strawberry import ID

from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkReading, NetworkRegister
from wattgate.operations.devices.devices import store_registry_records
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.meters import devices as types
from wattgate.principal import Principal, Role

START = datetime(2026, 3, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


@dataclass(frozen=True)
class Metered:
    """A resource at a meter point of the network, with the EUI of its display."""

    resource_id: str
    mpxn: str
    eui: str


async def record(tenant: Any, *records: Any) -> int:
    """Store records in the network's registry and return their number."""
    stored = await tenant.gateway.runner.run(store_registry_records, Principal(Role.SYSTEM), {"records": records})
    return int(stored)


async def metered(tenant: Any, values: Sequence[str] = ("0.1", "0.2", "0.3")) -> Metered:
    """Add a resource at a new meter point. The network has these half hours and a register value for it."""
    number, eui = str(uuid4().int)[:13], uuid4().hex[:16].upper()
    commissioned = datetime(2024, 5, 1, 9, tzinfo=UTC)
    await record(
        tenant,
        NetworkMeterPoint(mpxn=number, postcode="LS63QT", smets_version="2"),
        NetworkDevice(
            eui=eui,
            mpxn=number,
            device_type="PPMID",
            manufacturer="1234",
            model="D1",
            firmware_version="01.02",
            commissioned_at=commissioned,
        ),
        NetworkDevice(eui=uuid4().hex[:16].upper(), mpxn=number, device_type="ESME"),
        NetworkRegister(
            mpxn=number, classifier="electricity.consumption", at=START, value=Decimal("4711.25"), unit="kWh"
        ),
        *readings(number, values),
    )
    return Metered(await resource_at(tenant, number), number, eui)


def readings(number: str, values: Sequence[str], start: datetime = START) -> list[NetworkReading]:
    """Return half-hourly electricity readings of a meter point in the network, starting at `start`."""
    return [
        NetworkReading(
            mpxn=number, classifier="electricity.consumption", at=start + n * HALF_HOUR, value=Decimal(value)
        )
        for n, value in enumerate(values)
    ]


async def resource_at(tenant: Any, number: str) -> str:
    resource = resource_types.NewResource(
        resource_type_id=ID(tenant.ids["resource_type"]), name="metered electricity", mpxn=number
    )
    return str((await tenant.run("add_resource", input=resource)).resource_id)


async def add_device(tenant: Any, *resource_ids: str) -> str:
    """Add a device with one sensor for each resource, and return its ID."""
    hardware_id = uuid4().hex[:12].upper()
    device = types.NewDevice(
        device_type_id=ID(tenant.ids["device_type"]),
        hardware_id=hardware_id,
        hardware_ids=types.NewHardwareIds(mac=hardware_id),
        protocol=types.NewDeviceProtocol(
            sensors=[
                types.NewDeviceSensor(protocol_id=f"S{n}", resource_id=ID(feeding_id))
                for n, feeding_id in enumerate(resource_ids)
            ]
        ),
    )
    return str((await tenant.run("add_device", input=device)).device_id)


async def add_device_records(tenant: Any) -> None:
    """Add a device type, and a device of this type for the tenant's resource."""
    protocol = types.NewTypeProtocol(
        protocol="MQTT",
        sensors=[types.NewTypeSensor(protocol_id="ELEC", resource_type_id=ID(tenant.ids["resource_type"]))],
    )
    device_type = await tenant.run(
        "add_device_type", input=types.NewDeviceType(description="Display", protocol=protocol)
    )
    tenant.ids["device_type"] = device_type.device_type_id
    tenant.ids["device"] = await add_device(tenant, tenant.ids["resource"])
