"""The standby power of a resource: from its readings, with its cost, and why it is unknown."""

from datetime import datetime, time, timedelta
from typing import Any

import pytest
from strawberry import ID

from tests.support.timed import NOW, Timed
from wattgate.operations.types.homes import resources as types

STANDBY = """query ($id: ID!) { resource(resourceId: $id) { standby(timeZone: "UTC") {
  start end days power { value unit } noPowerReason yearlyEnergy { value unit } yearlyCostWithVat { amount currency }
  noCostReason } } }"""
SET_TARIFF = "mutation ($input: NewTariff!) { setTariff(input: $input) { ... on Tariff { resourceId } } }"

TODAY = datetime.combine(NOW, time(), NOW.tzinfo)
WEEK = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]
BANDS = [
    {"name": "day", "weekdays": WEEK, "start": "00:00", "end": "12:00", "rate": 0.24},
    {"name": "evening", "weekdays": WEEK, "start": "12:00", "end": "00:00", "rate": 0.08},
]
BLOCKS = [{"upTo": 10, "rate": 0.2}, {"rate": 0.3}]


async def add_metered(timed: Timed, days: int) -> str:
    """Add a resource with half hours of 0.05 kWh at night and 0.3 kWh by day, for the days before today."""
    resource_id = await timed.house.one.add_resource()
    instants = [TODAY - n * timedelta(minutes=30) for n in range(days * 48, 0, -1)]
    await timed.house.one.record(resource_id, *((at, "0.05" if at.hour < 6 else "0.3") for at in instants))
    return resource_id


async def standby_of(timed: Timed, resource_id: str) -> Any:
    return (await timed.ask(STANDBY, id=resource_id))["resource"]["standby"]


async def set_tariff(timed: Timed, resource_id: str, **terms: Any) -> None:
    tariff = {"resourceId": resource_id, "name": "T", "currency": "GBP", "timeZone": "UTC", "vatPercent": 5, **terms}
    await timed.ask_as("application", SET_TARIFF, input={"standingCharge": 0.5, **tariff})


async def test_standby_is_stated_in_watts_and_money_a_year(timed: Timed) -> None:
    resource_id = await add_metered(timed, 28)
    assert await standby_of(timed, resource_id) == {
        "start": "2026-05-04T00:00:00.000Z",
        "end": "2026-06-01T00:00:00.000Z",
        "days": 28,
        "power": {"value": 100.0, "unit": "WATT"},
        "noPowerReason": None,
        "yearlyEnergy": {"value": "877", "unit": "KILOWATT_HOUR"},
        "yearlyCostWithVat": None,
        "noCostReason": "NO_TARIFF",
    }
    await set_tariff(timed, resource_id, kind="TIME_OF_USE", bands=BANDS, validFrom="2026-05-20T00:00:00Z")
    priced = await standby_of(timed, resource_id)
    # (0.24 + 0.08) / 2 with 5 % VAT, for 877 kWh
    assert (priced["yearlyCostWithVat"], priced["noCostReason"]) == ({"amount": "147.34", "currency": "GBP"}, None)


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ({"kind": "BLOCK", "blocks": BLOCKS, "blockPeriod": "P1D"}, "BLOCK_TARIFF"),
        ({"kind": "DYNAMIC"}, "NO_PRICE"),
        ({"kind": "FLAT", "rate": 0.2, "validFrom": "2026-06-01T00:00:00Z"}, "NO_TARIFF"),
    ],
)
async def test_cost_of_standby_says_why_it_is_unknown(timed: Timed, terms: dict[str, Any], reason: str) -> None:
    resource_id = await add_metered(timed, 14)
    await set_tariff(timed, resource_id, **{"validFrom": "2026-01-01T00:00:00Z", **terms})
    standby = await standby_of(timed, resource_id)
    assert (standby["days"], standby["power"]["value"], standby["noPowerReason"]) == (14, 100.0, None)
    assert (standby["yearlyCostWithVat"], standby["noCostReason"]) == (None, reason)


async def test_standby_says_why_it_is_unknown(timed: Timed) -> None:
    daily = types.NewStorageDefinition(
        type="timeseries",
        sampling="regular",
        interval="P1D",
        start="2014-01-06T00:00:00+00:00",
        fields=[types.NewStorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(3)")],
    )
    found = {"few": await standby_of(timed, await add_metered(timed, 13))}
    for classifier in ("electricity.consumption", "gas.consumption"):
        new_type = types.NewResourceType(name="daily", classifier=classifier, storage=[daily])
        type_id = ID((await timed.house.one.run("add_resource_type", input=new_type)).resource_type_id)
        new_resource = types.NewResource(resource_type_id=type_id, name="daily")
        added = await timed.house.one.run("add_resource", input=new_resource)
        found[classifier] = await standby_of(timed, str(added.resource_id))
    assert found["gas.consumption"] is None
    expected = {"few": ("TOO_FEW_DAYS", 13), "electricity.consumption": ("TOO_COARSE", 0)}
    for name, (reason, days) in expected.items():
        standby = found[name]
        assert (standby["noPowerReason"], standby["noCostReason"], standby["days"]) == (reason, reason, days)
        assert (standby["power"], standby["yearlyEnergy"], standby["yearlyCostWithVat"]) == (None, None, None)
