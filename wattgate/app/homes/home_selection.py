"""Find the home or the user that a command is for, by the name or ID."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from wattgate.app.homes.applications import list_accounts, list_homes, require_application
from wattgate.app.homes.named_records import MAX_COMPARED, unknown_name
from wattgate.db.models import Resource, User, VirtualEntity
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_messages import ELECTRICITY, EXPORT, GAS
from wattgate.errors import BadInput
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.credentials.login import find_account
from wattgate.operations.readings.files.file_targets import HomeResources
from wattgate.operations.readings.files.reading_imports import MAX_HOMES, NamedHome, applications_with_home, homes_named
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.principal import Permission, Principal, Role

LIST_HOMES = "wattgate home list"

MAX_COMPARED_APPLICATIONS = 10
"""Maximum applications with whose homes an unknown one is compared."""


class Meter(Enum):
    """The kinds of meters that an option selects; the values are classifiers."""

    ELECTRICITY = ELECTRICITY
    GAS = GAS
    EXPORT = EXPORT


@dataclass(frozen=True, slots=True)
class HomeChoice:
    """Which home a command is for: its name or ID, and how to narrow several of the same name.

    `application` is an ID or name, and `user` a username or user ID. `meter` and `resource_id` select a resource of the
    home.
    """

    home: str
    application: str | None = None
    user: str | None = None
    meter: Meter | None = None
    resource_id: str | None = None


async def find_home(runner: Runner, choice: HomeChoice) -> VirtualEntity:
    """Return the only home that is meant. Raise NotFound with near names, or BadInput if there are several."""
    found = list[NamedHome]()
    for application_id in await _find_applications(runner, choice):
        principal = Principal(Role.SYSTEM, application_id=application_id)
        found += await runner.run(homes_named, principal, {"home": choice.home, "user": choice.user})
        if len(found) > MAX_HOMES:
            break
    if not found:
        narrowed = [f"application {choice.application!r}"] if choice.application else []
        narrowed += [f"user {choice.user!r}"] if choice.user else []
        owner = f" of {' and '.join(narrowed)}" if narrowed else ""
        raise unknown_name(f"active home{owner}", choice.home, await _names_of_homes(runner, choice), LIST_HOMES)
    if len(found) > 1:
        homes = ", ".join(map(_describe, found[:MAX_HOMES]))
        raise BadInput(
            f"Several homes have the name {choice.home!r}: {homes}. Give the ID of one of them instead of the name, or "
            "narrow them with --application or --user."
        )
    return found[0].home


async def _find_applications(runner: Runner, choice: HomeChoice) -> Sequence[str]:
    """Return the IDs of the applications in which the home may be: that of the choice, else all that have the home."""
    if choice.application is None:
        found: list[str] = await runner.run(applications_with_home, Principal(Role.SYSTEM), {"home": choice.home})
        return found
    applications = await runner.list_applications()
    return [require_application(applications, choice.application).application_id]


async def _names_of_homes(runner: Runner, choice: HomeChoice) -> list[str]:
    """Return the names of homes that an unknown one is compared with: those of the first applications."""
    applications = await runner.list_applications()
    if choice.application is not None:
        applications = [require_application(applications, choice.application)]
    names = []
    for application in applications[:MAX_COMPARED_APPLICATIONS]:
        system = Principal(Role.SYSTEM, application_id=application.application_id)
        homes = await runner.read(system, Permission.SYSTEM, partial(list_homes, limit=MAX_COMPARED))
        names += [listed.home.name for listed in homes]
    return names


def _describe(found: NamedHome) -> str:
    return f"{found.home.ve_id} ({found.username or 'no account'}, application {found.application_name!r})"


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


async def find_user(rows: Rows, text: str) -> str | None:
    """Return the ID of the user with this username or ID, or None."""
    if text in await rows.get_many(User, [text]):
        return text
    account = await find_account(rows, text)
    return None if account is None else account.user_id


async def require_user(rows: Rows, text: str) -> str:
    """Return the ID of the user with this username or ID. Raise NotFound with the nearest usernames."""
    user_id = await find_user(rows, text)
    if user_id is None:
        usernames = [account.username for account in await list_accounts(rows, MAX_COMPARED)]
        raise unknown_name("user", text, usernames, "wattgate user list")
    return user_id
