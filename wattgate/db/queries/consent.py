"""Checks of the consent to the data of meter points, for many resources at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from wattgate.db.lookups import Lookup
from wattgate.db.models import MeterPointConsent, Resource
from wattgate.db.rows import Rows
from wattgate.energy.meter_points import canonical_meter_point
from wattgate.errors import ConsentRevoked

T = TypeVar("T")

CONSENTS_BY_METER_POINT = Lookup(MeterPointConsent, "mpxn")


def is_valid(consent: MeterPointConsent, now: datetime) -> bool:
    """Return whether a consent is neither revoked nor expired."""
    return consent.revoked_at is None and consent.valid_until > now


async def find_consent_errors(rows: Rows, resources: Sequence[Resource]) -> dict[str, ConsentRevoked]:
    """Return, by resource id, the error of each resource whose consent is revoked or expired.

    A resource without a meter point, or whose meter point has no stored consent, needs no consent.
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
    """Return the result of each resource, or its consent error instead."""
    return [errors.get(resource.resource_id, result) for resource, result in zip(resources, results, strict=True)]


def _consent_error(consent: MeterPointConsent) -> ConsentRevoked:
    reason = "was revoked" if consent.revoked_at else "has expired"
    return ConsentRevoked(f"The consent for meter point {consent.mpxn} {reason}. Renew it to access this data.")
