"""Records of the demonstration's homes in the meter network, and their in-home displays."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

from sqlmodel import SQLModel

from wattgate.app.homes.records import ensure_record
from wattgate.clock import utc_now
from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkRegister
from wattgate.energy.meters.meter_points import check_digit
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices.devices import store_registry_records
from wattgate.operations.types.meters import devices as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Principal

COMMISSIONED_AT = datetime(2024, 9, 17, 10, 30, tzinfo=UTC)
CLASSIFIER_BY_SENSOR = {"ELEC": "electricity.consumption", "GAS": "gas.consumption"}
"""The classifier that each sensor of a display measures, by the protocol ID of the sensor."""


def mpan(number: int) -> str:
    """Return the MPAN (electricity meter point) of a home: distributor ID, home number and check digit."""
    core = f"23{number:010d}"
    return core + check_digit(core)


def mprn(number: int) -> str:
    """Return the MPRN (gas meter point) of a home."""
    return f"{9_000_000_000 + number}"


def display_mac(number: int) -> str:
    """Return the MAC address of a home's display."""
    return f"70B3D5{number:06X}"


async def add_meters(runner: Runner, system: Principal, number: int, postcode: str, *, gas: bool) -> None:
    """Store a home's meter points, devices and registers in the registry."""
    records: list[SQLModel] = [
        *_meter_records(number, mpan(number), postcode, ("CHF", "ESME", "PPMID"), "electricity.consumption", "kWh")
    ]
    if gas:
        records += _meter_records(number, mprn(number), postcode, ("GSME", "GPF"), "gas.consumption", "m3")
    await runner.run(store_registry_records, system, {"records": records})


async def ensure_display_type(runner: Runner, system: Principal, type_ids: Mapping[str, str]) -> str:
    """Add the device type of the homes' displays, unless it exists. Return its ID."""
    sensors = [
        types.NewTypeSensor(protocol_id=name, resource_type_id=Id(type_ids[CLASSIFIER_BY_SENSOR[name]]))
        for name in CLASSIFIER_BY_SENSOR
    ]
    new_type = types.NewDeviceType(
        description="In-home display", protocol=types.NewTypeProtocol(protocol="MQTT", sensors=sensors)
    )
    stored = await ensure_record(runner, system, "device_types", "add_device_type", new_type, "description")
    return str(stored.device_type_id)


async def ensure_display(runner: Runner, owner: Principal, device_type_id: str, number: int, *, gas: bool) -> None:
    """Add the display of a home, unless it exists. Its sensors feed the resources of the home's meter points."""
    new_device = types.NewDevice(
        device_type_id=Id(device_type_id),
        hardware_id=display_mac(number),
        description="Display in the hall",
        hardware_ids=types.NewHardwareIds(
            mac=display_mac(number),
            eui=_eui(number, "PPMID"),
            mpan=mpan(number),
            mprn=mprn(number) if gas else None,
            serial_number=f"D{number:07d}",
        ),
    )
    await ensure_record(runner, owner, "devices", "add_device", new_device, "hardware_id")


def _meter_records(
    number: int, mpxn: str, postcode: str, kinds: tuple[str, ...], classifier: str, unit: str
) -> list[SQLModel]:
    devices = [
        NetworkDevice(
            eui=_eui(number, kind),
            mpxn=mpxn,
            device_type=kind,
            manufacturer="Demonstration Metering",
            model=f"{kind}-2",
            firmware_version="02.14.01",
            commissioned_at=COMMISSIONED_AT,
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
    """Return the EUI-64 of a home's device. The display's EUI-64 is derived from its MAC address."""
    if kind == "PPMID":
        return f"{display_mac(number)[:6]}FFFE{display_mac(number)[6:]}"
    return f"00155E0000{('CHF', 'ESME', 'GSME', 'GPF').index(kind) + 1:02X}{number:04X}"
