"""Cost resources, and a helper for GraphQL requests with one root field."""

from typing import Any

from strawberry import ID

from tests.support.house import House, Tenant
from wattgate.graphql.types import resources as types

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


async def query_field(house: House, tenant: Tenant, query: str, who: str = "account", **variables: Any) -> Any:
    """Send a query with one root field. Return the value of the field, or the extensions of the first error."""
    answer = await house.graphql(query, tenant.headers[who], **variables)
    if errors := answer.get("errors"):
        return errors[0]["extensions"]
    (value,) = answer["data"].values()
    return value
