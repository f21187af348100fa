"""The sources of costs: the resources whose energy the resources with `cost_of` price."""

from collections.abc import Iterable

from wattgate.db.models import Resource
from wattgate.db.rows.rows import Rows


async def load_with_sources(rows: Rows, resources: Iterable[Resource]) -> dict[str, Resource]:
    """Return resources and the sources of their costs, by resource id.

    It needs a statement only if a source is not among the resources.
    """
    by_id = {resource.resource_id: resource for resource in resources}
    missing = {resource.cost_of for resource in by_id.values() if resource.cost_of} - by_id.keys()
    return by_id | await rows.get_many(Resource, missing) if missing else by_id
