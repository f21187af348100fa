"""Carry out `wattgate home create`."""

import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import require_keys, run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.cli.input_files import open_input
from wattgate.app.cli.passwords import PasswordChoice
from wattgate.app.homes.request import HomeOptions, HomeRequest, parse_options
from wattgate.app.homes.setup import PREPARED_LIMIT, HomeSetup, set_up_home
from wattgate.app.server.components import Components
from wattgate.app.server.schema import gateway_schema
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.migrate import is_current, is_empty, upgrade
from wattgate.errors import Conflict
from wattgate.reading_files.line_reader import read_numbered_lines

COUNTED = {"alert type": "alert types", "template": "mails of alerts", "terms": "terms"}
"""The kinds of records of which the table has the number. `--json` lists each."""

EVERY_INTERFACE = ("0.0.0.0", "::")  # noqa: S104 (compared, not bound)

SAMPLE_FILE = "readings.csv"
"""The name of the file of readings in the next commands."""


def home_create(
    *,
    application: str,
    user: str,
    name: str,
    time_zone: str,
    electricity: str,
    gas: str | None,
    export: str | None,
    live: bool,
    unit_rate: str | None,
    standing_charge: str | None,
    tariff: Path | None,
    currency: str | None,
    culture: str | None,
    as_json: bool,
) -> None:
    """Set up a home: create what is missing."""
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
        culture=culture,
    )
    _create_home(home, as_json=as_json)


def _create_home(home: HomeOptions, *, as_json: bool) -> None:
    """Set up a home and print the outcome. After an error, print the secrets of records that exist already."""
    settings = Settings()
    require_keys(settings)
    password, setup = PasswordChoice(home.user), HomeSetup()
    try:
        request = run_async(
            with_gateway(settings, partial(_set_up, settings=settings, home=home, setup=setup, password=password))
        )
    except BaseException:
        for line in _secret_lines(setup, password):
            err.print(line, markup=False, highlight=False, soft_wrap=True)
        raise
    for warning in request.warnings:
        err.print(f"[yellow]warning[/]: {escape(warning)}", soft_wrap=True, highlight=False)
    next_commands = _next_commands(request, setup)
    if as_json:
        out.print_json(data=_to_json(request, setup, password, next_commands))
    else:
        _print_setup(settings, request, setup, password, next_commands)


async def _set_up(
    gateway: Components, *, settings: Settings, home: HomeOptions, setup: HomeSetup, password: PasswordChoice
) -> HomeRequest:
    """Check the options, then the database, and add what is missing."""
    request = parse_options(home, partial(gateway_schema, settings), utc_now())
    setup.schema_created = await is_empty(gateway.database)
    if setup.schema_created:
        await upgrade(gateway.database)
    elif not await is_current(gateway.database):
        raise Conflict("The database has the schema of another version. Run `wattgate db upgrade` first.")
    await set_up_home(gateway.runner, request, setup, password, partial(page_address, "display", settings, setup))
    return request


def _read_lines(file: Path) -> list[tuple[int, str]]:
    with open_input(file) as source:
        return list(read_numbered_lines(source))


def _next_commands(request: HomeRequest, setup: HomeSetup) -> list[str]:
    """Return the next commands, from the look at a file to the gateway. They mean no other home of the name."""
    home = shlex.quote(request.name)
    meter = " --electricity" if len(request.meter_points) > 1 else ""
    where = f" --application {setup.application_id}" if setup.application_count > 1 else ""
    if setup.has_namesake:
        where += f" --user {shlex.quote(request.username)}"
    return [
        f"wattgate readings inspect {SAMPLE_FILE}",
        f"wattgate readings import {SAMPLE_FILE} --home {home}{meter}{where}",
        f"wattgate home show {home}{where}",
        f"wattgate alert add --home {home} --above {PREPARED_LIMIT}{where}",
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


def _to_json(
    request: HomeRequest, setup: HomeSetup, password: PasswordChoice, next_commands: list[str]
) -> dict[str, Any]:
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
        "culture": request.culture.culture,
        "next": next_commands,
    }


def _print_setup(
    settings: Settings, request: HomeRequest, setup: HomeSetup, password: PasswordChoice, next_commands: list[str]
) -> None:
    table = Table("", "record", "name", "ID", box=None)
    if setup.schema_created:
        table.add_row("created", "database schema", "", "")
    for record in setup.records:
        if record.kind not in COUNTED:
            table.add_row("created" if record.created else "exists", record.kind, escape(record.name), record.record_id)
    for kind, plural in COUNTED.items():
        states = [record.created for record in setup.records if record.kind == kind]
        if states:
            table.add_row("created" if any(states) else "exists", plural, str(len(states)), "")
    out.print(table, highlight=False)
    if secrets := _secret_lines(setup, password):
        out.print("\nShown only once:")
    for line in secrets:
        out.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    if not any(record.created for record in setup.records):
        out.print("\nEverything exists already. Nothing was changed.")
    for line in _default_lines(request, setup):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    out.print("\nNext:")
    for command in next_commands:
        out.print(f"  {command}", markup=False, highlight=False, soft_wrap=True)
    display, pair = (page_address(page, settings, setup) for page in ("display", "pair"))
    for line in (
        f'\nThen open {display}, choose "Use a password", and log in as {request.username}.',
        f"Or pair the screen without a password: log in at {pair} and approve its code.",
    ):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _default_lines(request: HomeRequest, setup: HomeSetup) -> Iterator[str]:
    """Yield what the command has chosen for a new application, and how to choose otherwise."""
    if setup.credential is None:
        return
    culture = request.culture
    remedy = "" if request.has_chosen_culture else ". Use --culture for another one"
    yield f"\nMessages are in {culture.culture} ({culture.source}){remedy}."
    if request.tariffs:
        yield f"Prices are in {request.tariffs[0].new_tariff.currency}."


def page_base(settings: Settings) -> str:
    """Return the address of the gateway for browsers. An address that means every interface becomes this machine's."""
    host = "127.0.0.1" if settings.host in EVERY_INTERFACE else settings.host
    return (settings.public_url or f"http://{host}:{settings.port}").rstrip("/")


def page_address(page: str, settings: Settings, setup: HomeSetup) -> str:
    """Return the address of a page of users. It names the application unless that is the default."""
    base = page_base(settings)
    default_id = settings.display_application_id
    is_default = setup.application_count == 1 if default_id is None else setup.application_id == default_id
    return f"{base}/{page}" + ("" if is_default else f"?application={setup.application_id}")
