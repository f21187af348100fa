"""Which resource pays the standing charge of a day, of several that a household has at a meter point.

A day is due once for a meter point and a classifier. A closed resource pays for a day only if no resource that follows
it has a tariff then: the open ones, and those that were added later.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.models import Resource
from wattgate.db.rows.rows import Rows
from wattgate.energy.costs.tariffs import TariffTerms
from wattgate.energy.meters.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.energy.ownership import NO_END, Ownership


async def load_following(rows: Rows, resources: Iterable[Resource]) -> dict[str, list[Resource]]:
    """Return the resources that follow each closed one at its meter point, by the id of the closed one.

    They are those of the same household and classifier that the caller may see. It needs no statement if all resources
    are open or have no meter point.
    """
    closed = [one for one in resources if one.mpxn and not one.active and one.cost_of is None]
    if not closed:
        return {}
    numbers = {canonical_meter_point(one.mpxn or "") for one in closed}
    others = await rows.all(
        Resource,
        col(Resource.owner_id).in_({one.owner_id for one in closed}),
        col(Resource.mpxn).in_([spelling for number in numbers for spelling in meter_point_spellings(number)]),
        col(Resource.classifier).in_({one.classifier for one in closed}),
        col(Resource.cost_of).is_(None),
    )
    return {one.resource_id: [other for other in others if _follows(other, one)] for one in closed}


def days_to_pay(
    resource_id: str,
    following: Iterable[Resource],
    ownerships: Mapping[str, Ownership],
    tariffs: Mapping[str, Sequence[TariffTerms]],
) -> Ownership:
    """Return the time in which a resource pays standing charges: the own one without that of those that follow it."""
    paid = ownerships[resource_id]
    for other in following:
        if tariffs[other.resource_id]:
            since = to_ms(tariffs[other.resource_id][0].valid_from)
            paid = paid.without(ownerships[other.resource_id].within(since, NO_END))
    return paid


def _follows(other: Resource, closed: Resource) -> bool:
    """Return whether a resource follows a closed one of the same household, meter point and classifier."""
    of_closed, of_other = (
        (one.owner_id, canonical_meter_point(one.mpxn or ""), one.classifier) for one in (closed, other)
    )
    return of_other == of_closed and (other.active, other.number) > (closed.active, closed.number)
