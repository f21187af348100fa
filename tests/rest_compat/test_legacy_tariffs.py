"""Tariffs have the members that published clients of the legacy interface read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support.house import House
from wattgate.clock import utc_now
from wattgate.enums import Period, TariffKind, Weekday
from wattgate.operations.types.meters.tariffs import NewTariffBand, NewTariffBlock, NewTariffPrice

DAYS = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
DAY = NewTariffBand(name="day", rate=Decimal(30), weekdays=list(Weekday), start="05:30", end="20:30")
NIGHT = NewTariffBand(name="night", rate=Decimal(30), weekdays=list(Weekday), start="20:30", end="05:30")
WINTER = replace(DAY, season_start="11-01", season_end="03-31")
BLOCKS = [NewTariffBlock(rate=Decimal(10), up_to=Decimal("2.5")), NewTariffBlock(rate=Decimal(20))]
TERMS: dict[str, Any] = {"standing_charge": Decimal(50), "vat_percent": Decimal(5), "source": "supplier"}


async def data(house: House, resource_id: str, endpoint: str = "tariff") -> Any:
    answer = await house.call("GET", f"/resource/{resource_id}/{endpoint}", house.one.headers["account"])
    assert answer.status_code == 200
    return answer.json()["data"]


def tier(number: int, rate: float, time: str) -> dict[str, Any]:
    return {"tier": number, "tourate": rate, "rate": rate, "time": time, "weekdays": DAYS}


@pytest.mark.parametrize(
    ("kind", "values", "type_", "rate", "parts"),
    [
        (TariffKind.FLAT, {"rate": Decimal("24.5")}, "flatrate", 25.725, []),
        (
            TariffKind.TIME_OF_USE,
            {"bands": [DAY, NIGHT]},
            "tou",
            31.5,
            [tier(1, 31.5, "05:30-20:30"), tier(2, 31.5, "20:30-05:30")],
        ),
        (
            TariffKind.TIME_OF_USE,
            {"bands": [WINTER], "rate": Decimal(30)},
            "tou",
            31.5,
            [{**tier(1, 31.5, "05:30-20:30"), "season": "11-01/03-31"}],
        ),
        (
            TariffKind.BLOCK,
            {"blocks": BLOCKS, "block_period": Period.P1M},
            "block",
            10.5,
            [{"tier": 1, "rate": 10.5, "limit": 2.5}, {"tier": 2, "rate": 21.0}],
        ),
    ],
)
async def test_every_tariff_kind_has_the_client_members_including_vat(
    served: House, kind: TariffKind, values: dict[str, Any], type_: str, rate: float, parts: list[Any]
) -> None:
    resource_id = await served.one.add_resource()
    await served.one.set_tariff(resource_id, kind=kind, **values, **TERMS)
    (tariff,) = await data(served, resource_id)
    assert tariff["type"] == type_
    assert tariff["currentRates"] == {"rate": rate, "standingCharge": 52.5}
    assert tariff["plan"] == tariff["structure"]
    (plan,) = tariff["plan"]
    assert plan == {"weekName": "1", "source": "supplier", "planDetail": [{"rate": rate}, {"standing": 52.5}, *parts]}
    (listed,) = await data(served, resource_id, "tariff-list")
    assert listed["plan"] == [{"planDetail": plan["planDetail"]}]


async def test_dynamic_tariff_has_the_current_price_or_no_rate(
    served: House,
) -> None:
    resource_id = await served.one.add_resource()
    set_tariff = await served.one.set_tariff(resource_id, "Half-hourly", kind=TariffKind.DYNAMIC, **TERMS)
    standing = {"standing": 52.5}
    plan_without_price = [standing, {"dynamic": "Half-hourly", **standing}]
    (tariff,) = await data(served, resource_id)
    assert tariff["currentRates"] == {"rate": None, "standingCharge": 52.5}
    assert tariff["plan"][0]["planDetail"] == plan_without_price
    now = utc_now()
    half_hour = now.replace(minute=now.minute // 30 * 30, second=0, microsecond=0)
    prices = [NewTariffPrice(at=half_hour + n * timedelta(minutes=30), rate=Decimal(-4)) for n in range(2)]
    await served.one.set_prices(set_tariff.tariff_id, prices)
    (tariff,) = await data(served, resource_id)
    assert (tariff["type"], tariff["currentRates"]["rate"]) == ("dynamic", -4.2)
    assert tariff["plan"][0]["planDetail"] == [{"rate": -4.2}, standing, {"dynamic": "Half-hourly", "rate": -4.2}]
    (listed,) = await data(served, resource_id, "tariff-list")
    assert listed["plan"] == [{"planDetail": plan_without_price}]


async def test_list_has_effective_tariffs_newest_first(served: House) -> None:
    resource_id = await served.one.add_resource()
    for name, year in (("Mistaken", 2024), ("Corrected", 2024), ("Newer", 2025), ("To come", utc_now().year + 1)):
        await served.one.set_tariff(resource_id, name, datetime(year, 1, 1, tzinfo=UTC))
    assert [(tariff["name"], tariff["from"]) for tariff in await data(served, resource_id, "tariff-list")] == [
        ("Newer", "2025-01-01 00:00:00"),
        ("Corrected", "2024-01-01 00:00:00"),
    ]
    assert [tariff["name"] for tariff in await data(served, resource_id)] == ["Newer"]
