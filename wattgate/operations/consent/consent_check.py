"""Consent to read the data of meter points, checked for the resources of a call."""

from collections.abc import Sequence

from wattgate.db import models
from wattgate.db.queries.consent import find_consent_errors
from wattgate.db.rows.rows import Rows


async def require_consent(rows: Rows, resources: Sequence[models.Resource]) -> None:
    """Raise ConsentRevoked if the consent for the meter point of one of the resources was revoked or has expired."""
    for error in (await find_consent_errors(rows, resources)).values():
        raise error


async def require_some_consent(rows: Rows, resources: Sequence[models.Resource]) -> None:
    """Raise ConsentRevoked if the data of all these resources is withheld. With some of it, the others are served."""
    errors = await find_consent_errors(rows, resources)
    if errors and all(resource.resource_id in errors for resource in resources):
        raise errors[resources[0].resource_id]


async def require_readable_resources(rows: Rows, resource_ids: Sequence[str]) -> list[models.Resource]:
    """Return the resources with these ids.

    Raise NotFound if one is missing, and ConsentRevoked if the data of all of them is withheld.
    """
    resources = await rows.require_many(models.Resource, resource_ids)
    await require_some_consent(rows, resources)
    return resources
