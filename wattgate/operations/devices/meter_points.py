"""Shared checks of meter points: parse their numbers, and restrict users to their own."""

from collections.abc import Sequence

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.consent import find_own_meter_point_error
from wattgate.energy.meters import meter_points
from wattgate.errors import BadInput, GatewayError, NotFound, Problem
from wattgate.operations.core.operation import Call


def parse_meter_point(text: str, *path: str) -> str:
    """Return the number of a meter point for the meter network. Raise BadInput if it is malformed."""
    number = meter_points.parse_meter_point_number(text)
    if number is None:
        raise BadInput(
            f"Invalid meter point number {text!r}. See `problems`.",
            problems=[Problem(path, "is not a number of 1 to 13 digits")],
        )
    return number


def parse_path_meter_point(text: str) -> str:
    """Return the meter point that a path names, in any spelling. Raise NotFound if it has no letter and no digit."""
    number = meter_points.canonical_meter_point(text)
    if not number:
        raise NotFound(f"No meter point with number {text}.")
    return number


async def require_access(call: Call, number: str) -> str:
    """Return the number if the caller may access the meter point, and record the read. Raise NotFound otherwise.

    A user may access the meter points of own resources, an application any.
    """
    resources = await _resources_to_check(call, number)
    if call.rows.user_id is not None and not resources:
        raise NotFound(f"No meter point with number {number}.")
    record_network_read(call, resources)
    return number


async def find_inventory_error(call: Call, number: str) -> GatewayError | None:
    """Return why the caller must not read the network's inventory of a meter point; None if the caller may.

    An application may read any. A user may read those of own resources and consents: NotFound for others, and
    ConsentRevoked if the consent for the meter point does not allow it. A read that is allowed is recorded.
    """
    resources = await _resources_to_check(call, number)
    if call.rows.user_id is not None:
        error = await find_own_meter_point_error(call.rows, number, resources)
        if error is not None:
            return error
    record_network_read(call, resources)
    return None


async def _resources_to_check(call: Call, number: str) -> list[models.Resource]:
    """Return the active resources at a meter point, if the access of the caller or the access log depends on them."""
    needs_resources = call.rows.user_id is not None or call.rows.accesses is not None
    return await resources_at(call, number) if needs_resources else []


def record_network_read(call: Call, resources: Sequence[models.Resource]) -> None:
    """Record a read of the network's records of a meter point: one for each active resource there, without costs."""
    if call.rows.accesses is not None:
        pairs = [(resource.owner_id, resource.resource_id) for resource in resources if resource.cost_of is None]
        call.rows.accesses.record(pairs, call.rows.now)


async def require_inventory_access(call: Call, number: str, not_found: NotFound) -> None:
    """Raise an error unless the caller may read the network's inventory of a meter point.

    `not_found` replaces the error of a meter point that the caller must not know about.
    """
    error = await find_inventory_error(call, number)
    if error is not None:
        raise not_found if isinstance(error, NotFound) else error


async def is_own_meter_point(call: Call, number: str) -> bool:
    """Return whether an active resource that the caller may see is at the meter point."""
    return bool(await resources_at(call, number))


async def resources_at(call: Call, number: str) -> list[models.Resource]:
    """Return the active resources at a meter point that the caller may see, oldest first."""
    return await call.rows.all(
        models.Resource,
        col(models.Resource.mpxn).in_(meter_points.meter_point_spellings(number)),
        col(models.Resource.active).is_(True),
        order_by=[models.Resource.number],
    )
