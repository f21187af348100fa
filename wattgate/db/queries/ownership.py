"""When households have resources, from the tenancies of their meter points, and the sources of costs."""

from collections import defaultdict
from collections.abc import Iterable

from wattgate.clock import to_ms
from wattgate.db.models import MeterPointTenancy, Resource
from wattgate.db.rows.lookups import Lookup
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.energy.ownership import ALWAYS, NO_END, NO_START, Ownership, Tenancy, find_ownership

TENANCIES_BY_METER_POINT = Lookup(MeterPointTenancy, "mpxn")


async def load_ownerships(rows: Rows, resources: Iterable[Resource]) -> dict[str, Ownership]:
    """Return when the household of its owner has each resource, by resource id.

    A resource with `cost_of` has the ownership of the resource whose energy it prices. An open resource of a household
    that has always lived at its meter point needs no statement. Without a meter point, there is no tenancy.
    """
    resources = list(resources)
    if all(one.cost_of is None and one.owned_from is None and one.active for one in resources):
        return {resource.resource_id: ALWAYS for resource in resources}
    by_id = await load_with_sources(rows, resources)
    sources = {resource.resource_id: by_id.get(resource.cost_of or "", resource) for resource in resources}
    limited = {
        source.resource_id: (source, canonical_meter_point(source.mpxn))
        for source in sources.values()
        if source.mpxn and (source.owned_from is not None or not source.active)
    }
    tenancies = await _load_tenancies(rows, {number for _, number in limited.values()}) if limited else {}
    ownerships = {
        source_id: find_ownership(
            tenancies.get((source.owner_id, number), ()),
            to_ms(source.created_at),
            None if source.owned_from is None else to_ms(source.owned_from),
        )
        for source_id, (source, number) in limited.items()
    }
    return {resource_id: ownerships.get(source.resource_id, ALWAYS) for resource_id, source in sources.items()}


async def _load_tenancies(rows: Rows, numbers: set[str]) -> dict[tuple[str, str], list[Tenancy]]:
    """Return the tenancies that the caller may see, by the id of the user and the meter point."""
    tenancies = defaultdict[tuple[str, str], list[Tenancy]](list)
    for found in await rows.find(TENANCIES_BY_METER_POINT, numbers):
        tenancies[found.user_id, found.mpxn].append(
            Tenancy(
                NO_START if found.began_at is None else to_ms(found.began_at),
                NO_END if found.ended_at is None else to_ms(found.ended_at),
                to_ms(found.updated_at),
            )
        )
    return tenancies


async def load_with_sources(rows: Rows, resources: Iterable[Resource]) -> dict[str, Resource]:
    """Return resources and the sources of their costs, by resource id.

    It needs a statement only if a source is not among the resources.
    """
    by_id = {resource.resource_id: resource for resource in resources}
    missing = {resource.cost_of for resource in by_id.values() if resource.cost_of} - by_id.keys()
    return by_id | await rows.get_many(Resource, missing) if missing else by_id
