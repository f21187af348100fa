"""Moves: the next household moves in at a meter point, with all that belongs to it, and previews of moves."""

from datetime import datetime
from typing import Annotated, NotRequired, TypedDict, Unpack

from wattgate.db.column_types import new_id
from wattgate.errors import Conflict, QuotaExceeded
from wattgate.operations.accounts.provisioning import add_user
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.devices.device_records import lock_new_owner
from wattgate.operations.devices.meter_points import parse_path_meter_point
from wattgate.operations.moves.move_plans import MovePlan, MoveRequest, plan_meter_point_move
from wattgate.operations.moves.moves import Moved, carry_out_move
from wattgate.operations.tenancies.tenancies import lock_tenancies, withdraw_newest
from wattgate.operations.types.homes import meter_points as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described


class MoveArguments(TypedDict):
    """The arguments of a move to a user, and of its preview."""

    mpxn: ids.Mpxn
    user_id: Annotated[Id, Described("ID of the user who moves in.")]
    moved_in_at: NotRequired[
        Annotated[
            datetime,
            Described("When the user moves in, and the one before moves out. Not in the future. Default: now."),
        ]
        | None
    ]
    device_ids: NotRequired[
        Annotated[
            list[Id],
            Described("IDs of the devices of the former user that move. Default: those that measure the meter point."),
        ]
        | None
    ]
    home_name: NotRequired[
        Annotated[
            terms.Text200,
            Described(
                "Name of the home of the user that the new resources join. A new one has the type and time zone of "
                "the former user's home. Default: they join no home."
            ),
        ]
        | None
    ]


def _request_of(move: MoveArguments) -> MoveRequest:
    return MoveRequest(
        parse_path_meter_point(move["mpxn"]),
        move["user_id"],
        move.get("moved_in_at"),
        move.get("device_ids"),
        move.get("home_name"),
    )


@operation(
    OperationKind.QUERY,
    returns=types.MeterPointMove,
    needs=Permission.RESOURCE_MANAGE,
    rest=RestRoute("GET", "/resource/meter-point/{mpxn}/move", Tag.RESOURCES_AND_READINGS),
    raises=(Conflict,),
)
async def meter_point_move(call: Call, **move: Unpack[MoveArguments]) -> types.MeterPointMove:
    """Return what `moveMeterPoint` would change with the same arguments. Change nothing."""
    return describe_move(await plan_meter_point_move(call.rows, call.principal, _request_of(move)))


@operation(
    OperationKind.MUTATION,
    returns=types.MeterPointMove,
    needs=Permission.RESOURCE_MANAGE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/resource/meter-point/{mpxn}/move", Tag.RESOURCES_AND_READINGS),
    raises=(Conflict, QuotaExceeded),
)
async def move_meter_point(call: Call, **move: Unpack[MoveArguments]) -> types.MeterPointMove:
    """Move everything at a meter point from the user who lives there to another user of the application.

    It does what `moveResource` does, moves devices as `moveDevice` does, and lets the new resources join a home of the
    user. The query `meterPointMove` returns what would change.
    """
    return await carry_out_request(call, _request_of(move))


@operation(OperationKind.QUERY, returns=types.MeterPointMove, needs=Permission.SYSTEM)
async def new_user_move(
    call: Call,
    *,
    mpxn: Id,
    moved_in_at: datetime | None = None,
    device_ids: list[Id] | None = None,
    home_name: terms.Text200 | None = None,
) -> types.MeterPointMove:
    """Return what `move_in_new_user` would change. The ID of the user is one that no user has."""
    request = MoveRequest(parse_path_meter_point(mpxn), new_id(), moved_in_at, device_ids, home_name, is_new_user=True)
    return describe_move(await plan_meter_point_move(call.rows, call.principal, request))


@operation(OperationKind.MUTATION, returns=types.MeterPointMove, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def move_in_new_user(
    call: Call,
    *,
    username: terms.Address,
    password: terms.Secret,
    mpxn: Id,
    moved_in_at: datetime | None = None,
    device_ids: list[Id] | None = None,
    home_name: terms.Text200 | None = None,
) -> types.MeterPointMove:
    """Add a user with an account, and move everything at a meter point to this user."""
    account = await add_user(call, username, password)
    number = parse_path_meter_point(mpxn)
    return await carry_out_request(call, MoveRequest(number, account.user_id, moved_in_at, device_ids, home_name))


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def withdraw_before_move(call: Call, *, mpxn: Id, moved_in_at: datetime, user_id: Id | None = None) -> int:
    """Delete the newest readings that a move would delete, if they are too many for one transaction.

    Return their number. Call it until it returns 0, then move. Without a user, the move is that of a new one.
    """
    number = parse_path_meter_point(mpxn)
    await lock_tenancies(call, number)
    request = MoveRequest(number, user_id or new_id(), moved_in_at, is_new_user=user_id is None)
    plan = await plan_meter_point_move(call.rows, call.principal, request)
    assert plan.tenancy is not None  # the move of a meter point has a tenancy
    return await withdraw_newest(call, plan.tenancy)


async def carry_out_request(call: Call, request: MoveRequest) -> types.MeterPointMove:
    """Plan a move and carry it out. Return what it changed."""
    await lock_tenancies(call, request.mpxn)
    await lock_new_owner(call.rows, request.user_id)
    plan = await plan_meter_point_move(call.rows, call.principal, request)
    return describe_move(plan, await carry_out_move(call, plan))


def describe_move(plan: MovePlan, moved: Moved | None = None) -> types.MeterPointMove:
    """Return a plan as callers see it, with the new records if the plan was carried out."""
    assert plan.tenancy is not None
    assert plan.tenancy.began_at is not None  # the move of a meter point has an instant
    assert plan.tenancy.departure is not None  # somebody else lives there
    departure, new_resources = plan.tenancy.departure, moved.resources if moved else {}
    return types.MeterPointMove(
        mpxn=plan.tenancy.number,
        former_user_id=Id(departure.tenancy.user_id),
        user_id=Id(plan.user_id),
        moved_in_at=plan.tenancy.began_at,
        resources=[
            types.MovedResource(
                resource_id=Id(old.resource_id),
                resource_type_id=Id(old.resource_type_id),
                classifier=old.classifier,
                active=old.active,
                successor_id=_id_of(new.resource_id if (new := new_resources.get(old.resource_id)) else None),
            )
            for old in plan.leaving
        ],
        devices=_describe_devices(plan, moved),
        disabled_alert_rule_ids=[Id(rule.rule_id) for rule in plan.rules],
        ended_consent=bool(departure.consents),
        ended_enrolment_ids=[Id(enrolment.dfs_user_id) for enrolment in departure.enrolments],
        withdrawn_readings=plan.withdrawn,
        home_name=plan.home.name if plan.home else None,
        ve_id=_id_of(moved.ve_id if moved else _joined_home_id(plan)),
    )


def _describe_devices(plan: MovePlan, moved: Moved | None) -> list[types.MovedDevice]:
    new_devices = moved.devices if moved else {}
    moving = [
        types.MovedDevice(
            device_id=Id(old.device_id),
            hardware_id=old.hardware_id,
            moves=True,
            successor_id=_id_of(new.device_id if (new := new_devices.get(old.device_id)) else None),
        )
        for old in plan.devices
    ]
    remaining = [
        types.MovedDevice(device_id=Id(kept.device_id), hardware_id=kept.hardware_id, moves=False, successor_id=None)
        for kept in plan.remaining
    ]
    return [*moving, *remaining]


def _joined_home_id(plan: MovePlan) -> str | None:
    return None if plan.home is None or plan.home.home is None else plan.home.home.ve_id


def _id_of(text: str | None) -> Id | None:
    return None if text is None else Id(text)
