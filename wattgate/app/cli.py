"""The command line: `wattgate` or `python -m wattgate`."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
import uvicorn
from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TimeRemainingColumn
from rich.table import Table
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from wattgate.app.demo import live, seed
from wattgate.app.demo.simulated_network import SimulatedNetwork
from wattgate.app.factory import Gateway, assemble, create_app
from wattgate.app.network_import import import_network
from wattgate.app.readings_import import Refuse, Report, import_csv
from wattgate.app.settings import Settings, demo_settings
from wattgate.app.tariff_import import import_tariffs
from wattgate.clock import utc_now
from wattgate.db.migrate import is_current, upgrade
from wattgate.errors import GatewayError
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.resolvers import oauth, provisioning
from wattgate.graphql.schema import build
from wattgate.principal import Principal, Role

T = TypeVar("T")

SHOWN_REFUSALS = 20
DEMO_FOLDER = Path(".wattgate")
"""Where the demonstration keeps its database."""

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A GraphQL and WebSocket gateway for smart meters.")
db_app = typer.Typer(no_args_is_help=True, help="The database.")
app_app = typer.Typer(no_args_is_help=True, help="Applications, to which every record belongs.")
user_app = typer.Typer(no_args_is_help=True, help="Users and their accounts.")
oauth_app = typer.Typer(no_args_is_help=True, help="Software that asks users of an application for access (OAuth 2.0).")
readings_app = typer.Typer(no_args_is_help=True, help="Readings.")
tariff_app = typer.Typer(no_args_is_help=True, help="Tariffs and prices.")
network_app = typer.Typer(no_args_is_help=True, help="The registry of the local meter network.")
for name, commands in (
    ("db", db_app),
    ("app", app_app),
    ("user", user_app),
    ("oauth-client", oauth_app),
    ("readings", readings_app),
    ("tariff", tariff_app),
    ("network", network_app),
):
    app.add_typer(commands, name=name)

out = Console()
err = Console(stderr=True)


def main() -> None:
    """Run the command line; what the gateway refuses, and bad settings, are told in a sentence."""
    try:
        app()
    except ValidationError as error:
        for problem in error.errors():
            setting = "WATTGATE_" + "_".join(map(str, problem["loc"])).upper()
            err.print(f"[red]{setting}[/]: {problem['msg']}")
        raise SystemExit(2) from None
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        setting = f"WATTGATE_{field[1].upper()}" if field else "settings"
        err.print(f"[red]{setting}[/]: cannot be read; lists are written as JSON")
        raise SystemExit(2) from None
    except GatewayError as error:
        err.print(f"[red]{error.code}[/]: {error.message}")
        raise SystemExit(1) from None


@app.command()
def serve() -> None:
    """Serve the gateway. The database must be at this version's schema (`wattgate db upgrade`)."""
    settings = Settings()
    if not _run(_checked(settings)):
        err.print("The database is not at this version's schema: run [bold]wattgate db upgrade[/].")
        raise typer.Exit(1)
    _serve(settings, create_app(settings))


@app.command()
def demo() -> None:
    """Serve a demonstration with simulated homes, kept in .wattgate/ and used again at the next start."""
    DEMO_FOLDER.mkdir(exist_ok=True)
    settings = demo_settings(DEMO_FOLDER)
    with err.status("Preparing the demonstration: three homes with 13 months of readings"):
        recorded = _run(_prepare_demo(settings))
    base = f"http://{settings.host}:{settings.port}"
    out.print(f"[bold]wattgate demonstration[/] ({recorded:,} readings recorded)\n")
    table = Table.grid(padding=(0, 2))
    table.add_row("In-home display", f"{base}/display")
    table.add_row("GraphQL", f"{base}/graphql")
    table.add_row("REST", f"{base}{settings.base_path}")
    table.add_row("Log in as", f"{seed.USERNAME} / {seed.PASSWORD}")
    table.add_row("Application id", seed.APPLICATION_ID)
    table.add_row("Application (Basic)", f"{seed.APPLICATION_USERNAME}:{seed.APPLICATION_SECRET}")
    out.print(table)
    out.print("\nStop with Ctrl+C.")
    _serve(settings, create_app(settings, background=[live.run_meters], network=SimulatedNetwork))


@db_app.command("upgrade")
def db_upgrade() -> None:
    """Bring the database to this version's schema."""
    _run(_with_gateway(Settings(), lambda gateway: upgrade(gateway.database)))
    out.print("The database is at this version's schema.")


@app_app.command("create")
def app_create(
    name: Annotated[str, typer.Argument(help="What the application is called.")],
    username: Annotated[str, typer.Option(help="The name of its first credential.")],
) -> None:
    """Add an application and print its credential, which can be seen at no other time."""
    arguments = {"name": name, "username": username}
    made = _run(
        _with_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments),
        )
    )
    out.print(
        f"Application id  {made.application_id}\nBasic           {made.username}:{made.secret}",
        soft_wrap=True,
    )


@user_app.command("create")
def user_create(
    application_id: Annotated[str, typer.Argument(help="Whose user this is.")],
    username: Annotated[str, typer.Argument(help="What the user logs in with, such as an e-mail address.")],
    password: Annotated[str, typer.Option(prompt=True, hide_input=True, confirmation_prompt=True)],
    name: Annotated[str, typer.Option(help="The person's name.")] = "",
    administrator: Annotated[bool, typer.Option(help="May manage the application's records.")] = False,
) -> None:
    """Add a user with an account in the application's own directory."""
    arguments = {"username": username, "password": password, "name": name, "administrator": administrator}
    made = _run(
        _with_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(
                provisioning.create_user, Principal(Role.SYSTEM, application_id=application_id), arguments
            ),
        )
    )
    out.print(f"User id     {made.user_id}\nAccount id  {made.account_id}")


@oauth_app.command("create")
def oauth_client_create(
    application_id: Annotated[str, typer.Argument(help="Whose users it may ask.")],
    name: Annotated[str, typer.Argument(help="What the software is called.")],
    redirect_uri: Annotated[list[str], typer.Option(help="Where it takes codes; may be given several times.")],
    scope: Annotated[str, typer.Option(help="The most that it may ask for: read, write or both.")] = "read",
    public: Annotated[bool, typer.Option(help="It cannot keep a secret: an app on a phone or in a browser.")] = False,
) -> None:
    """Register an OAuth client and print its credential, which can be seen at no other time."""
    arguments = {"name": name, "redirect_uris": redirect_uri, "scope": scope, "public": public}
    made = _run(
        _with_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(
                oauth.create_oauth_client, Principal(Role.SYSTEM, application_id=application_id), arguments
            ),
        )
    )
    out.print(f"Client id      {made.client_id}\nClient secret  {made.secret or 'none'}", soft_wrap=True)


@readings_app.command("import")
def readings_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV with a header line.")],
    application: Annotated[str, typer.Option(help="The application whose resources these are.")],
    resource: Annotated[str | None, typer.Option(help="The one resource of a file without resourceId.")] = None,
    time_zone: Annotated[str, typer.Option(help="The wall clock of a column localTime.")] = "UTC",
    refused: Annotated[Path | None, typer.Option(help="Where to write every refused line and its reason.")] = None,
) -> None:
    """Record the readings of a CSV file of any size.

    Columns: value; at (UTC, or with an offset) or localTime; resourceId; field. A reading that is stored already is
    replaced. Lines that cannot be recorded are refused and reported; the others are recorded. The exit status is 1
    where a line was refused.
    """
    zone, principal = _zone(time_zone), Principal(Role.SYSTEM, application_id=application)
    report = _run(
        _import(
            file,
            refused,
            lambda lines, gateway, refuse, progress: import_csv(
                lines,
                runner=gateway.runner,
                principal=principal,
                resource_id=resource,
                zone=zone,
                refuse=refuse,
                progress=progress,
            ),
        )
    )
    out.print(f"{report.recorded:,} readings recorded from {report.lines:,} lines, {report.refused:,} refused")
    raise typer.Exit(1 if report.refused else 0)


@tariff_app.command("import")
def tariff_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines, one object a line.")],
    application: Annotated[str, typer.Option(help="The application whose resources these are.")],
    resource: Annotated[str | None, typer.Option(help="The one resource of a file without resourceId.")] = None,
    refused: Annotated[Path | None, typer.Option(help="Where to write every refused line and its reason.")] = None,
) -> None:
    """Set the tariffs, and the prices of dynamic tariffs, of a JSON Lines file of any size.

    A line with `kind` is a tariff, with the members of the GraphQL input NewTariff; a line with at, rate and
    resourceId is the price of a half hour. Lines that cannot be set are refused and reported; the others are set. The
    exit status is 1 where a line was refused.
    """
    principal = Principal(Role.SYSTEM, application_id=application)
    report = _run(
        _import(
            file,
            refused,
            lambda lines, gateway, refuse, progress: import_tariffs(
                lines,
                runner=gateway.runner,
                principal=principal,
                resource_id=resource,
                refuse=refuse,
                progress=progress,
            ),
        )
    )
    out.print(f"{report.recorded:,} tariffs and prices set from {report.lines:,} lines, {report.refused:,} refused")
    raise typer.Exit(1 if report.refused else 0)


@network_app.command("import")
def network_import(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines, one object a line.")],
    refused: Annotated[Path | None, typer.Option(help="Where to write every refused line and its reason.")] = None,
) -> None:
    """Fill the registry of the meter network from a JSON Lines file of any size.

    Each line has a `kind`: meterPoint (mpxn, postcode, smetsVersion, eligible), device (eui, mpxn, deviceType,
    manufacturer, model, firmwareVersion, status, commissionedAt), reading (mpxn, classifier, at, value) or register
    (mpxn, classifier, at, value, unit). What is known already is replaced. Lines that cannot be kept are refused and
    reported; the exit status is 1 where one was.
    """
    report = _run(
        _import(
            file,
            refused,
            lambda lines, gateway, refuse, progress: import_network(
                lines, runner=gateway.runner, refuse=refuse, progress=progress
            ),
        )
    )
    out.print(f"{report.recorded:,} records kept from {report.lines:,} lines, {report.refused:,} refused")
    raise typer.Exit(1 if report.refused else 0)


Import = Callable[[BinaryIO, Gateway, Refuse, Callable[[int], None]], Awaitable[Report]]
"""Reads a file into the gateway; it is given what to tell refused lines to, and the bytes read so far."""


async def _import(file: Path, refused: Path | None, work: Import) -> Report:
    """Import a file with a progress bar; the first refused lines are shown, all are written to `refused`."""
    size = await asyncio.to_thread(file.stat)
    columns = (BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeRemainingColumn())
    with (
        file.open("rb") as lines,
        refused.open("w") if refused else nullcontext() as sink,
        Progress(*columns, console=err, transient=True) as bar,
    ):
        task = bar.add_task("", total=size.st_size)
        told = 0

        def refuse(line: int, reason: str) -> None:
            nonlocal told
            told += 1
            if sink:
                sink.write(f"{line}: {reason}\n")
            if told <= SHOWN_REFUSALS:
                bar.console.print(f"line {line}: {reason}", markup=False, highlight=False, soft_wrap=True)
            elif told == SHOWN_REFUSALS + 1:
                bar.console.print("further refused lines are not shown; --refused FILE writes them all")

        return await _with_gateway(
            Settings(),
            lambda gateway: work(lines, gateway, refuse, lambda done: bar.update(task, completed=done)),
        )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise typer.BadParameter(f"{name} is not an IANA time zone", param_hint="--time-zone") from None


@app.command()
def doctor() -> None:
    """Check each connection that the settings name, and say what is wrong."""
    settings = Settings()
    try:
        current = _run(_checked(settings))
    except (SQLAlchemyError, OSError) as error:
        err.print(f"[red]database[/]   does not answer: {error}", soft_wrap=True)
        raise typer.Exit(1) from None
    if not current:
        err.print("[yellow]database[/]   answers, but is not at this version's schema: run wattgate db upgrade")
        raise typer.Exit(1)
    out.print("[green]database[/]   answers and is at this version's schema")


@app.command("routes")
def print_routes() -> None:
    """Print every operation: its REST places beside its GraphQL field."""
    table = Table("REST", "GraphQL", "Permission", "Scheme", box=None)
    for operation in OPERATIONS:
        field = f"{operation.kind.value.lower()} {operation.name}"
        for rest in operation.rest or (None,):
            place = f"{rest.method} {rest.path}" if rest else "-"
            scheme = rest.scheme.value if rest and rest.scheme else "any"
            table.add_row(place, field, operation.needs.name.lower(), scheme)
    out.print(table)


@app.command("schema")
def print_schema() -> None:
    """Print the GraphQL schema."""
    print(build(OPERATIONS).as_str())  # noqa: T201 (plain text, for a file or a pipe)


async def _prepare_demo(settings: Settings) -> int:
    """A demonstration database with everything up to now; how many readings had to be recorded for that."""

    async def prepare(gateway: Gateway) -> int:
        await upgrade(gateway.database)
        present = await seed.installed(gateway.runner)
        if not present:
            await seed.install(gateway.runner)
            present = await seed.installed(gateway.runner)
        return await seed.fill(gateway.runner, present, utc_now())

    return await _with_gateway(settings, prepare)


async def _checked(settings: Settings) -> bool:
    return await _with_gateway(settings, lambda gateway: is_current(gateway.database))


async def _with_gateway(settings: Settings, work: Callable[[Gateway], Awaitable[T]]) -> T:
    """Do something with a gateway's parts, and close what that opened."""
    gateway = assemble(settings)
    try:
        return await work(gateway)
    finally:
        await gateway.database.close()


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def _serve(settings: Settings, application: Starlette) -> None:
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells at every look which database it looks at
    uvicorn.run(
        application,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=64 * 1024,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=10,
    )
