"""Cost resources, and a helper for GraphQL requests with one root field."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from strawberry import ID

from tests.support.house import House, Tenant
from tests.support.refusals import refusals
from wattgate.operations.types.homes import resources as types
from wattgate.operations.types.meters.readings import NewReading, NewReadings

HALF_HOUR = timedelta(minutes=30)

COST_MEMBERS = {"estimated", "charged", "remaining", "limit", "reset"}
"""The members of `extensions.cost` for a caller with a budget."""

COST_STORAGE = types.NewStorageDefinition(
    type="timeseries",
    sampling="regular",
    start="2014-01-06T00:00:00+00:00",
    fields=[types.NewStorageField(field_name="COST", unit="pence", datatype="fixedpoint(4)", negative=True)],
)


async def cost_resource(tenant: Tenant, **values: Any) -> str:
    """Add a resource with a new resource type for costs, and return its ID."""
    resource_type = types.NewResourceType(
        name="cost", classifier="electricity.consumption.cost", storage=[COST_STORAGE]
    )
    added = await tenant.run("add_resource_type", input=resource_type)
    resource = types.NewResource(resource_type_id=ID(added.resource_type_id), name="electricity cost", **values)
    return str((await tenant.run("add_resource", input=resource)).resource_id)


async def priced_half_hours(tenant: Tenant, count: int) -> tuple[str, str]:
    """Add a resource with a tariff and 1 kWh in half hours from 5 January 2026, and one for its costs. Return both."""
    energy = await tenant.add_resource()
    cost = await cost_resource(tenant, cost_of=ID(energy))
    await tenant.set_tariff(energy)
    start = datetime(2026, 1, 5, tzinfo=UTC)
    readings = [NewReading(at=start + number * HALF_HOUR, value=Decimal(1)) for number in range(count)]
    await tenant.run("record_readings", series=[NewReadings(resource_id=ID(energy), readings=readings)])
    return energy, cost


async def query_field(house: House, tenant: Tenant, query: str, who: str = "account", **variables: Any) -> Any:
    """Send a document with one root field. Return the value of the field, or its first refusal or error."""
    answer = await house.graphql(query, tenant.headers[who], **variables)
    if refused := refusals(answer):
        return refused[0]
    (value,) = answer["data"].values()
    return value
