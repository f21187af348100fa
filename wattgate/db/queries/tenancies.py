"""Whose a meter point is at an instant, and whether readings of that instant may be stored and used.

A reading that is found by a meter point or a device belongs to the household that lived there at its instant, and needs
the consent of that household at that instant. Readings are bounded when they are stored, so that everything computed
from them is bounded as well.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import or_
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.models import (
    Device,
    MeterPointConsent,
    MeterPointTenancy,
    Resource,
    VirtualEntity,
    VirtualEntityResource,
)
from wattgate.db.queries.consent import CONSENTS_BY_METER_POINT
from wattgate.db.rows.rows import Rows
from wattgate.energy.consent_gaps import ALL_TIME, ConsentGaps, StorageBounds, gaps_after_grant
from wattgate.energy.meters.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.energy.storage_fields import MAX_AHEAD_MS


async def storage_bounds(rows: Rows, resources: Iterable[Resource]) -> dict[str, StorageBounds]:
    """Return when readings of each resource may be stored, by resource id.

    It needs no statement, unless a resource does not repeat the gaps of its consent.
    """
    resources = list(resources)
    latest = to_ms(rows.now) + MAX_AHEAD_MS
    gaps_by_id = {} if rows.consent_policy.stores_without else await consent_gaps(rows, resources)
    return {
        resource.resource_id: StorageBounds(
            0 if resource.owned_from is None else to_ms(resource.owned_from),
            tuple(gap for gap in gaps_by_id.get(resource.resource_id, ()) if gap.start <= latest),
        )
        for resource in resources
    }


async def consent_gaps(rows: Rows, resources: Iterable[Resource]) -> dict[str, ConsentGaps]:
    """Return the periods in which the owner of each resource has not consented, by resource id.

    Resources without a meter point need no consent, and are left out.
    """
    gaps_by_id: dict[str, ConsentGaps] = {}
    unknown: dict[str, tuple[str, str]] = {}
    for resource in resources:
        if resource.consent_gaps is not None:
            gaps_by_id[resource.resource_id] = resource.consent_gaps
        elif resource.mpxn:
            unknown[resource.resource_id] = (resource.owner_id, canonical_meter_point(resource.mpxn))
    if unknown:
        found = await rows.find(CONSENTS_BY_METER_POINT, {mpxn for _, mpxn in unknown.values()})
        known = {(consent.user_id, consent.mpxn): gaps_of(consent) for consent in found}
        missing = ALL_TIME if rows.consent_policy.is_required else ()
        gaps_by_id |= {resource_id: known.get(key, missing) for resource_id, key in unknown.items()}
    return gaps_by_id


def gaps_of(consent: MeterPointConsent) -> ConsentGaps:
    """Return the periods in which a consent is not valid."""
    if consent.gaps is not None:
        return consent.gaps
    ends = [instant for instant in (consent.valid_until, consent.revoked_at) if instant is not None]
    return gaps_after_grant(to_ms(min(ends)))


async def lives_at(rows: Rows, user_id: str, number: str) -> bool:
    """Return whether the household of a user lives at a meter point now."""
    count = await rows.count(
        MeterPointTenancy,
        col(MeterPointTenancy.user_id) == user_id,
        col(MeterPointTenancy.mpxn) == canonical_meter_point(number),
        col(MeterPointTenancy.ended_at).is_(None),
    )
    return count > 0


async def meter_points_left(rows: Rows, user_id: str, numbers: Collection[str]) -> set[str]:
    """Return those of some meter points, in their canonical form, where the household of a user does not live now."""
    if not numbers:
        return set()
    model = MeterPointTenancy
    is_there = col(model.user_id) == user_id, col(model.mpxn).in_(numbers), col(model.ended_at).is_(None)
    return set(numbers) - {stay.mpxn for stay in await rows.all(model, *is_there)}


async def left_behind(rows: Rows, devices: Iterable[Device]) -> set[str]:
    """Return the ids of those devices whose owners have moved out where the devices are.

    It needs no statement, unless a device remains at a meter point, or has been pointed elsewhere there.
    """
    places = {device.device_id: (device.owner_id, device.remains_at) for device in devices if device.remains_at}
    if not places:
        return set()
    model = MeterPointTenancy
    numbers = {number for _, left in places.values() for number in left}
    stays = await rows.all(model, col(model.mpxn).in_(numbers), col(model.ended_at).is_(None))
    lived_in = {(stay.user_id, stay.mpxn) for stay in stays}
    return {
        device_id
        for device_id, (owner_id, left) in places.items()
        if any((owner_id, number) not in lived_in for number in left)
    }


async def others_lived_since(rows: Rows, user_id: str, number: str, since: datetime | None) -> bool:
    """Return whether another household has lived at a meter point, or lives there, that moved in at `since` or later.

    One whose move was withdrawn has not lived there. Without `since`, each other household counts.
    """
    model = MeterPointTenancy
    with rows.whole_application() as all_rows:
        count = await all_rows.count(
            model,
            col(model.user_id) != user_id,
            col(model.mpxn) == canonical_meter_point(number),
            or_(
                col(model.ended_at).is_(None), col(model.began_at).is_(None), col(model.ended_at) > col(model.began_at)
            ),
            *([] if since is None else [col(model.began_at) >= since]),
            limit=1,
        )
    return count > 0


async def find_home_at(rows: Rows, user_id: str, number: str) -> VirtualEntity | None:
    """Return the home of a user with a resource at a meter point, or None: an open one first, then the oldest."""
    resources = await rows.all(
        Resource,
        col(Resource.owner_id) == user_id,
        col(Resource.mpxn).in_(meter_point_spellings(canonical_meter_point(number))),
    )
    ids = [resource.resource_id for resource in resources]
    links = await rows.all(VirtualEntityResource, col(VirtualEntityResource.resource_id).in_(ids))
    return await rows.first(
        VirtualEntity,
        col(VirtualEntity.ve_id).in_({link.ve_id for link in links}),
        col(VirtualEntity.owner_id) == user_id,
        order_by=[col(VirtualEntity.active).desc(), VirtualEntity.created_at, VirtualEntity.ve_id],
    )
