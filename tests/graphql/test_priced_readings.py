"""Charges for the readings that a cost is computed from, and the readings that block tariffs need from before."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, event
from strawberry import ID

from tests.support.costs import cost_resource, query_field
from tests.support.house import House
from wattgate.clock import TimeRange, format_iso, to_ms, utc_now
from wattgate.db import models
from wattgate.db.queries.series import costs as cost_queries
from wattgate.db.queries.series.costs import MAX_SAMPLES
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope
from wattgate.energy.buckets import build_grid
from wattgate.energy.storage_fields import parse_fields
from wattgate.enums import Period, TariffKind
from wattgate.errors import CostTooHigh, RateLimited
from wattgate.graphql.cost.operation_charge import OperationCharge
from wattgate.graphql.cost.operation_cost import MAX_COST
from wattgate.operations.types.homes.resources import (
    NewResource,
    NewResourceType,
    NewStorageDefinition,
    NewStorageField,
)
from wattgate.operations.types.meters.tariffs import NewTariffBlock
from wattgate.principal import Principal, Role
from wattgate.rate_limit.budgets import Budgets, LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, BudgetLimits
from wattgate.rest_compat.call_charge import CallCharge

HALF_HOUR = timedelta(minutes=30)
YEAR = datetime(2025, 1, 1, tzinfo=UTC)
ASKED = datetime(2025, 5, 16, 12, tzinfo=UTC)
YEARLY = [NewTariffBlock(rate=Decimal(10), up_to=Decimal(50)), NewTariffBlock(rate=Decimal(30))]
MONTHLY = [NewTariffBlock(rate=Decimal(20), up_to=Decimal(7)), NewTariffBlock(rate=Decimal(40))]
SAMPLING = {
    "minutes": {"sampling": "regular", "interval": "PT1M"},
    "irregular": {"sampling": "irregular"},
}
BILL = "cost(range: $range) { energy { value } lines { tariffName band quantity } }"
BUCKETS = "costs(range: $range, period: PT30M) { buckets { energyCostWithVat } }"
READINGS = "readings(range: $range, period: PT30M) { buckets { value } }"


def document(field: str) -> str:
    return f"query ($id: ID!, $range: TimeRange!) {{ resource(resourceId: $id) {{ {field} }} }}"


def span(start: datetime, end: datetime) -> dict[str, str]:
    return {"start": format_iso(start), "end": format_iso(end)}


@contextmanager
def listed_starts() -> Iterator[list[int]]:
    """Collect the starts of the ranges whose readings are listed one by one."""
    starts: list[int] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *others: Any) -> None:
        values = list(parameters.values() if isinstance(parameters, dict) else parameters)
        if MAX_SAMPLES + 1 in values:
            starts.extend(value for value in values if isinstance(value, int) and value > MAX_SAMPLES + 1)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield starts
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def yearly_block(house: House) -> str:
    """Add a resource with a yearly block tariff until noon of 16 May, and a monthly one from then on."""
    resource_id = await house.one.add_resource()
    await house.one.set_tariff(
        resource_id, "Yearly", YEAR, kind=TariffKind.BLOCK, blocks=YEARLY, block_period=Period.P1Y
    )
    await house.one.set_tariff(
        resource_id, "Monthly", ASKED, kind=TariffKind.BLOCK, blocks=MONTHLY, block_period=Period.P1M
    )
    await house.one.record(resource_id, (YEAR, "40"), (datetime(2025, 5, 3, 1, tzinfo=UTC), "6"))
    await house.one.record(resource_id, *((ASKED + number * HALF_HOUR, "3") for number in (-2, -1, 0, 1)))
    return resource_id


@pytest.mark.parametrize("kind", ["cost", "costs", "readings"])
async def test_block_tariff_lists_no_readings_from_before_the_range(served: House, kind: str) -> None:
    resource_id = await yearly_block(served)
    priced = await cost_resource(served.one, cost_of=ID(resource_id)) if kind == "readings" else resource_id
    asked = TimeRange(ASKED - 2 * HALF_HOUR, ASKED + 2 * HALF_HOUR)
    scope = RowScope(served.one.application_id)
    with listed_starts() as starts:
        async with served.gateway.database.session(scope) as session:
            rows = Rows(session, served.one.application_id, now=utc_now())
            resource = await rows.get(models.Resource, priced)
            if kind == "cost":
                await cost_queries.explain_costs(rows, [resource], range=asked)
            elif kind == "costs":
                await cost_queries.cost_series(rows, [resource], range=asked, period=Period.PT30M)
            else:
                (field,) = parse_fields(resource.storage)
                grid = build_grid(asked.start, asked.end, Period.PT30M, UTC)
                await cost_queries.compute_cost_aggregates(rows, [(resource, field)], grid)
    assert starts
    assert min(starts) == to_ms(asked.start)


async def test_blocks_of_two_periods_count_from_their_starts(served: House) -> None:
    resource_id = await yearly_block(served)
    asked = span(ASKED - 2 * HALF_HOUR, ASKED + 2 * HALF_HOUR)
    found = await query_field(served, served.one, document(BILL), id=resource_id, range=asked)
    lines = [(line["tariffName"], line["band"], line["quantity"]) for line in found["cost"]["lines"]]
    # 46 kWh of the year precede the range, of which 6 kWh are of May
    assert lines == [
        ("Yearly", "block 1", "4"),
        ("Yearly", "block 2", "2"),
        ("Monthly", "block 2", "6"),
    ]


async def minute_resource(house: House, sampling: str, readings: int) -> str:
    """Add a resource with a flat tariff and readings of each minute from `ASKED`."""
    storage = NewStorageDefinition(
        type="timeseries",
        start="2014-01-06T00:00:00+00:00",
        fields=[NewStorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(4)", negative=False)],
        **SAMPLING[sampling],
    )
    resource_type = NewResourceType(name=sampling, classifier="electricity.consumption", storage=[storage])
    added = await house.one.run("add_resource_type", input=resource_type)
    new = NewResource(resource_type_id=ID(added.resource_type_id), name=sampling)
    resource_id = str((await house.one.run("add_resource", input=new)).resource_id)
    await house.one.set_tariff(resource_id)
    await house.one.record(resource_id, *((ASKED + timedelta(minutes=number), "0.1") for number in range(readings)))
    return resource_id


@pytest.mark.parametrize(
    ("sampling", "units"), [("minutes", (1_440 - 2 * 80) // 8), ("irregular", (320 - 2 * 80) // 8)]
)
@pytest.mark.parametrize("field", [BILL, BUCKETS], ids=["cost", "costs"])
async def test_readings_that_a_day_does_not_include_are_charged(
    served: House, sampling: str, units: int, field: str
) -> None:
    resource_id = await minute_resource(served, sampling, 320)
    asked = span(ASKED, ASKED + timedelta(days=1))
    answer = await served.graphql(document(field), served.one.headers["account"], id=resource_id, range=asked)
    assert "errors" not in answer, answer
    cost = answer["extensions"]["cost"]
    assert cost["charged"] == cost["estimated"] + units


async def test_readings_above_the_maximum_cost_are_refused(served: House) -> None:
    resource_id = await minute_resource(served, "minutes", 10)
    asked = span(ASKED, ASKED + timedelta(days=60))
    aliases = " ".join(f"c{number}: {BILL}" for number in range(3))
    account = served.one.headers["account"]
    answer = await served.graphql(document(aliases), account, id=resource_id, range=asked)
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"COST_TOO_HIGH"}


@pytest.mark.parametrize("kind", [OperationCharge, CallCharge])
async def test_computed_result_is_paid_even_if_the_budget_is_too_low(
    kind: type[OperationCharge] | type[CallCharge],
) -> None:
    principal = Principal(Role.ACCOUNT, application_id="one", account_id="ada")
    budgets = Budgets(BudgetLimits(Allowance(1_000, 0.001), None), LocalBucketStore())
    charge = (
        OperationCharge.flat(budgets, principal, 100) if kind is OperationCharge else CallCharge(budgets, principal)
    )
    await charge.add_done(5_000)
    assert charge.charged == 5_000
    with pytest.raises(RateLimited):
        await CallCharge(budgets, principal).add(1)


async def test_computed_result_above_the_maximum_cost_is_paid_and_refused() -> None:
    principal = Principal(Role.ACCOUNT, application_id="one", account_id="ada")
    budgets = Budgets(BudgetLimits(Allowance(100_000, 0.001), None), LocalBucketStore())
    charge = OperationCharge.flat(budgets, principal, 100)
    await charge.settle()
    with pytest.raises(CostTooHigh):
        await charge.add_done(MAX_COST)
    assert charge.charged == MAX_COST + 100
    with pytest.raises(CostTooHigh):
        await charge.settle()
