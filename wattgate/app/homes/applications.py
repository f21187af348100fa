"""Find an application or a user by name or ID, and list the users and homes, for the command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, exists, func, or_
from sqlmodel import col

from wattgate.app.application_ids import parse_application_id
from wattgate.app.homes.named_records import find_named, unknown_name
from wattgate.db import models
from wattgate.db.applications import ApplicationSummary
from wattgate.db.queries.resources import first_times, last_times
from wattgate.db.queries.series.tariffs import in_force
from wattgate.db.queries.virtual_entities import resources as resources_of_homes
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import meter_point_spellings
from wattgate.errors import BadInput, GatewayError, NotFound

APPLICATION, LIST_APPLICATIONS = "application", "wattgate app list"


def find_application(applications: Sequence[ApplicationSummary], text: str) -> ApplicationSummary | None:
    """Return the application with this ID or name, or None.

    Raise NotFound for an unknown ID, so that nobody creates an application with an ID as its name. Raise BadInput if
    several applications have the name.
    """
    found = find_named(
        applications, text, kind=APPLICATION, id_of=lambda one: one.application_id, names_of=lambda one: (one.name,)
    )
    if found is None and parse_application_id(text) is not None:
        raise unknown_name(APPLICATION, text, (), LIST_APPLICATIONS)
    return found


def require_application(applications: Sequence[ApplicationSummary], text: str | None) -> ApplicationSummary:
    """Return the application with this ID or name. Without a text, return the only one.

    Raise NotFound, or BadInput with all names if there are several and no text.
    """
    if text is not None:
        application = find_application(applications, text)
        if application is None:
            raise unknown_name(APPLICATION, text, [one.name for one in applications], LIST_APPLICATIONS)
        return application
    if not applications:
        raise NotFound("The database has no application. Create a home with `wattgate home create`.")
    if len(applications) > 1:
        names = ", ".join(repr(application.name) for application in applications)
        raise BadInput(f"There are {len(applications)} applications. Name one with --application: {names}.")
    return applications[0]


# The users and homes of an application, for the command line.


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


async def list_accounts(rows: Rows, limit: int, search: str | None = None) -> list[models.Account]:
    """Return up to `limit` accounts of the application, by username.

    With a text to search for, return those that have it in the username, the e-mail address or the name of the person,
    in any case, and those of the users who have an active resource at the meter point of this number.
    """
    where = [] if search is None else [_matches(search.strip())]
    return await rows.all(models.Account, *where, order_by=[models.Account.username], limit=limit)


def _matches(text: str) -> ColumnElement[bool]:
    """Return the condition on an account that a search finds."""
    account, resource = models.Account, models.Resource
    columns = (account.username, account.email, account.name)
    has_text = [func.lower(col(column)).contains(text.lower(), autoescape=True) for column in columns]
    number = "".join(text.split())
    at_point = exists().where(
        col(resource.owner_id) == col(account.user_id),
        col(resource.application_id) == col(account.application_id),
        col(resource.active).is_(True),
        col(resource.mpxn).in_(meter_point_spellings(number)),
    )
    return or_(*has_text, at_point)


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
