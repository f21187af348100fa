"""Find the user who moves in, and parse the instant of a move, for the command line."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlmodel import col

from wattgate.clock import format_iso, from_ms
from wattgate.db import models
from wattgate.db.queries.displays.displays import DEFAULT_ZONE
from wattgate.db.queries.tenancies import find_home_at
from wattgate.db.rows.rows import Rows
from wattgate.energy.local_times import LocalTimes
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.errors import BadInput, Problem
from wattgate.operations.credentials.login import find_account
from wattgate.operations.tenancies.tenancy_plans import tenancies_at


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """The user who moves in, None if unknown, and the time zone of the home at the meter point.

    `former` is the username of the user who lives there, or the ID if there is no account.
    """

    user_id: str | None
    time_zone: str
    former: str


async def find_move_target(rows: Rows, mpxn: str, user: str) -> MoveTarget:
    """Return the user with this username or ID, and the time zone of the home at a meter point."""
    user_id = await _find_user_id(rows, user)
    number = canonical_meter_point(mpxn)
    former = next((tenancy for tenancy in await tenancies_at(rows, number) if tenancy.ended_at is None), None)
    found = None if former is None else await find_home_at(rows, former.user_id, number)
    zone = found.time_zone if found is not None and found.time_zone else DEFAULT_ZONE
    return MoveTarget(user_id, zone, "" if former is None else await _name_of(rows, former.user_id))


async def _name_of(rows: Rows, user_id: str) -> str:
    account = await rows.first(
        models.Account, col(models.Account.user_id) == user_id, order_by=[models.Account.created_at]
    )
    return user_id if account is None else account.username


async def _find_user_id(rows: Rows, text: str) -> str | None:
    if text in await rows.get_many(models.User, [text]):
        return text
    account = await find_account(rows, text)
    return None if account is None else account.user_id


def parse_moved_in(text: str, zone: str) -> datetime:
    """Return the instant of a date, a local time of a zone, or a time with an offset.

    Raise BadInput for another text, and for a local time that a clock change skips or repeats.
    """
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise _invalid(f"{text!r} is no date or time. Write 2026-03-01 or 2026-03-01T12:00") from None
    if given.tzinfo is not None:
        return given
    try:
        instants = [from_ms(at) for at in LocalTimes(ZoneInfo(zone)).instants(given)]
    except OverflowError:
        raise _invalid(f"{text!r} is out of range") from None
    if len(instants) == 1:
        return instants[0]
    if not instants:
        raise _invalid(f"{text!r} does not exist in {zone}: the clocks go forward over it. Give another time")
    choices = " or ".join(map(format_iso, instants))
    raise _invalid(f"{text!r} occurs twice in {zone}, because the clocks go back. Give {choices}")


def _invalid(reason: str) -> BadInput:
    return BadInput("Invalid time of the move. Nothing was changed.", problems=[Problem(("--moved-in",), reason)])
