"""Plans of moves: what changes hands when the next household moves in at a meter point, and what stays.

`services.moves` carries a plan out, and a preview shows it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries.tenancies import find_home_at
from wattgate.db.queries.virtual_entities import resources as resources_of_homes
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.operations.devices.device_records import check_new_owner
from wattgate.operations.tenancies.tenancies import count_withdrawn
from wattgate.operations.tenancies.tenancy_plans import TenancyPlan, is_at, plan_tenancy, tenancies_at
from wattgate.principal import Principal


@dataclass(frozen=True, slots=True)
class NextHome:
    """The home of the next user that the new resources join: an open one of the user, or else a new one."""

    name: str
    home: models.VirtualEntity | None = None
    ve_type_id: str | None = None
    time_zone: str | None = None


@dataclass(frozen=True, slots=True)
class MovePlan:
    """The changes of a move to a user.

    `leaving` are the resources that close for good; each type of an open one gets a successor. `rules` are the enabled
    alert rules of these, which are disabled. `devices` move, and `remaining` stay with the former user although they
    measure the meter point. `withdrawn` is the number of readings that are deleted. `tenancy` is None for a resource
    without a meter point, and `home` if the successors join no home.
    """

    user_id: str
    leaving: Sequence[models.Resource]
    rules: Sequence[models.AlertRule]
    tenancy: TenancyPlan | None = None
    devices: Sequence[models.Device] = ()
    remaining: Sequence[models.Device] = ()
    home: NextHome | None = None
    withdrawn: int = 0


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A move to plan. Without `device_ids`, the devices that measure the meter point move.

    A user with `is_new_user` need not exist yet.
    """

    mpxn: str
    user_id: str
    moved_in_at: datetime | None = None
    device_ids: Collection[str] | None = None
    home_name: str | None = None
    is_new_user: bool = False


async def plan_resource_move(
    rows: Rows, principal: Principal, resource: models.Resource, user_id: str, moved_in_at: datetime | None
) -> MovePlan:
    """Return the plan of the move of a resource, with all others of its owner at its meter point, to a user."""
    leaving = await _resources_that_leave(rows, resource)
    rules = await _enabled_rules(rows, leaving)
    if resource.mpxn is None:
        if moved_in_at is not None:
            problem = Problem(("movedInAt",), "the resource has no meter point")
            raise BadInput("Nobody moves in without a meter point. See `problems`.", problems=[problem])
        return MovePlan(user_id, leaving, rules)
    at = rows.now if moved_in_at is None else moved_in_at
    tenancy = await plan_tenancy(rows, principal, user_id, resource.mpxn, at, ["movedInAt"])
    return MovePlan(user_id, leaving, rules, tenancy)


async def plan_meter_point_move(rows: Rows, principal: Principal, request: MoveRequest) -> MovePlan:
    """Return the plan of a move. Raise NotFound if the application does not know the meter point.

    Raise BadInput if the user is unknown or not active. Raise Conflict if the user lives there already, or if nobody
    lives there with an open resource.
    """
    former = await _find_former(rows, canonical_meter_point(request.mpxn), request.user_id)
    if not request.is_new_user:
        await check_new_owner(rows, request.user_id)
    first = await rows.first(
        models.Resource,
        col(models.Resource.owner_id) == former.user_id,
        col(models.Resource.active).is_(True),
        col(models.Resource.cost_of).is_(None),
        is_at(former.mpxn),
        order_by=[models.Resource.number],
    )
    if first is None:
        raise Conflict(
            f"The user who lives at meter point {former.mpxn} has no open resource there. Add one for the next user "
            "with createResource and movedInAt."
        )
    plan = await plan_resource_move(rows, principal, first, request.user_id, request.moved_in_at)
    assert plan.tenancy is not None  # the resource has a meter point
    measuring = await _measuring_devices(rows, plan, former)
    devices = measuring if request.device_ids is None else await _chosen_devices(rows, former, request.device_ids)
    moving_ids = {device.device_id for device in devices}
    return MovePlan(
        plan.user_id,
        plan.leaving,
        plan.rules,
        plan.tenancy,
        devices,
        [device for device in measuring if device.device_id not in moving_ids],
        None if request.home_name is None else await _plan_home(rows, request.home_name, plan, former.user_id),
        await count_withdrawn(rows, plan.tenancy),
    )


async def _find_former(rows: Rows, number: str, user_id: str) -> models.MeterPointTenancy:
    """Return the tenancy of the household that lives at a meter point, unless it is that of the next user."""
    known = await tenancies_at(rows, number)
    if not known:
        raise NotFound(
            f"No user lives at meter point {number}, or has lived there. Add a resource with createResource."
        )
    former = next((tenancy for tenancy in known if tenancy.ended_at is None), None)
    if former is None:
        raise Conflict(
            f"The last user has moved out at meter point {number} already. Add a resource for the next one with "
            "createResource, or set up a home with `wattgate home create`."
        )
    if former.user_id == user_id:
        raise Conflict(f"User {user_id} lives at meter point {number} already.")
    return former


async def _resources_that_leave(rows: Rows, named: models.Resource) -> list[models.Resource]:
    """Return the resources that leave with a named one, which is the first: those at its meter point, with their costs.

    Closed resources at the meter point leave as well, so that they cannot be opened again. `createResource` accepts
    costs only at the meter point of their energy or at none, so that all of them leave with it.
    """
    others = []
    if named.mpxn is not None:
        others = await rows.all(
            models.Resource,
            col(models.Resource.owner_id) == named.owner_id,
            col(models.Resource.resource_id) != named.resource_id,
            col(models.Resource.cost_of).is_(None),
            col(models.Resource.successor_id).is_(None),
            is_at(named.mpxn),
            order_by=[col(models.Resource.active).desc(), models.Resource.number],
        )
    ids = [named.resource_id, *(resource.resource_id for resource in others)]
    costs = await rows.all(
        models.Resource,
        col(models.Resource.cost_of).in_(ids),
        col(models.Resource.successor_id).is_(None),
        order_by=[col(models.Resource.active).desc(), models.Resource.number],
    )
    return [named, *others, *costs]


async def _enabled_rules(rows: Rows, leaving: Sequence[models.Resource]) -> list[models.AlertRule]:
    return await rows.all(
        models.AlertRule,
        col(models.AlertRule.resource_id).in_([resource.resource_id for resource in leaving]),
        col(models.AlertRule.enabled).is_(True),
        order_by=[models.AlertRule.rule_id],
    )


async def _measuring_devices(rows: Rows, plan: MovePlan, former: models.MeterPointTenancy) -> list[models.Device]:
    """Return the devices of the former household that measure the meter point.

    They feed its resources, have fed them until their owner pointed them elsewhere, or name it.
    """
    fed = [resource.resource_id for resource in plan.leaving]
    sensors = await rows.all(models.DeviceSensor, col(models.DeviceSensor.resource_id).in_(fed))
    feeding = {sensor.device_id for sensor in sensors}
    return [
        device
        for device in await _devices_of(rows, former)
        if device.device_id in feeding or former.mpxn in {*device.remains_at, *named_meter_points(device)}
    ]


async def _chosen_devices(
    rows: Rows, former: models.MeterPointTenancy, device_ids: Collection[str]
) -> list[models.Device]:
    """Return devices of the former household by their ids. Raise BadInput if one is not its own, or was removed."""
    known = {device.device_id: device for device in await _devices_of(rows, former)}
    problems = [
        Problem(("deviceIds", position), f"{device_id} is no active device of the user who lives at the meter point")
        for position, device_id in enumerate(device_ids)
        if device_id not in known
    ]
    if problems:
        raise BadInput("Invalid devices. See `problems`.", problems=problems)
    return [device for device_id, device in known.items() if device_id in device_ids]


async def _devices_of(rows: Rows, former: models.MeterPointTenancy) -> list[models.Device]:
    return await rows.all(
        models.Device,
        col(models.Device.owner_id) == former.user_id,
        col(models.Device.active).is_(True),
        order_by=[models.Device.created_at, models.Device.device_id],
    )


def named_meter_points(device: models.Device) -> set[str]:
    """Return the numbers of the meter points that the identifiers of a device name."""
    texts = (device.hardware_ids.mpan, device.hardware_ids.mprn)
    return {canonical_meter_point(text) for text in texts if text}


async def _plan_home(rows: Rows, name: str, plan: MovePlan, former_id: str) -> NextHome:
    """Return the home that the successors join. A new one has the type and time zone of that of the former user.

    Raise Conflict if the user has several homes of the name, or one with open resources at another meter point.
    """
    home = models.VirtualEntity
    own = await rows.all(
        home, col(home.owner_id) == plan.user_id, col(home.name) == name, col(home.active).is_(True), limit=2
    )
    if len(own) > 1:
        raise Conflict(f"User {plan.user_id} has several homes with the name {name!r}. Give another name for the home.")
    if own:
        (joined,) = await resources_of_homes(rows, own)
        number = canonical_meter_point(plan.leaving[0].mpxn or "")
        others = {resource.mpxn for resource in joined if resource.active and resource.mpxn}
        if any(canonical_meter_point(other) != number for other in others):
            raise Conflict(
                f"The home {name!r} of user {plan.user_id} has resources at another meter point: "
                f"{', '.join(sorted(others))}. Give another name for the home."
            )
        return NextHome(name, own[0])
    former_home = await find_home_at(rows, former_id, plan.leaving[0].mpxn or "")
    if former_home is not None:
        return NextHome(name, None, former_home.ve_type_id, former_home.time_zone)
    home_type = await rows.first(
        models.VirtualEntityType,
        col(models.VirtualEntityType.active).is_(True),
        order_by=[models.VirtualEntityType.created_at, models.VirtualEntityType.ve_type_id],
    )
    if home_type is None:
        raise Conflict("The application has no type of homes. Add one with createHomeType, or give no home name.")
    return NextHome(name, None, home_type.ve_type_id)
