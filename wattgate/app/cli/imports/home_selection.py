"""Find the home that an import is for, by its name or ID, and the resources of it that the import may fill."""

from dataclasses import dataclass
from enum import Enum

from wattgate.app.cli.imports.reading_targets import HomeResources
from wattgate.db.models import Resource, VirtualEntity
from wattgate.energy.meter_messages import ELECTRICITY, EXPORT, GAS
from wattgate.errors import BadInput, NotFound
from wattgate.graphql.core.fields import find_edge
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.reading_imports import MAX_HOMES, NamedHome, applications_with_home, homes_named
from wattgate.graphql.types import virtual_entities as types
from wattgate.principal import Principal, Role


class Meter(Enum):
    """The kinds of meters that an option selects; the values are classifiers."""

    ELECTRICITY = ELECTRICITY
    GAS = GAS
    EXPORT = EXPORT


@dataclass(frozen=True, slots=True)
class HomeChoice:
    """Which home an import is for: its name or ID, and how to narrow several of the same name.

    `application` is an ID or name, and `user` a username or user ID. `meter` and `resource_id` select a resource.
    """

    home: str
    application: str | None = None
    user: str | None = None
    meter: Meter | None = None
    resource_id: str | None = None


async def find_home(runner: Runner, choice: HomeChoice) -> VirtualEntity:
    """Return the only home that is meant. Raise NotFound if there is none, and BadInput if there are several."""
    found = list[NamedHome]()
    for application_id in await runner.run(applications_with_home, Principal(Role.SYSTEM), {"home": choice.home}):
        principal = Principal(Role.SYSTEM, application_id=application_id)
        homes = await runner.run(homes_named, principal, {"home": choice.home, "user": choice.user})
        found += [one for one in homes if choice.application in (None, application_id, one.application_name)]
        if len(found) > MAX_HOMES:
            break
    if not found:
        narrowed = [f"application {choice.application!r}"] if choice.application else []
        narrowed += [f"user {choice.user!r}"] if choice.user else []
        where = f" in {' and '.join(narrowed)}" if narrowed else ""
        raise NotFound(f"No active home has the name or ID {choice.home!r}{where}. Check the spelling and the options.")
    if len(found) > 1:
        homes = ", ".join(map(_describe, found[:MAX_HOMES]))
        raise BadInput(
            f"Several homes have the name {choice.home!r}: {homes}. Give the ID of one of them instead of the name, or "
            "narrow them with --application or --user."
        )
    return found[0].home


async def resources_of_home(runner: Runner, home: VirtualEntity, choice: HomeChoice) -> HomeResources:
    """Return the resources of a home that the options select. Raise BadInput if there are none."""
    principal = Principal(Role.SYSTEM, application_id=home.application_id)
    edge = find_edge(types.VirtualEntity, "resources")
    ((*resources,),) = await runner.load(edge, principal, [home], {})
    if not resources:
        raise BadInput(f"Home {home.name!r} has no active resources. Add one before you import its readings.")
    selected: list[Resource] = [
        resource
        for resource in resources
        if choice.resource_id in (None, resource.resource_id)
        and (choice.meter is None or resource.classifier == choice.meter.value)
    ]
    if not selected:
        wanted = choice.resource_id or (choice.meter.value if choice.meter else "")
        known = ", ".join(f"{one.classifier} ({one.resource_id})" for one in resources if not one.cost_of) or "none"
        raise BadInput(f"Home {home.name!r} has no resource {wanted}. It has: {known}.")
    is_whole_home = len(selected) == len(resources)
    return HomeResources(f"{'' if is_whole_home else 'the selected part of '}home {home.name!r}", selected)


def _describe(found: NamedHome) -> str:
    return f"{found.home.ve_id} ({found.username or 'no account'}, application {found.application_name!r})"
