"""Carry out `wattgate move`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import typer
from sqlmodel import col

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import system_of, with_current_gateway
from wattgate.app.cli.passwords import PasswordChoice
from wattgate.app.cli.record_lists import print_records
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.homes.home_selection import find_user
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.app.workers.user_jobs import list_all_tenancies
from wattgate.clock import format_iso, from_ms
from wattgate.db import models
from wattgate.db.personal_data.erasure_check import verify_erasures
from wattgate.db.personal_data.erasure_list import ErasureList
from wattgate.db.queries.displays import DEFAULT_ZONE
from wattgate.db.queries.tenancies import find_home_at
from wattgate.db.rows.rows import Rows
from wattgate.delivery.mail_addresses import NotMailable, check_address
from wattgate.energy.local_times import LocalTimes
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Conflict, NotFound, Problem
from wattgate.operations.credentials.login import normalize_username
from wattgate.operations.devices.device_records import find_by_any_id
from wattgate.operations.moves import meter_point_moves
from wattgate.operations.tenancies.tenancy_plans import tenancies_at
from wattgate.operations.types.homes.meter_points import MeterPointMove
from wattgate.principal import Permission, Principal
from wattgate.time_zones import time_zone_problem

# Find the user who moves in, and parse the instant of a move, for the command line.


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """The user who moves in, None if unknown, and the time zone of the home at the meter point.

    `former` is the username of the user who lives there, or the ID if there is no account. `device_ids` are the devices
    that move, or None for those that measure the meter point.
    """

    user_id: str | None
    time_zone: str
    former: str
    device_ids: list[str] | None


async def find_move_target(rows: Rows, mpxn: str, user: str, devices: list[str] | None) -> MoveTarget:
    """Return the user with this username or ID, the time zone of the home at a meter point, and the devices."""
    user_id = await find_user(rows, user)
    number = canonical_meter_point(mpxn)
    former = next((tenancy for tenancy in await tenancies_at(rows, number) if tenancy.ended_at is None), None)
    found = None if former is None else await find_home_at(rows, former.user_id, number)
    zone = found.time_zone if found is not None and found.time_zone else DEFAULT_ZONE
    device_ids = None if devices is None else [await _find_device_id(rows, device) for device in devices]
    return MoveTarget(user_id, zone, "" if former is None else await _name_of(rows, former.user_id), device_ids)


async def _find_device_id(rows: Rows, text: str) -> str:
    """Return the ID of the device with this ID, hardware ID or other identifier. Raise NotFound if there is none."""
    if text in await rows.get_many(models.Device, [text]):
        return text
    device = await find_by_any_id(rows, text)
    if device is None:
        raise NotFound(f"No device has the ID or hardware ID {text!r}. Use --dry-run without --device to list them.")
    return device.device_id


async def _name_of(rows: Rows, user_id: str) -> str:
    account = await rows.first(
        models.Account, col(models.Account.user_id) == user_id, order_by=[models.Account.created_at]
    )
    return user_id if account is None else account.username


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


# Carry out `wattgate move`.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    mpxn: str
    user: str
    application: str | None
    new_user: bool
    moved_in: str | None
    time_zone: str | None
    devices: list[str] | None
    home: str
    dry_run: bool
    yes: bool
    as_json: bool


def move(
    *,
    mpxn: str,
    user: str,
    application: str | None,
    new_user: bool,
    moved_in: str | None,
    time_zone: str | None,
    device: list[str] | None,
    keep_devices: bool,
    home: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Move a meter point to the user who moves in."""
    options = _Options(
        mpxn=mpxn,
        user=user.strip(),
        application=application,
        new_user=new_user,
        moved_in=moved_in,
        time_zone=time_zone,
        devices=[] if keep_devices else device or None,
        home=home.strip(),
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
    )
    if problems := _option_problems(options, has_device=bool(device), keep_devices=keep_devices):
        raise BadInput("The move is not possible. Nothing was changed.", problems=problems)
    settings = Settings()
    erasure_list = open_erasure_list(settings)
    run_async(with_current_gateway(settings, partial(_move, options=options, erasure_list=erasure_list)))


def _option_problems(options: _Options, *, has_device: bool, keep_devices: bool) -> list[Problem]:
    problems = []
    if options.time_zone is not None and (reason := time_zone_problem(options.time_zone)):
        problems.append(Problem(("--time-zone",), reason))
    if has_device and keep_devices:
        problems.append(Problem(("--keep-devices",), "cannot be used with --device"))
    if not options.home:
        problems.append(Problem(("--home",), "is empty"))
    if options.new_user:
        try:
            check_address(options.user)
        except NotMailable as error:
            problems.append(Problem(("--user",), f"{options.user!r} {error}. Give an e-mail address"))
    return problems


async def _move(gateway: Components, *, options: _Options, erasure_list: ErasureList | None) -> None:
    """Show what the move would change, ask for confirmation, and make it. Add it to the list of erasures."""
    await verify_erasures(gateway.database, erasure_list)
    system = await system_of(gateway.runner, options.application)
    target = await gateway.runner.read(
        system,
        Permission.SYSTEM,
        partial(find_move_target, mpxn=options.mpxn, user=options.user, devices=options.devices),
    )
    arguments = _build_arguments(target, options)
    operations = (
        (meter_point_moves.new_user_move, meter_point_moves.move_in_new_user)
        if options.new_user
        else (meter_point_moves.meter_point_move, meter_point_moves.move_meter_point)
    )
    preview: MeterPointMove = await gateway.runner.run(operations[0], system, arguments)
    if options.dry_run:
        _print_move(preview, options, target, {})
        return
    if not options.yes:
        err.print(_summary(preview, options, target), markup=False, highlight=False, soft_wrap=True)
        print_records(_records(preview), len(_records(preview)), as_json=False, console=err)
        typer.confirm("Move the meter point? This cannot be undone.", abort=True, err=True)
    secrets: dict[str, str] = {}
    if options.new_user:
        password = PasswordChoice(options.user)
        arguments |= {"username": options.user, "password": password()}
        secrets = {} if password.generated is None else {"password": password.generated}
    withdrawn = await _withdraw_in_pieces(gateway, system, arguments)
    moved: MeterPointMove = await gateway.runner.run(operations[1], system, arguments)
    moved.withdrawn_readings += withdrawn
    _print_move(moved, options, target, secrets)
    if erasure_list is not None:
        await list_all_tenancies(gateway.runner, erasure_list)


async def _withdraw_in_pieces(gateway: Components, system: Principal, arguments: dict[str, Any]) -> int:
    """Delete the readings of a late move that one transaction must not delete. Return their number.

    An interrupted command has deleted the newest ones, and the next one continues.
    """
    if arguments["moved_in_at"] is None:
        return 0
    selected: dict[str, Any] = {
        name: arguments[name] for name in ("mpxn", "moved_in_at", "user_id") if name in arguments
    }
    total = 0
    while count := await gateway.runner.run(meter_point_moves.withdraw_before_move, system, selected):
        total += count
    return total


def _build_arguments(target: MoveTarget, options: _Options) -> dict[str, Any]:
    """Return the arguments of the operations. Raise an error if the user is unknown, or known although it is new."""
    if target.user_id is None and not options.new_user:
        raise NotFound(
            f"No user has the name or ID {options.user!r}. List the users with `wattgate user list`, or create one "
            "with --new-user."
        )
    if target.user_id is not None and options.new_user:
        raise Conflict(f"The user {normalize_username(options.user)} exists already. Leave out --new-user.")
    zone = options.time_zone or target.time_zone
    return {
        "mpxn": options.mpxn,
        "moved_in_at": None if options.moved_in is None else parse_moved_in(options.moved_in, zone),
        "device_ids": target.device_ids,
        "home_name": options.home,
        **({} if options.new_user else {"user_id": target.user_id}),
    }


def _print_move(move: MeterPointMove, options: _Options, target: MoveTarget, secrets: Mapping[str, str]) -> None:
    if options.as_json:
        members = {to_camel_case(name): value for name, value in asdict(move).items()}
        for name in ("resources", "devices"):
            members[name] = [{to_camel_case(key): value for key, value in one.items()} for one in members[name]]
        members["movedInAt"] = format_iso(move.moved_in_at)
        if options.dry_run and options.new_user:
            members["userId"] = None
        out.print_json(data={"dryRun": options.dry_run, **members, "secrets": dict(secrets)})
        return
    lead = "Dry run: nothing is changed.\n" if options.dry_run else ""
    out.print(lead + _summary(move, options, target), markup=False, highlight=False, soft_wrap=True)
    print_records(_records(move), len(_records(move)), as_json=False)
    if "password" in secrets:
        out.print(
            f"\nShown only once:\n  Password of {options.user}: {secrets['password']}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _summary(move: MeterPointMove, options: _Options, target: MoveTarget) -> str:
    lines = (
        ("Meter point", move.mpxn),
        ("Moves out", f"{target.former} ({move.former_user_id})"),
        ("Moves in", f"{options.user} (new user)" if options.new_user else f"{options.user} ({move.user_id})"),
        ("Since", format_iso(move.moved_in_at)),
        ("Readings deleted", f"{move.withdrawn_readings:,}"),
    )
    return "\n".join(f"{label:<16} {value}" for label, value in lines)


def _records(move: MeterPointMove) -> list[dict[str, Any]]:
    """Return a line for each record that the move changes, and for each device that stays."""
    lines: list[tuple[str, str, str | None, str | None]] = []
    for resource in move.resources:
        effect = "closed; new one for the next user" if resource.active else "stays closed"
        lines.append((effect, f"resource {resource.classifier}", resource.resource_id, resource.successor_id))
    for device in move.devices:
        effect = "moves" if device.moves else "stays with the former user"
        lines.append((effect, f"device {device.hardware_id}", device.device_id, device.successor_id))
    lines += [("disabled", "alert rule", rule_id, None) for rule_id in move.disabled_alert_rule_ids]
    lines += [("ends", "enrolment for flexibility", key, None) for key in move.ended_enrolment_ids]
    if move.ended_consent:
        lines.append(("ends", "consent of the former user", None, None))
    lines.append(("gets the new resources", f"home {move.home_name}", None, move.ve_id))
    return [
        {"effect": effect, "record": record, "ID": key, "next user": successor}
        for effect, record, key, successor in lines
    ]
