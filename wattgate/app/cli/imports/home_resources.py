"""Select the resources of a home that an import may fill."""

from wattgate.app.cli.imports.reading_targets import HomeResources
from wattgate.app.homes.home_selection import HomeChoice
from wattgate.db.models import Resource, VirtualEntity
from wattgate.errors import BadInput
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.homes import virtual_entities as types
from wattgate.principal import Principal, Role


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
