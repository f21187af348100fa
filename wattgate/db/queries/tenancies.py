"""Whose a meter point is at an instant: the households that live there now, and since when.

A reading that is found by a meter point or a device belongs to the household that lived there at its instant. Readings
are bounded when they are stored, so that everything computed from them is bounded as well.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.lookups import Lookup
from wattgate.db.models import MeterPointTenancy, Resource
from wattgate.db.rows import Rows
from wattgate.energy.meter_points import canonical_meter_point

OPEN_TENANCIES = Lookup(MeterPointTenancy, "mpxn", where=(col(MeterPointTenancy.ended_at).is_(None),))

NEVER = 2**62
"""A start (ms) that is later than every instant that can be stored."""


async def oldest_instants(rows: Rows, resources: Iterable[Resource]) -> dict[str, int]:
    """Return the first instant (ms) of the owner of each resource at its meter point, by resource id.

    It is 0 if there is no meter point, or if the application knows no other household there, and NEVER if another
    household lives there now.
    """
    numbers = {
        resource.resource_id: (resource.owner_id, canonical_meter_point(resource.mpxn))
        for resource in resources
        if resource.mpxn
    }
    tenancies = await open_tenancies(rows, {number for _, number in numbers.values()})
    return {
        resource_id: _start_for(owner_id, tenancies.get(number)) for resource_id, (owner_id, number) in numbers.items()
    }


async def open_tenancies(rows: Rows, numbers: Iterable[str]) -> Mapping[str, MeterPointTenancy]:
    """Return the tenancies that have not ended and that the caller may see, by meter point in its canonical form."""
    wanted = set(numbers)
    found: Sequence[MeterPointTenancy] = await rows.find(OPEN_TENANCIES, wanted) if wanted else ()
    return {tenancy.mpxn: tenancy for tenancy in found}


async def lives_at(rows: Rows, user_id: str, number: str) -> bool:
    """Return whether the household of a user lives at a meter point now."""
    tenancy = (await open_tenancies(rows, [canonical_meter_point(number)])).get(canonical_meter_point(number))
    return tenancy is not None and tenancy.user_id == user_id


def _start_for(owner_id: str, tenancy: MeterPointTenancy | None) -> int:
    if tenancy is None:
        return 0  # no household is known there: an earlier version of the gateway has added the resource
    if tenancy.user_id != owner_id:
        return NEVER
    return 0 if tenancy.began_at is None else to_ms(tenancy.began_at)
