"""Whether the data of meter points may be had, for many resources at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from wattgate.db.models import MeterPointConsent, Resource
from wattgate.db.rows import Lookup, Rows
from wattgate.energy.meter_points import canonical
from wattgate.errors import ConsentRevoked

T = TypeVar("T")

OF_POINTS = Lookup(MeterPointConsent, "mpxn")


def holds(consent: MeterPointConsent, now: datetime) -> bool:
    """Whether a consent is neither revoked nor expired."""
    return consent.revoked_at is None and consent.valid_until > now


async def withheld(rows: Rows, resources: Sequence[Resource]) -> dict[str, ConsentRevoked]:
    """By resource id, the refusal of each whose meter point's consent is on record and holds no longer.

    A resource without a meter point, or without a consent on record, does not stand under consent.
    """
    points = {canonical(resource.mpxn) for resource in resources if resource.mpxn}
    if not points:
        return {}
    consents = await rows.by(OF_POINTS, points)
    gone = {(one.user_id, one.mpxn): one for one in consents if not holds(one, rows.now)}
    return {
        resource.resource_id: _refusal(gone[resource.owner_id, canonical(resource.mpxn)])
        for resource in resources
        if resource.mpxn and (resource.owner_id, canonical(resource.mpxn)) in gone
    }


def either(refused: dict[str, ConsentRevoked], resources: Sequence[Resource], found: Sequence[T]) -> list[Any]:
    """What was found for each resource, or its refusal in that place."""
    return [refused.get(resource.resource_id, one) for resource, one in zip(resources, found, strict=True)]


def _refusal(consent: MeterPointConsent) -> ConsentRevoked:
    how = "was revoked" if consent.revoked_at else "has expired"
    return ConsentRevoked(f"the consent for meter point {consent.mpxn} {how}")
