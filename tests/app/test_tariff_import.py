"""`wattgate tariff import` in a process of its own: tariffs, prices and refused lines."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import wattgate
from tests.support.house import Tenant, tenant_on
from wattgate.clock import TimeRange, format_iso
from wattgate.operations.core.fields import find_edge
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.meters.tariffs import Tariff

DAY = datetime(2026, 1, 5, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
ZONE = {"timeZone": "Europe/London"}
DYNAMIC = {
    "name": "Half-hourly",
    "kind": "DYNAMIC",
    "currency": "GBP",
    "validFrom": "2026-01-01T00:00:00Z",
    "vatPercent": 5,
    **ZONE,
}
FLAT = {
    "name": "Fixed",
    "kind": "FLAT",
    "currency": "GBP",
    "rate": "0.245",
    "validFrom": "2025-06-01T00:00:00+01:00",
    **ZONE,
}
NIGHT = {"name": "night", "rate": 0.075, "weekdays": ["MONDAY"], "start": "23:30", "end": "05:30"}


@pytest.fixture
async def tenant(database_url: str) -> AsyncIterator[Tenant]:
    async with tenant_on(database_url) as tenant:
        tenant.ids["bare"] = await tenant.add_resource()
        yield tenant


async def run_import(
    tenant: Tenant, database_url: str, file: Path, lines: list[Any], *options: str
) -> subprocess.CompletedProcess[str]:
    """Write the lines (texts unchanged, other values as JSON) and import them."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    await asyncio.to_thread(file.write_text, text)
    return await wattgate(database_url, "tariff", "import", str(file), "--application", tenant.application_id, *options)


async def tariffs_of(tenant: Tenant, resource_id: str) -> list[Any]:
    row = await tenant.run("resource", resource_id=resource_id)
    (tariffs,) = await tenant.edge(Resource, "tariffs", [row])
    return list(tariffs)


async def prices_of(tenant: Tenant, tariff: Any) -> list[Any]:
    """Return the prices of 360 days. A range of 60 days has less than the maximum of half hours."""
    found: list[Any] = []
    for days in range(0, 360, 60):
        start = DAY + timedelta(days=days)
        arguments = {"range": TimeRange(start=start, end=start + timedelta(days=60))}
        (prices,) = await tenant.gateway.runner.load(find_edge(Tariff, "prices"), tenant.system, [tariff], arguments)
        found += prices
    return found


@pytest.mark.long("imports 10,100 prices")
async def test_tariffs_and_prices_of_several_batches_are_set(tenant: Tenant, database_url: str, tmp_path: Path) -> None:
    prices = [
        {"at": format_iso(DAY + n * HALF_HOUR), "rate": str(Decimal(n) / 10_000 - Decimal("0.4"))}
        for n in range(10_100)
    ]
    options = ("--resource", tenant.ids["bare"])
    result = await run_import(tenant, database_url, tmp_path / "many.jsonl", [FLAT, DYNAMIC, "", *prices], *options)
    assert result.returncode == 0, result.stderr
    assert "10,102 tariffs and prices set from 10,102 lines, 0 refused" in result.stdout
    dynamic, flat = await tariffs_of(tenant, tenant.ids["bare"])
    assert [(row.name, row.source, row.version) for row in (dynamic, flat)] == [
        ("Half-hourly", "import", 2),
        ("Fixed", "import", 1),
    ]
    stored_prices = await prices_of(tenant, dynamic)
    assert [(row.at, row.rate) for row in (stored_prices[0], stored_prices[-1])] == [
        (DAY, Decimal("-0.4")),
        (DAY + 10_099 * HALF_HOUR, Decimal("0.6099")),
    ]
    assert len(stored_prices) == 10_100


async def test_invalid_lines_are_rejected_by_number_and_others_set(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    resource_id, unknown = tenant.ids["bare"], "00000000-0000-4000-8000-000000000000"
    resource_member = {"resourceId": resource_id}
    price = {**resource_member, "at": format_iso(DAY), "rate": "0.125"}
    lines = [
        {**resource_member, **DYNAMIC, "source": "supplier"},
        "not JSON",
        '["a list"]',
        {**resource_member, **FLAT, "standingCharges": 0.5},
        {**FLAT},
        {**resource_member, **FLAT, "kind": "TIME_OF_USE", "bands": [NIGHT, NIGHT], "vatPercent": -5},
        {**resource_member, **FLAT, "kind": "TIME_OF_USE", "bands": [{**NIGHT, "weekdays": ["MOON"]}]},
        {**FLAT, "resourceId": unknown},
        price,
        {**price, "rate": "0.13"},
        {**price, "at": "2026-01-05T00:10:00Z"},
        {**price, "at": "2025-12-31T00:00:00Z"},
        {**price, "at": "yesterday"},
        {**price, "resourceId": unknown},
        {"at": format_iso(DAY), "rate": 0.01},
        {**price, "at": format_iso(DAY + HALF_HOUR)},
        {**price, "currency": "EUR"},
        {**resource_member, **FLAT, "currency": "XAU"},
        {**price, "currency": "XAU"},
        {name: value for name, value in {**resource_member, **FLAT}.items() if name != "currency"},
        {**resource_member, **FLAT, "kind": "TIME_OF_USE", "bands": [{**NIGHT, "seasonStart": "06-31"}]},
    ]
    refused = tmp_path / "refused.txt"
    result = await run_import(tenant, database_url, tmp_path / "broken.jsonl", lines, "--refused", str(refused))
    assert result.returncode == 1, result.stderr
    assert "3 tariffs and prices set from 21 lines, 18 refused" in result.stdout
    reasons = dict(line.split(": ", 1) for line in refused.read_text().splitlines())
    assert sorted(map(int, reasons)) == [2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21]
    assert reasons["3"] == "is not a JSON object"
    assert "'standingCharges'" in reasons["4"]
    assert "resourceId" in reasons["5"]
    assert reasons["6"] == (
        "vatPercent -5 is not between 0 and 100 percent; bands.1 'night' overlaps 'night' on MONDAY at 23:30"
    )
    assert "MOON" in reasons["7"]
    assert reasons["8"] == reasons["14"] == f"No resource with ID {unknown}."
    assert reasons["10"] == "is given twice with different rates"
    assert reasons["11"] == "2026-01-05T00:10:00.000Z does not begin a period of 30 minutes"
    assert reasons["12"] == "the resource has no dynamic tariff at this time"
    assert reasons["15"] == "has no `resourceId`. Add it, or use the option --resource"
    assert reasons["17"] == "currency: is EUR, and the tariff is in GBP"
    assert reasons["18"] == "currency XAU is not a currency of ISO 4217 in circulation"
    assert reasons["19"] == "currency: XAU is not a currency of ISO 4217 in circulation"
    assert "currency" in reasons["20"]
    assert "bands.0.seasonStart '06-31' is no day of a year. Write month and day, such as 11-01" in reasons["21"]
    assert "bands.0.seasonEnd is missing: a season needs its first and its last day" in reasons["21"]
    (dynamic,) = await tariffs_of(tenant, resource_id)
    assert dynamic.source == "supplier"
    assert [price_row.rate for price_row in await prices_of(tenant, dynamic)] == [Decimal("0.125")] * 2


async def test_line_with_other_resource_than_option_is_rejected(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    lines = [{**FLAT, "resourceId": tenant.ids["resource"]}, {**FLAT, "resourceId": tenant.ids["bare"]}]
    options = ("--resource", tenant.ids["bare"])
    result = await run_import(tenant, database_url, tmp_path / "one.jsonl", lines, *options)
    assert result.returncode == 1
    assert "line 1: has another `resourceId` than the option --resource" in result.stderr
    assert [row.name for row in await tariffs_of(tenant, tenant.ids["bare"])] == ["Fixed"]
