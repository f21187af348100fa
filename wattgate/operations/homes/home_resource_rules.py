"""The resources of homes: check which may join, and change which belong to a home."""

from collections.abc import Collection, Sequence

from sqlmodel import col

from wattgate.db.models import Resource, VirtualEntityResource
from wattgate.db.rows.rows import Rows
from wattgate.errors import Conflict, Problem


def closed_home_error(ve_id: str) -> Conflict:
    """Return the error for a change of the resources of a closed home."""
    return Conflict(f"Home {ve_id} is closed. Open it again with updateVirtualEntity and active: true.")


async def find_problems(
    rows: Rows, owner_id: str, resource_ids: Sequence[str], path: tuple[str, ...], joined: Collection[str] = ()
) -> list[Problem]:
    """Return a problem for each resource that may not join a home of a user.

    It must be one of the user. It must be open, unless it is in the home already.
    """
    known = await rows.get_many(Resource, resource_ids) if resource_ids else {}
    problems = []
    for resource_id in dict.fromkeys(resource_ids):
        resource = known.get(resource_id)
        if resource is None or resource.owner_id != owner_id:
            reason = "belongs to another user" if resource else "does not exist"
        elif not resource.active and resource_id not in joined:
            reason = "is closed"
        else:
            continue
        problems.append(Problem(path, f"{resource_id} {reason}"))
    return problems


async def load_resource_ids(rows: Rows, ve_id: str) -> set[str]:
    """Return the ids of the resources of a home, also of the closed ones."""
    links = await rows.all(VirtualEntityResource, col(VirtualEntityResource.ve_id) == ve_id)
    return {link.resource_id for link in links}


async def add_resources(rows: Rows, ve_id: str, resource_ids: Collection[str]) -> None:
    """Add resources to a home. They may join it and are not in it."""
    for resource_id in resource_ids:
        await rows.add(VirtualEntityResource(ve_id=ve_id, resource_id=resource_id))


async def remove_resources(rows: Rows, ve_id: str, resource_ids: Collection[str]) -> None:
    """Remove resources from a home."""
    if resource_ids:
        await rows.delete(
            VirtualEntityResource,
            col(VirtualEntityResource.ve_id) == ve_id,
            col(VirtualEntityResource.resource_id).in_(resource_ids),
        )


async def replace_resources(rows: Rows, ve_id: str, resource_ids: Sequence[str], joined: Collection[str]) -> None:
    """Make these the resources of a home, instead of those that are in it. Closed resources stay in it.

    Lists omit closed resources, so a client that sends back what it has read does not name them.
    """
    present = await rows.get_many(Resource, joined) if joined else {}
    open_ids = {resource_id for resource_id, resource in present.items() if resource.active}
    await remove_resources(rows, ve_id, open_ids - set(resource_ids))
    await add_resources(rows, ve_id, [id_ for id_ in dict.fromkeys(resource_ids) if id_ not in joined])
