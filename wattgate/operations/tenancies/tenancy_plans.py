"""Plans of tenancies: what changes when a household lives at a meter point, decided before anything is written.

`services.tenancies` carries plans out, and a preview of a move shows them. So a preview cannot differ from the move.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sqlalchemy import ColumnElement, and_, or_
from sqlmodel import col

from wattgate.clock import EPOCH, format_iso
from wattgate.db import models
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_points import canonical_meter_point, meter_point_spellings
from wattgate.errors import BadInput, Conflict, Problem
from wattgate.principal import Principal


class TenancyChange(Enum):
    """How the tenancy of the household changes: it continues, with a corrected start or opened again, or it begins."""

    NONE = "NONE"
    CORRECTED = "CORRECTED"
    REOPENED = "REOPENED"
    BEGUN = "BEGUN"


@dataclass(frozen=True, slots=True)
class Departure:
    """The records of a former household at its meter point, which end because the next one moves in.

    `resources` are all there, also closed ones, and `devices` those that feed them or have fed them. `consents` are
    those that have not ended, and `enrolments` the active ones for flexibility.
    """

    tenancy: models.MeterPointTenancy
    resources: Sequence[models.Resource]
    devices: Sequence[models.Device]
    consents: Sequence[models.MeterPointConsent]
    enrolments: Sequence[models.DfsUser]


@dataclass(frozen=True, slots=True)
class EndingTenancy:
    """A tenancy that ends at an instant before or at which it has ended already, and resources of its household.

    Their readings from that instant on are deleted.
    """

    tenancy: models.MeterPointTenancy
    resources: Sequence[models.Resource]


@dataclass(frozen=True, slots=True)
class TenancyPlan:
    """The changes that let the household of a user live at a meter point from `began_at` on; None if it always has.

    `tenancy` is the one that continues, unless one begins. The tenancies of `ending` end at `began_at`.
    """

    number: str
    user_id: str
    began_at: datetime | None
    change: TenancyChange
    tenancy: models.MeterPointTenancy | None = None
    ending: Sequence[EndingTenancy] = ()
    departure: Departure | None = None


def is_at(mpxn: str) -> ColumnElement[bool]:
    """Return the condition of resources at a meter point, in any spelling."""
    return col(models.Resource.mpxn).in_(meter_point_spellings(canonical_meter_point(mpxn)))


async def tenancies_at(rows: Rows, number: str) -> list[models.MeterPointTenancy]:
    """Return all tenancies of a meter point, also of other users."""
    with rows.whole_application() as all_rows:
        return await all_rows.all(models.MeterPointTenancy, col(models.MeterPointTenancy.mpxn) == number)


async def plan_tenancy(
    rows: Rows, principal: Principal, user_id: str, mpxn: str, moved_in_at: datetime | None, path: Sequence[str]
) -> TenancyPlan:
    """Return the changes that let the household of a user live at a meter point, as `begin_tenancy` describes them.

    Raise Conflict or BadInput as `begin_tenancy` does.
    """
    number = canonical_meter_point(mpxn)
    _check_not_future(rows.now, moved_in_at, path)
    known = await tenancies_at(rows, number)
    lives_there = next((tenancy for tenancy in known if tenancy.ended_at is None), None)
    if lives_there is not None and lives_there.user_id == user_id:
        if moved_in_at is None or moved_in_at == lives_there.began_at:
            return TenancyPlan(number, user_id, lives_there.began_at, TenancyChange.NONE, lives_there)
        ending = await _corrected_ends(rows, lives_there, known, moved_in_at)
        return TenancyPlan(number, user_id, moved_in_at, TenancyChange.CORRECTED, lives_there, ending)
    if lives_there is not None and moved_in_at is None and not await _is_erased(rows, lives_there.user_id):
        raise Conflict(
            f"Another user of the application lives at meter point {number}. Move it with moveResource, or give "
            "movedInAt: the instant from which this user lives there."
        )
    last = lives_there or max(known, key=lambda one: (one.began_at or EPOCH, one.ended_at or rows.now), default=None)
    if last is not None and _continues(last, user_id, moved_in_at):
        return TenancyPlan(number, user_id, last.began_at, TenancyChange.REOPENED, last)
    if last is not None and last.user_id != user_id and principal.sees_own_records_only:
        raise Conflict(
            f"Another user has lived at meter point {number}. Ask the provider of the application to open the "
            "resource again."
        )
    ending = await _load_ending(rows, user_id, _ending(known, moved_in_at or rows.now, rows.now))
    with rows.whole_application() as all_rows:
        departure = await load_departure(all_rows, last) if last is not None and last.user_id != user_id else None
    began_at = moved_in_at if moved_in_at is not None or last is None else rows.now
    return TenancyPlan(number, user_id, began_at, TenancyChange.BEGUN, None, ending, departure)


async def _is_erased(rows: Rows, user_id: str) -> bool:
    """Return whether a user who lives at a meter point is one that a restore has lost, so that the next begins now."""
    with rows.whole_application() as all_rows:
        return (await all_rows.get(models.User, user_id)).erased_at is not None


def _check_not_future(now: datetime, moved_in_at: datetime | None, path: Sequence[str]) -> None:
    if moved_in_at is not None and moved_in_at > now:
        problem = Problem(tuple(path), f"{format_iso(moved_in_at)} is in the future")
        raise BadInput("A move is recorded on its day, or after it. See `problems`.", problems=[problem])


async def _corrected_ends(
    rows: Rows,
    tenancy: models.MeterPointTenancy,
    known: Collection[models.MeterPointTenancy],
    moved_in_at: datetime,
) -> list[EndingTenancy]:
    """Return the tenancies whose ends move with the corrected start of the present one.

    These are those before a start in the future, which a wrong clock has recorded. Raise Conflict if another household
    lived there at the corrected start.
    """
    others = [other for other in known if other.tenancy_id != tenancy.tenancy_id]
    if tenancy.began_at is not None and tenancy.began_at > rows.now:
        return await _load_ending(rows, tenancy.user_id, _ending(others, moved_in_at, rows.now))
    _check_vacant(tenancy, others, moved_in_at)
    return []


async def _load_ending(rows: Rows, user_id: str, ending: Collection[models.MeterPointTenancy]) -> list[EndingTenancy]:
    """Return tenancies that end, with the resources whose later readings are not the own ones of the household."""
    with rows.whole_application() as all_rows:
        return [
            EndingTenancy(former, [] if former.user_id == user_id else await _resources_of(all_rows, former))
            for former in ending
        ]


def _check_vacant(
    tenancy: models.MeterPointTenancy, others: Collection[models.MeterPointTenancy], moved_in_at: datetime
) -> None:
    """Raise Conflict if another household lived there at the corrected start of a tenancy."""
    for other in others:
        if other.ended_at is None or other.ended_at > moved_in_at:
            raise Conflict(
                f"Another household lived at meter point {tenancy.mpxn} at {format_iso(moved_in_at)}. Give a later "
                "instant as movedInAt."
            )


def _continues(last: models.MeterPointTenancy, user_id: str, moved_in_at: datetime | None) -> bool:
    """Return whether a user who lives at a meter point again continues the last tenancy, which has ended."""
    if last.user_id != user_id or last.ended_at is None:
        return False
    return moved_in_at is None or moved_in_at <= last.ended_at


def _ending(
    known: Collection[models.MeterPointTenancy], moved_in_at: datetime, now: datetime
) -> list[models.MeterPointTenancy]:
    """Return the tenancies that end when a user moves in. Raise Conflict if one began after that.

    One that begins in the future, by a clock that was wrong, has not begun: it ends without any time.
    """
    ending = []
    for former in known:
        if former.ended_at is not None and former.ended_at <= moved_in_at:
            continue
        if former.began_at is not None and moved_in_at < former.began_at <= now:
            raise Conflict(
                f"The household before moved in at meter point {former.mpxn} at {format_iso(former.began_at)}. Give a "
                "later instant as movedInAt."
            )
        ending.append(former)
    return ending


async def load_departure(rows: Rows, tenancy: models.MeterPointTenancy) -> Departure:
    """Return what a household has at its meter point. `rows` are those of the whole application."""
    resources = await _resources_of(rows, tenancy)
    fed = [resource.resource_id for resource in resources]
    sensors = await rows.all(models.DeviceSensor, col(models.DeviceSensor.resource_id).in_(fed))
    feeding = {sensor.device_id for sensor in sensors}
    feeds = col(models.Device.device_id).in_(feeding)
    was_pointed_elsewhere = and_(
        col(models.Device.owner_id) == tenancy.user_id, col(models.Device.remains_at).is_not(None)
    )
    found = await rows.all(
        models.Device,
        or_(feeds, was_pointed_elsewhere),
        col(models.Device.active).is_(True),
        order_by=[models.Device.created_at, models.Device.device_id],
    )
    devices = [one for one in found if one.device_id in feeding or tenancy.mpxn in one.remains_at]
    consents = await rows.all(
        models.MeterPointConsent,
        col(models.MeterPointConsent.user_id) == tenancy.user_id,
        col(models.MeterPointConsent.mpxn) == tenancy.mpxn,
        col(models.MeterPointConsent.ended_at).is_(None),
    )
    enrolments = await rows.all(
        models.DfsUser,
        col(models.DfsUser.user_id) == tenancy.user_id,
        col(models.DfsUser.mpxn) == tenancy.mpxn,
        col(models.DfsUser.active).is_(True),
        order_by=[models.DfsUser.dfs_user_id],
    )
    return Departure(tenancy, resources, devices, consents, enrolments)


async def _resources_of(rows: Rows, tenancy: models.MeterPointTenancy) -> list[models.Resource]:
    """Return the resources of a household at its meter point, also the closed ones."""
    return await rows.all(
        models.Resource, col(models.Resource.owner_id) == tenancy.user_id, is_at(tenancy.mpxn), order_by=["number"]
    )
