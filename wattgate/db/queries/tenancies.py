"""Whose a meter point is at an instant: the households that live there now, and since when.

A reading that is found by a meter point or a device belongs to the household that lived there at its instant. Readings
are bounded when they are stored, so that everything computed from them is bounded as well.
"""

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.models import MeterPointTenancy, Resource
from wattgate.db.rows import Rows
from wattgate.energy.meter_points import canonical_meter_point


def oldest_instant(resource: Resource) -> int:
    """Return the first instant (ms) of a resource's owner at its meter point; 0 if no other household is known."""
    return 0 if resource.owned_from is None else to_ms(resource.owned_from)


async def lives_at(rows: Rows, user_id: str, number: str) -> bool:
    """Return whether the household of a user lives at a meter point now."""
    count = await rows.count(
        MeterPointTenancy,
        col(MeterPointTenancy.user_id) == user_id,
        col(MeterPointTenancy.mpxn) == canonical_meter_point(number),
        col(MeterPointTenancy.ended_at).is_(None),
    )
    return count > 0
