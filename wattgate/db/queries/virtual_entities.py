"""Batch loaders from virtual entities: one result for each entity, with one statement for all."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlmodel import col

from wattgate.db.identity.credential_states import accepts_applications
from wattgate.db.models import (
    Device,
    HomeMember,
    Resource,
    User,
    VirtualEntity,
    VirtualEntityResource,
    VirtualEntityType,
)
from wattgate.db.queries.devices import devices_of_resources
from wattgate.db.rows.lookups import Lookup
from wattgate.db.rows.rows import Rows
from wattgate.enums import HomeMemberEnd, HomeMemberState

ACTIVE_RESOURCES = Lookup(
    Resource,
    "ve_id",
    via=VirtualEntityResource,
    where=(col(Resource.active).is_(True),),
    order_by=(col(Resource.name), col(Resource.resource_id)),
)


async def resources(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[list[Resource]]:
    """Return the active resources of each virtual entity, sorted by name."""
    by_entity: dict[str, list[Resource]] = {entity.ve_id: [] for entity in virtual_entities}
    for ve_id, resource in await rows.find_linked(ACTIVE_RESOURCES, by_entity):
        by_entity[ve_id].append(resource)
    return [by_entity[entity.ve_id] for entity in virtual_entities]


async def time_zones(rows: Rows, resource_id: str) -> list[str]:
    """Return the time zones of the open homes with a resource, without repetitions."""
    links = await rows.all(VirtualEntityResource, col(VirtualEntityResource.resource_id) == resource_id)
    homes = await rows.get_many(VirtualEntity, [link.ve_id for link in links])
    return sorted({home.time_zone for home in homes.values() if home.active and home.time_zone})


async def devices(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[list[Device]]:
    """Return the active devices that feed the active resources of each virtual entity, oldest first."""
    resources_by_entity = await resources(rows, virtual_entities)
    unique = {resource.resource_id: resource for owned in resources_by_entity for resource in owned}
    feeding = await devices_of_resources(rows, list(unique.values()))
    device_by_resource = dict(zip(unique, feeding, strict=True))
    results = []
    for owned in resources_by_entity:
        found = [device for resource in owned if (device := device_by_resource[resource.resource_id]) is not None]
        by_id = {device.device_id: device for device in found}
        results.append(sorted(by_id.values(), key=lambda device: (device.created_at, device.device_id)))
    return results


async def types(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[VirtualEntityType]:
    """Return the type of each virtual entity."""
    types_by_id = await rows.get_many(VirtualEntityType, (entity.ve_type_id for entity in virtual_entities))
    return [types_by_id[entity.ve_type_id] for entity in virtual_entities]


# Other people who may read a home.


class ListedMember(msgspec.Struct, gc=False):
    """A person whom the owner has invited to a home, as its list shows it."""

    member_id: str
    ve_id: str
    name: str
    state: HomeMemberState
    member_user_id: str | None
    email: str | None
    created_at: datetime
    expires_at: datetime
    joined_at: datetime | None
    ended_at: datetime | None
    end_reason: HomeMemberEnd | None


class SharedHome(msgspec.Struct, gc=False):
    """A home of another user that a user may read."""

    member_id: str
    ve_id: str
    name: str
    joined_at: datetime


def state_of(member: HomeMember, now: datetime) -> HomeMemberState:
    """Return the state of an access to a home at an instant."""
    if member.ended_at is not None:
        return HomeMemberState.ENDED
    if member.joined_at is not None:
        return HomeMemberState.JOINED
    return HomeMemberState.INVITED if member.expires_at > now else HomeMemberState.EXPIRED


def listed_member(member: HomeMember, now: datetime) -> ListedMember:
    """Return a member as the list of its home shows it."""
    return ListedMember(
        member_id=member.member_id,
        ve_id=member.ve_id,
        name=member.name,
        state=state_of(member, now),
        member_user_id=member.member_user_id,
        email=member.email,
        created_at=member.created_at,
        expires_at=member.expires_at,
        joined_at=member.joined_at,
        ended_at=member.ended_at,
        end_reason=member.end_reason,
    )


async def members(rows: Rows, virtual_entities: Sequence[VirtualEntity]) -> list[list[ListedMember]]:
    """Return the members and the invitations of each home, oldest first, for its owner.

    A member of the home sees only its present members. The address of an invitation is removed when it is accepted.
    """
    ve_ids = [entity.ve_id for entity in virtual_entities]
    found = await rows.all(
        HomeMember, col(HomeMember.ve_id).in_(ve_ids), order_by=[HomeMember.created_at, HomeMember.member_id]
    )
    by_home = defaultdict[str, list[ListedMember]](list)
    for member in found:
        if rows.ve_id is None or state_of(member, rows.now) is HomeMemberState.JOINED:
            by_home[member.ve_id].append(listed_member(member, rows.now))
    return [by_home[ve_id] for ve_id in ve_ids]


async def shared_homes(rows: Rows, users: Sequence[Any]) -> list[list[SharedHome]]:
    """Return the homes of others that each user may read, oldest access first."""
    with rows.whole_application() as all_rows:
        return [await shared_homes_of(all_rows, user.user_id) for user in users]


async def shared_homes_of(rows: Rows, user_id: str, ve_id: str | None = None) -> list[SharedHome]:
    """Return the homes of others that a user may read, or only one of them. `rows` are those of the application.

    They are those that the header `sharedHomeId` may name: see `is_open_membership`.
    """
    of_user = [col(HomeMember.member_user_id) == user_id, col(HomeMember.ended_at).is_(None)]
    of_home = [] if ve_id is None else [col(HomeMember.ve_id) == ve_id]
    accesses = await rows.all(HomeMember, *of_user, *of_home, order_by=[HomeMember.joined_at, HomeMember.member_id])
    if not accesses:
        return []
    homes = await rows.get_many(VirtualEntity, {access.ve_id for access in accesses})
    is_owner = col(User.user_id).in_({access.user_id for access in accesses})
    present = {owner.user_id for owner in await rows.all(User, is_owner, accepts_applications())}
    return [
        SharedHome(access.member_id, access.ve_id, home.name, access.joined_at)
        for access in accesses
        if access.joined_at is not None
        and (home := homes[access.ve_id]).active
        and home.owner_id == access.user_id
        and access.user_id in present
    ]
