"""Meter reads of the cumulative registers that displays send: import, export and gas, beside those of the network."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from strawberry import ID

from tests.support.costs import query_field
from tests.support.house import House, Tenant
from tests.support.metering import START, add_device, metered, record
from wattgate.clock import format_iso
from wattgate.db.models import NetworkRegister
from wattgate.energy.meters.meter_messages import MeterMessage, parse_message
from wattgate.operations.readings.meter_messages import record_meter_messages
from wattgate.operations.types.homes import resources as types

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

AT = datetime(2026, 5, 4, 9, 20, 8, tzinfo=UTC)
IMPORT, EXPORT, GAS = "electricity.consumption", "electricity.export", "gas.consumption"
FIELDS = {"ENERGY": "kWh", "POWER": "W", "REGISTER": "kWh", "VOLUME": "m3"}
METER_READ = "query ($id: ID!) { resource(resourceId: $id) { meterRead { resource { resourceId } at value unit } } }"


async def add_register_resource(
    tenant: Tenant, classifier: str, fields: Mapping[str, str] = FIELDS, **values: Any
) -> str:
    """Add a resource whose type has these fields with these units."""
    storage = types.NewStorageDefinition(
        type="timeseries",
        sampling="irregular",
        start="2014-01-06T00:00:00+00:00",
        fields=[
            types.NewStorageField(field_name=name, unit=unit, datatype="fixedpoint(3)", negative=name == "POWER")
            for name, unit in fields.items()
        ],
    )
    new_type = types.NewResourceType(name="register", classifier=classifier, storage=[storage])
    type_id = (await tenant.run("add_resource_type", input=new_type)).resource_type_id
    resource = types.NewResource(resource_type_id=ID(type_id), name=classifier, **values)
    return str((await tenant.run("add_resource", input=resource)).resource_id)


def electricity_payload(imported: float, exported: float, at: datetime = AT, power: float = 0.5) -> MeterMessage:
    meter = {
        "timestamp": format_iso(at),
        "energy": {
            "export": {"cumulative": exported, "units": "kWh"},
            "import": {"cumulative": imported, "day": 1.1, "units": "kWh"},
        },
        "power": {"value": power, "units": "kW"},
    }
    return parse_message("glow/DISPLAY/SENSOR/electricitymeter", json.dumps({"electricitymeter": meter}).encode())


def gas_payload(cumulative: float, volume: float, at: datetime = AT) -> MeterMessage:
    imported = {
        "cumulative": cumulative,
        "units": "kWh",
        "cumulativevol": volume,
        "cumulativevolunits": "m3",
        "supplier": "---",
    }
    meter = {"timestamp": format_iso(at), "energy": {"import": imported}}
    return parse_message("glow/DISPLAY/SENSOR/gasmeter", json.dumps({"gasmeter": meter}).encode())


def cloud_payload(at: datetime, **meters: Mapping[str, Any]) -> MeterMessage:
    payload = {"gmtime": int(at.timestamp()), **{name: {"0702": cluster} for name, cluster in meters.items()}}
    return parse_message("SMART/HILD/DISPLAY", json.dumps(payload).encode())


async def send(tenant: Tenant, *messages: MeterMessage, to: list[str]) -> None:
    """Let a new display of the resources send messages."""
    device = await tenant.run("device", device_id=await add_device(tenant, *to))
    sent = [MeterMessage(device.hardware_id, message.at, message.values) for message in messages]
    result = await tenant.gateway.runner.run(record_meter_messages, tenant.system, {"messages": sent})
    assert result.refusals == []


async def meter_reads(house: House, resource_id: str) -> tuple[Any, Any]:
    """Return the meter read of a resource by GraphQL and by REST: instant, value and unit, or the code of the error."""
    answer = await query_field(house, house.one, METER_READ, id=resource_id)
    answer = answer.get("meterRead", answer)
    rest = await house.call("GET", f"/resource/{resource_id}/meterread", house.one.headers["account"])
    body = rest.json()
    if rest.status_code != 200:
        return answer["code"], (rest.status_code, body["code"])
    ((seconds, value),) = body["data"]
    assert (body["resourceId"], answer["resource"]) == (resource_id, {"resourceId": resource_id})
    return (answer["at"], answer["value"], answer["unit"]), (
        format_iso(datetime.fromtimestamp(seconds, UTC)),
        value,
        body["units"],
    )


async def test_registers_of_a_display_are_meter_reads(served: House) -> None:
    tenant = served.one
    imported, exported, gas = [await add_register_resource(tenant, kind) for kind in (IMPORT, EXPORT, GAS)]
    await send(
        tenant,
        electricity_payload(15254.828, 12.5),
        gas_payload(21433.25, 1912.734),
        to=[imported, exported, gas],
    )
    for resource_id, value in ((imported, 15254.828), (exported, 12.5), (gas, 21433.25)):
        read = (format_iso(AT), value, "kWh")
        assert await meter_reads(served, resource_id) == (read, read)


async def test_gas_volume_is_the_meter_read_without_an_energy_register(served: House) -> None:
    gas = await add_register_resource(served.one, GAS, {"VOLUME": "m3"})
    await send(served.one, gas_payload(21433.25, 1912.734), to=[gas])
    read = (format_iso(AT), 1912.734, "m3")
    assert await meter_reads(served, gas) == (read, read)


@pytest.mark.parametrize("energy_first", [True, False])
async def test_the_unit_of_the_meter_read_stays_when_a_message_lacks_a_register(
    served: House, energy_first: bool
) -> None:
    gas = await add_register_resource(served.one, GAS)
    later = AT + timedelta(minutes=30)
    cubic_metres = {"00": {"00": "1CD8"}, "03": {"00": "01", "01": "000001", "02": "0003E8"}}
    volume = cloud_payload(later, gasMtr=cubic_metres)
    messages = [gas_payload(21433.25, 0), volume] if energy_first else [volume, gas_payload(21433.25, 0)]
    await send(served.one, *messages, to=[gas])
    read = (format_iso(AT), 21433.25, "kWh")
    assert await meter_reads(served, gas) == (read, read)


async def test_zeros_after_a_start_leave_the_register_unchanged(served: House) -> None:
    tenant = served.one
    imported, exported = [await add_register_resource(tenant, kind) for kind in (IMPORT, EXPORT)]
    restarted = AT + timedelta(minutes=1)
    await send(
        tenant,
        electricity_payload(15254.828, 12.5),
        electricity_payload(0, 0, restarted, power=-8388.608),
        to=[imported, exported],
    )
    for resource_id, value in ((imported, 15254.828), (exported, 12.5)):
        read = (format_iso(AT), value, "kWh")
        assert await meter_reads(served, resource_id) == (read, read)
    power = await tenant.run("raw_readings", resource_id=imported, field="POWER")
    assert list(power.value) == [500]


async def test_resource_without_a_received_register_has_no_meter_read(served: House) -> None:
    tenant = served.one
    imported = await add_register_resource(tenant, IMPORT)
    await tenant.record(imported, (AT, "0.25"))
    await send(tenant, electricity_payload(0, 0, power=1.5), to=[imported])
    assert await meter_reads(served, imported) == ("NOT_SUPPORTED", (404, "NOT_SUPPORTED"))
    without_fields = await add_register_resource(tenant, IMPORT, {"ENERGY": "kWh", "POWER": "W"})
    await send(tenant, electricity_payload(15254.828, 12.5), to=[without_fields])
    assert await meter_reads(served, without_fields) == ("NOT_SUPPORTED", (404, "NOT_SUPPORTED"))


@pytest.mark.parametrize(("hours", "value"), [(-1, 4711.25), (0, 4711.25), (1, 4720.0)])
async def test_newer_of_network_and_display_is_the_meter_read(served: House, hours: int, value: float) -> None:
    tenant, point = served.one, await metered(served.one)
    imported = await add_register_resource(tenant, IMPORT, mpxn=point.mpxn)
    at = START + timedelta(hours=hours)
    await send(tenant, electricity_payload(4720, 1, at), to=[imported])
    read = (format_iso(max(at, START)), value, "kWh")
    assert await meter_reads(served, imported) == (read, read)


async def test_register_of_the_network_needs_no_display(served: House) -> None:
    point = await metered(served.one)
    await record(
        served.one,
        NetworkRegister(mpxn=point.mpxn, classifier=GAS, at=START, value=Decimal("17.5"), unit="m3"),
    )
    gas = await add_register_resource(served.one, GAS, mpxn=point.mpxn)
    read = (format_iso(START), 17.5, "m3")
    assert await meter_reads(served, gas) == (read, read)


async def test_other_tenant_cannot_read_the_register(served: House) -> None:
    imported = await add_register_resource(served.one, IMPORT)
    await send(served.one, electricity_payload(15254.828, 12.5), to=[imported])
    answer = await query_field(served, served.other, METER_READ, id=imported)
    rest = await served.call("GET", f"/resource/{imported}/meterread", served.other.headers["account"])
    assert (answer["code"], rest.status_code) == ("NOT_FOUND", 404)
    assert rest.json()["code"] == "NOT_FOUND"
