"""What the meter network has of the demonstration's homes, and the displays that stand in them."""

from datetime import UTC, datetime
from decimal import Decimal

from sqlmodel import SQLModel
from strawberry import ID

from wattgate.clock import utc_now
from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkRegister
from wattgate.energy.meter_points import check_digit
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.devices import add_device
from wattgate.graphql.resolvers.network_registry import record_in_registry
from wattgate.graphql.types import devices as types
from wattgate.principal import Principal

COMMISSIONED = datetime(2024, 9, 17, 10, 30, tzinfo=UTC)
SENSORS = {"ELEC": "electricity.consumption", "GAS": "gas.consumption"}
"""The sensors of a display, by their protocol ids, and what they measure."""


def mpan(number: int) -> str:
    """The electricity meter point of a home: a distributor's id, the home's number and the check digit."""
    core = f"23{number:010d}"
    return core + check_digit(core)


def mprn(number: int) -> str:
    """The gas meter point of a home."""
    return f"{9_000_000_000 + number}"


def mac(number: int) -> str:
    """The network address of a home's display."""
    return f"70B3D5{number:06X}"


async def add_meters(runner: Runner, system: Principal, number: int, postcode: str, *, gas: bool) -> None:
    """Put a home's meter points, devices and registers into the registry."""
    records: list[SQLModel] = [
        *_meter(number, mpan(number), postcode, ("CHF", "ESME", "PPMID"), "electricity.consumption", "kWh")
    ]
    if gas:
        records += _meter(number, mprn(number), postcode, ("GSME", "GPF"), "gas.consumption", "m3")
    await runner.run(record_in_registry, system, {"records": records})


async def add_display_type(
    runner: Runner, system: Principal, add_device_type: Operation, type_ids: dict[str, str]
) -> str:
    """The kind of display that the homes have; its id."""
    sensors = [types.NewTypeSensor(protocol_id=name, resource_type_id=ID(type_ids[SENSORS[name]])) for name in SENSORS]
    given = types.NewDeviceType(
        description="In-home display", protocol=types.NewTypeProtocol(protocol="MQTT", sensors=sensors)
    )
    return str((await runner.run(add_device_type, system, {"input": given})).device_type_id)


async def add_display(runner: Runner, owner: Principal, device_type_id: str, number: int, *, gas: bool) -> None:
    """The display of a home; its sensors feed the resources at the home's meter points."""
    given = types.NewDevice(
        device_type_id=ID(device_type_id),
        hardware_id=mac(number),
        description="Display in the hall",
        hardware_ids=types.NewHardwareIds(
            mac=mac(number),
            eui=_eui(number, "PPMID"),
            mpan=mpan(number),
            mprn=mprn(number) if gas else None,
            serial_number=f"D{number:07d}",
        ),
    )
    await runner.run(add_device, owner, {"input": given})


def _meter(number: int, mpxn: str, postcode: str, kinds: tuple[str, ...], classifier: str, unit: str) -> list[SQLModel]:
    devices = [
        NetworkDevice(
            eui=_eui(number, kind),
            mpxn=mpxn,
            device_type=kind,
            manufacturer="Demonstration Metering",
            model=f"{kind}-2",
            firmware_version="02.14.01",
            commissioned_at=COMMISSIONED,
        )
        for kind in kinds
    ]
    register = Decimal(4_000 + number * 37)
    return [
        NetworkMeterPoint(mpxn=mpxn, postcode=postcode.replace(" ", ""), smets_version="2"),
        *devices,
        NetworkRegister(mpxn=mpxn, classifier=classifier, at=utc_now(), value=register, unit=unit),
    ]


def _eui(number: int, kind: str) -> str:
    """The EUI-64 of a home's device; that of its display is made of its network address."""
    if kind == "PPMID":
        return f"{mac(number)[:6]}FFFE{mac(number)[6:]}"
    return f"00155E0000{('CHF', 'ESME', 'GSME', 'GPF').index(kind) + 1:02X}{number:04X}"
