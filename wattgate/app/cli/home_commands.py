"""Commands for homes: create one with all that it needs, list them, and show one."""

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from wattgate.app.cli import home_options as options
from wattgate.app.cli.gateway_context import (
    err,
    out,
    run_async,
    unreachable_database_reported,
    with_current_gateway,
    with_gateway,
)
from wattgate.app.cli.imports.line_reader import read_numbered_lines
from wattgate.app.cli.key_commands import require_keys
from wattgate.app.cli.passwords import PasswordChoice
from wattgate.app.cli.record_lists import (
    JsonOption,
    LimitOption,
    OptionalApplication,
    print_records,
    run_in_application,
    to_cell,
    to_text,
)
from wattgate.app.homes.home_selection import HomeChoice, find_home
from wattgate.app.homes.lists import (
    DEFAULT_LIMIT,
    ListedHome,
    ResourceDetails,
    list_homes,
    load_home_details,
    load_resource_details,
)
from wattgate.app.homes.request import CURRENCY, HomeOptions, HomeRequest, parse_options
from wattgate.app.homes.setup import HomeSetup, set_up_home
from wattgate.app.server.factory import Gateway
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.migrate import is_current, is_empty, upgrade
from wattgate.db.rows import Rows
from wattgate.errors import Conflict
from wattgate.principal import Permission, Principal, Role

home_app = typer.Typer(no_args_is_help=True, help="Set up and list homes.")

SAMPLE_FILE = "readings.csv"
"""The name of the file of readings in the next commands."""


@home_app.command("create")
def home_create(
    application: options.Application,
    user: options.User,
    name: options.Name,
    time_zone: options.TimeZone,
    electricity: options.Electricity,
    gas: options.Gas = None,
    export: options.Export = None,
    live: options.Live = False,
    unit_rate: options.UnitRate = None,
    standing_charge: options.StandingCharge = None,
    tariff: options.TariffFile = None,
    currency: options.Currency = CURRENCY,
    as_json: JsonOption = False,
) -> None:
    """Set up a home: create the database schema, application, user, types, resources, tariff and home that are missing.

    A second run with the same options changes nothing. The command asks for the password of a new user on a terminal;
    otherwise it generates one and prints it once. It prints the IDs of all records and the next commands. If an option
    is wrong or contradicts a stored record, it changes nothing and the exit status is 1.

    Each line of the file of tariffs has the members of the GraphQL input NewTariff without resourceId. Add
    `"classifier": "gas.consumption"` or `"electricity.export"` if it is not for consumed electricity.

    Example: wattgate home create --application "My app" --user ada@example.org --name "My home" --time-zone Europe/London --electricity 2300000000116 --unit-rate 24.5 --standing-charge 53.8
    """  # noqa: E501 (the example is one command)
    home = HomeOptions(
        application=application,
        user=user,
        name=name,
        time_zone=time_zone,
        electricity=electricity,
        gas=gas,
        export=export,
        live=live,
        unit_rate=unit_rate,
        standing_charge=standing_charge,
        tariff_lines=None if tariff is None else _read_lines(tariff),
        currency=currency,
    )
    _create_home(home, as_json=as_json)


@home_app.command("list")
def home_list(
    application: OptionalApplication = None, limit: LimitOption = DEFAULT_LIMIT, as_json: JsonOption = False
) -> None:
    """List the homes of an application, with their owners and resources.

    Example: wattgate home list --json
    """
    homes = run_in_application(application, partial(list_homes, limit=limit + 1))
    print_records([_home_record(listed) for listed in homes], limit, as_json=as_json)


@home_app.command("show")
def home_show(
    home: Annotated[str, typer.Argument(help="Name or ID of the home.")],
    application: OptionalApplication = None,
    user: Annotated[str | None, typer.Option(help="Username of the owner, if several homes have the name.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a home: its resources, with their IDs, meter points, first and last readings, and tariffs.

    Example: wattgate home show "My home"
    """

    choice = HomeChoice(home, application, user)
    record = run_async(with_current_gateway(Settings(), partial(_show_home, choice=choice)))
    if as_json:
        out.print_json(data=record)
        return
    resources = record.pop("resources")
    for label, value in record.items():
        out.print(f"{label:<10} {to_cell(value)}", markup=False, highlight=False)
    print_records(resources, len(resources), as_json=False)


async def _show_home(gateway: Gateway, *, choice: HomeChoice) -> dict[str, Any]:
    """Return the record of a home, with those of its resources."""
    home = await find_home(gateway.runner, choice)

    async def load(rows: Rows) -> tuple[ListedHome, list[ResourceDetails]]:
        (listed,) = await load_home_details(rows, [home])
        return listed, await load_resource_details(rows, listed.resources)

    system = Principal(Role.SYSTEM, application_id=home.application_id)
    listed, details = await gateway.runner.read(system, Permission.SYSTEM, load)
    records = [
        {
            "classifier": shown.resource.classifier,
            "resourceId": shown.resource.resource_id,
            "mpxn": shown.resource.mpxn,
            "firstTime": to_text(shown.first_time),
            "lastTime": to_text(shown.last_time),
            "tariff": shown.tariff.name if shown.tariff else None,
        }
        for shown in details
    ]
    return {**_home_record(listed), "resources": records}


def _create_home(home: HomeOptions, *, as_json: bool) -> None:
    """Set up a home and print the outcome. After an error, print the secrets of records that exist already."""
    settings = Settings()
    require_keys(settings)
    password, setup = PasswordChoice(home.user), HomeSetup()
    try:
        request = run_async(with_gateway(settings, partial(_set_up, home=home, setup=setup, password=password)))
    except BaseException:
        for line in _secret_lines(setup, password):
            err.print(line, markup=False, highlight=False, soft_wrap=True)
        raise
    for warning in request.warnings:
        err.print(f"[yellow]warning[/]: {escape(warning)}", soft_wrap=True, highlight=False)
    next_commands = _next_commands(request, setup)
    if as_json:
        out.print_json(data=_to_json(setup, password, next_commands))
    else:
        _print_setup(settings, request, setup, password, next_commands)


async def _set_up(gateway: Gateway, *, home: HomeOptions, setup: HomeSetup, password: PasswordChoice) -> HomeRequest:
    """Check the options, then the database, and add what is missing."""
    request = parse_options(home, gateway.schema, utc_now())
    with unreachable_database_reported():
        setup.schema_created = await is_empty(gateway.database)
    if setup.schema_created:
        await upgrade(gateway.database)
    elif not await is_current(gateway.database):
        raise Conflict("The database has the schema of another version. Run `wattgate db upgrade` first.")
    await set_up_home(gateway.runner, request, setup, password)
    return request


def _read_lines(file: Path) -> list[tuple[int, str]]:
    with file.open("rb") as source:
        return list(read_numbered_lines(source))


def _next_commands(request: HomeRequest, setup: HomeSetup) -> list[str]:
    """Return the commands that import readings, show the home and serve it. They mean no other home of the name."""
    home = shlex.quote(request.name)
    meter = " --electricity" if len(request.meter_points) > 1 else ""
    where = f" --application {setup.application_id}" if setup.application_count > 1 else ""
    if setup.has_namesake:
        where += f" --user {shlex.quote(request.username)}"
    return [
        f"wattgate readings import {SAMPLE_FILE} --home {home}{meter}{where}",
        f"wattgate home show {home}{where}",
        "wattgate serve",
    ]


def _secret_lines(setup: HomeSetup, password: PasswordChoice) -> list[str]:
    """Return the secrets of new records as text. No later run can show them."""
    lines = []
    if setup.credential is not None:
        lines.append(f"Basic credential of the application: {setup.credential.username}:{setup.credential.secret}")
    if setup.has_new_user and password.generated is not None:
        lines.append(f"Password of {password.username}: {password.generated}")
    return lines


def _to_json(setup: HomeSetup, password: PasswordChoice, next_commands: list[str]) -> dict[str, Any]:
    """Return the outcome as JSON, with the secrets that no later run can show."""
    secrets = {"password": password.generated}
    if setup.credential is not None:
        secrets |= {"username": setup.credential.username, "secret": setup.credential.secret}
    return {
        "applicationId": setup.application_id,
        "veId": setup.ve_id,
        "schemaCreated": setup.schema_created,
        "records": [
            {"kind": record.kind, "name": record.name, "id": record.record_id, "created": record.created}
            for record in setup.records
        ],
        "secrets": {name: secret for name, secret in secrets.items() if secret is not None},
        "next": next_commands,
    }


def _print_setup(
    settings: Settings, request: HomeRequest, setup: HomeSetup, password: PasswordChoice, next_commands: list[str]
) -> None:
    table = Table("", "record", "name", "ID", box=None)
    if setup.schema_created:
        table.add_row("created", "database schema", "", "")
    for record in setup.records:
        table.add_row("created" if record.created else "exists", record.kind, escape(record.name), record.record_id)
    out.print(table, highlight=False)
    if secrets := _secret_lines(setup, password):
        out.print("\nShown only once:")
    for line in secrets:
        out.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    if not any(record.created for record in setup.records):
        out.print("\nEverything exists already. Nothing was changed.")
    out.print("\nNext:")
    for command in next_commands:
        out.print(f"  {command}", markup=False, highlight=False, soft_wrap=True)
    display, pair = (_page_address(page, settings, setup) for page in ("display", "pair"))
    for line in (
        f'\nThen open {display}, choose "Use a password", and log in as {request.username}.',
        f"Or pair the screen without a password: log in at {pair} and approve its code.",
    ):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _page_address(page: str, settings: Settings, setup: HomeSetup) -> str:
    """Return the address of a page of users. It names the application unless that is the default."""
    base = (settings.public_url or f"http://{settings.host}:{settings.port}").rstrip("/")
    default_id = settings.display_application_id
    is_default = setup.application_count == 1 if default_id is None else setup.application_id == default_id
    return f"{base}/{page}" + ("" if is_default else f"?application={setup.application_id}")


def _home_record(listed: ListedHome) -> dict[str, Any]:
    home = listed.home
    return {
        "name": home.name,
        "user": listed.username,
        "timeZone": home.time_zone,
        "veId": home.ve_id,
        "resources": [resource.classifier for resource in listed.resources],
    }
