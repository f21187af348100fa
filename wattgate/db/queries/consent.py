"""Whether the data of meter points may be had, for many resources at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from wattgate.db.models import MeterPointConsent, Resource
from wattgate.db.rows import Lookup, Rows
from wattgate.energy.meter_points import canonical_meter_point
from wattgate.errors import ConsentRevoked

T = TypeVar("T")

CONSENTS_BY_METER_POINT = Lookup(MeterPointConsent, "mpxn")


def is_valid(consent: MeterPointConsent, now: datetime) -> bool:
    """Whether a consent is neither revoked nor expired."""
    return consent.revoked_at is None and consent.valid_until > now


async def find_consent_errors(rows: Rows, resources: Sequence[Resource]) -> dict[str, ConsentRevoked]:
    """By resource id, the refusal of each whose meter point's consent is on record and holds no longer.

    A resource without a meter point, or without a consent on record, does not stand under consent.
    """
    meter_points = {canonical_meter_point(resource.mpxn) for resource in resources if resource.mpxn}
    if not meter_points:
        return {}
    consents = await rows.find(CONSENTS_BY_METER_POINT, meter_points)
    invalid = {(consent.user_id, consent.mpxn): consent for consent in consents if not is_valid(consent, rows.now)}
    return {
        resource.resource_id: _consent_error(invalid[resource.owner_id, canonical_meter_point(resource.mpxn)])
        for resource in resources
        if resource.mpxn and (resource.owner_id, canonical_meter_point(resource.mpxn)) in invalid
    }


def replace_withheld(
    errors: dict[str, ConsentRevoked], resources: Sequence[Resource], results: Sequence[T]
) -> list[Any]:
    """What was found for each resource, or its refusal in that place."""
    return [errors.get(resource.resource_id, result) for resource, result in zip(resources, results, strict=True)]


def _consent_error(consent: MeterPointConsent) -> ConsentRevoked:
    reason = "was revoked" if consent.revoked_at else "has expired"
    return ConsentRevoked(f"the consent for meter point {consent.mpxn} {reason}")
