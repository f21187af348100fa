"""The users and homes of an application, for the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.resources import first_times, last_times
from wattgate.db.queries.series.tariffs import in_force
from wattgate.db.queries.virtual_entities import resources as resources_of_homes
from wattgate.db.rows.rows import Rows
from wattgate.errors import GatewayError


@dataclass(frozen=True, slots=True)
class ListedHome:
    """An active home with its owner and resources."""

    home: models.VirtualEntity
    username: str | None
    resources: list[models.Resource]


@dataclass(frozen=True, slots=True)
class ResourceDetails:
    """A resource of a home, the instants of its first and last reading, and its tariff in force.

    The instants are None without readings, and without the consent of the household.
    """

    resource: models.Resource
    first_time: datetime | None
    last_time: datetime | None
    tariff: models.Tariff | None


async def list_accounts(rows: Rows, limit: int) -> list[models.Account]:
    """Return up to `limit` accounts of the application, by username."""
    return await rows.all(models.Account, order_by=[models.Account.username], limit=limit)


async def list_homes(rows: Rows, limit: int) -> list[ListedHome]:
    """Return up to `limit` active homes of the application, by name."""
    home = models.VirtualEntity
    return await load_home_details(
        rows, await rows.all(home, col(home.active).is_(True), order_by=[home.name, home.ve_id], limit=limit)
    )


async def load_home_details(rows: Rows, homes: Sequence[models.VirtualEntity]) -> list[ListedHome]:
    """Return the homes with the usernames of their owners and their resources."""
    owners = {home.owner_id for home in homes}
    usernames: dict[str, str] = {}
    for account in await rows.all(models.Account, col(models.Account.user_id).in_(owners)):
        usernames.setdefault(account.user_id, account.username)
    resources = await resources_of_homes(rows, homes)
    return [ListedHome(home, usernames.get(home.owner_id), owned) for home, owned in zip(homes, resources, strict=True)]


async def load_resource_details(rows: Rows, resources: Sequence[models.Resource]) -> list[ResourceDetails]:
    """Return the resources with their first and last readings and their tariffs."""
    first, last = await first_times(rows, resources), await last_times(rows, resources)
    times = zip(map(_unless_withheld, first), map(_unless_withheld, last), strict=True)
    tariffs = await in_force(rows, resources)
    return [
        ResourceDetails(resource, *instants, tariff)
        for resource, instants, tariff in zip(resources, times, tariffs, strict=True)
    ]


def _unless_withheld(instant: datetime | GatewayError | None) -> datetime | None:
    return None if isinstance(instant, GatewayError) else instant
