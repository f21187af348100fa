"""Which meter points a caller may ask the meter network about."""

from sqlmodel import col

from wattgate.db import models
from wattgate.energy import meter_points
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.operation import Call


def given_number(text: str, *path: str) -> str:
    """A meter point's number as a client gave it. BadInput where it is none."""
    number = meter_points.meter_point_number(text)
    if number is None:
        raise BadInput("the meter point is not named", problems=[Problem(path, "is not 1 to 13 digits")])
    return number


def number_in_path(text: str) -> str:
    """A meter point's number that stands in a path. NotFound where it is none."""
    number = meter_points.meter_point_number(text)
    if number is None:
        raise NotFound(f"no meter point with number {text}")
    return number


async def allow(call: Call, number: str) -> str:
    """The number, if the caller may ask about it: of a user's own resources, or any. NotFound otherwise."""
    if call.rows.user_id is not None and not await is_own(call, number):
        raise NotFound(f"no meter point with number {number}")
    return number


async def is_own(call: Call, number: str) -> bool:
    """Whether some active resource that the caller sees is measured at the meter point."""
    return bool(await resources_at(call, number))


async def resources_at(call: Call, number: str) -> list[models.Resource]:
    """The caller's active resources at a meter point, oldest first."""
    return await call.rows.all(
        models.Resource,
        col(models.Resource.mpxn).in_(meter_points.spellings(number)),
        col(models.Resource.active).is_(True),
        order_by=[models.Resource.number],
    )
