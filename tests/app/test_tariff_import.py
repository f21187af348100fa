"""`wattgate tariff import`, run as a user runs it."""

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
from wattgate.clock import iso
from wattgate.graphql.core.fields import edge_named
from wattgate.graphql.types.resources import Resource
from wattgate.graphql.types.tariffs import Tariff
from wattgate.graphql.types.time_ranges import TimeRange

DAY = datetime(2026, 1, 5, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
DYNAMIC = {"name": "Half-hourly", "kind": "DYNAMIC", "validFrom": "2026-01-01T00:00:00Z", "vatRate": 5}
FLAT = {"name": "Fixed", "kind": "FLAT", "rate": "24.5", "validFrom": "2025-06-01T00:00:00+01:00"}
NIGHT = {"name": "night", "rate": 7.5, "weekdays": ["MONDAY"], "start": "23:30", "end": "05:30"}


@pytest.fixture
async def tenant(database_url: str) -> AsyncIterator[Tenant]:
    async with tenant_on(database_url) as made:
        made.ids["bare"] = await made.add_resource()
        yield made


async def run_import(
    tenant: Tenant, database_url: str, file: Path, lines: list[Any], *options: str
) -> subprocess.CompletedProcess[str]:
    """Write the lines (texts as they are, the rest as JSON) and import them."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    await asyncio.to_thread(file.write_text, text)
    return await wattgate(database_url, "tariff", "import", str(file), "--application", tenant.application_id, *options)


async def tariffs_of(tenant: Tenant, resource_id: str) -> list[Any]:
    found = await tenant.run("resource", resource_id=resource_id)
    (tariffs,) = await tenant.edge(Resource, "tariffs", [found])
    return list(tariffs)


async def prices_of(tenant: Tenant, tariff: Any) -> list[Any]:
    span = {"range": TimeRange(start=DAY, end=DAY + timedelta(days=400))}
    (prices,) = await tenant.gateway.runner.load(edge_named(Tariff, "prices"), tenant.system, [tariff], span)
    return list(prices)


async def test_tariffs_and_more_prices_than_one_call_takes_are_set(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    prices = [{"at": iso(DAY + n * HALF_HOUR), "rate": str(Decimal(n) / 100 - 40)} for n in range(10_100)]
    options = ("--resource", tenant.ids["bare"])
    done = await run_import(tenant, database_url, tmp_path / "many.jsonl", [FLAT, DYNAMIC, "", *prices], *options)
    assert done.returncode == 0, done.stderr
    assert "10,102 tariffs and prices set from 10,102 lines, 0 refused" in done.stdout
    dynamic, flat = await tariffs_of(tenant, tenant.ids["bare"])
    assert [(one.name, one.source, one.version) for one in (dynamic, flat)] == [
        ("Half-hourly", "import", 2),
        ("Fixed", "import", 1),
    ]
    found = await prices_of(tenant, dynamic)
    assert [(one.at, one.rate) for one in (found[0], found[-1])] == [
        (DAY, -40),
        (DAY + 10_099 * HALF_HOUR, Decimal("60.99")),
    ]
    assert len(found) == 10_100


async def test_lines_that_cannot_be_set_are_refused_by_number_and_the_others_set(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    resource_id, unknown = tenant.ids["bare"], "00000000-0000-4000-8000-000000000000"
    of = {"resourceId": resource_id}
    price = {**of, "at": iso(DAY), "rate": "12.5"}
    lines = [
        {**of, **DYNAMIC, "source": "supplier"},
        "not JSON",
        '["a list"]',
        {**of, **FLAT, "standingCharges": 50},
        {**FLAT},
        {**of, **FLAT, "kind": "TIME_OF_USE", "bands": [NIGHT, NIGHT], "vatRate": -5},
        {**of, **FLAT, "kind": "TIME_OF_USE", "bands": [{**NIGHT, "weekdays": ["MOON"]}]},
        {**FLAT, "resourceId": unknown},
        price,
        {**price, "rate": "13"},
        {**price, "at": "2026-01-05T00:10:00Z"},
        {**price, "at": "2025-12-31T00:00:00Z"},
        {**price, "at": "yesterday"},
        {**price, "resourceId": unknown},
        {"at": iso(DAY), "rate": 1},
        {**price, "at": iso(DAY + HALF_HOUR)},
    ]
    refused = tmp_path / "refused.txt"
    done = await run_import(tenant, database_url, tmp_path / "broken.jsonl", lines, "--refused", str(refused))
    assert done.returncode == 1, done.stderr
    assert "3 tariffs and prices set from 16 lines, 13 refused" in done.stdout
    reasons = dict(line.split(": ", 1) for line in refused.read_text().splitlines())
    assert sorted(map(int, reasons)) == [2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15]
    assert reasons["3"] == "is not an object"
    assert "'standingCharges'" in reasons["4"]
    assert "resourceId" in reasons["5"]
    assert reasons["6"] == (
        "vatRate -5 is not between 0 and 100 percent; bands.1 'night' overlaps 'night' on MONDAY at 23:30"
    )
    assert "MOON" in reasons["7"]
    assert reasons["8"] == reasons["14"] == f"no resource with id {unknown}"
    assert reasons["10"] == "is given twice with different rates"
    assert reasons["11"] == "2026-01-05T00:10:00.000Z is not on the half hour"
    assert reasons["12"] == "the resource has no dynamic tariff that holds then"
    assert reasons["15"] == "names no resource"
    (dynamic,) = await tariffs_of(tenant, resource_id)
    assert dynamic.source == "supplier"
    assert [one.rate for one in await prices_of(tenant, dynamic)] == [Decimal("12.5")] * 2


async def test_a_file_for_one_resource_names_no_other(tenant: Tenant, database_url: str, tmp_path: Path) -> None:
    lines = [{**FLAT, "resourceId": tenant.ids["resource"]}, {**FLAT, "resourceId": tenant.ids["bare"]}]
    options = ("--resource", tenant.ids["bare"])
    done = await run_import(tenant, database_url, tmp_path / "one.jsonl", lines, *options)
    assert done.returncode == 1
    assert "line 1: names another resource than the one of the file" in done.stderr
    assert [one.name for one in await tariffs_of(tenant, tenant.ids["bare"])] == ["Fixed"]
