"""Carry out `wattgate demo`."""

from rich.table import Table

from wattgate.app.cli.actions.gateway.serving import serve_in_process
from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import DEMO_FOLDER, run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.demo import live, seed
from wattgate.app.demo.demo_settings import demo_settings, describe_demonstration, write_env_file
from wattgate.app.demo.live import SimulatedMeterNetwork
from wattgate.app.demo.logins import LOGINS, PASSWORD
from wattgate.app.observability import logs
from wattgate.app.server.components import Components
from wattgate.app.server.edge.serving import bind_sockets
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.connections.database_name import database_name
from wattgate.db.migrate import is_current, is_empty, upgrade
from wattgate.errors import BadInput, Conflict
from wattgate.operations.core.row_reader import RowReader
from wattgate.private_files import make_private_folder


def demo() -> None:
    """Serve a demonstration with simulated homes and print its logins."""
    settings = demo_settings(DEMO_FOLDER)
    if settings.environment == "production":
        raise BadInput(
            "WATTGATE_ENVIRONMENT is production. The demonstration has log-ins that everybody knows: start it without "
            "the settings of a production gateway."
        )
    has_own_folder = "database_url" not in Settings().model_fields_set
    if has_own_folder:
        make_private_folder(DEMO_FOLDER)
        write_env_file(DEMO_FOLDER)
    else:
        run_async(_require_demo_database(settings))
    sockets = bind_sockets(settings.host, settings.port)  # before the preparation, which takes about a minute
    with err.status(f"Preparing the demonstration: {len(seed.HOMES)} homes with 13 months of readings"):
        recorded = run_async(_prepare_demo(settings))
    print_demo(settings, recorded, has_own_folder=has_own_folder)
    logs.configure_logging(settings)
    application = create_app(
        settings,
        background=[live.run_meters],
        network=SimulatedMeterNetwork,
        demonstration=describe_demonstration(),
    )
    serve_in_process(settings, application, sockets)


def print_demo(settings: Settings, recorded: int, *, has_own_folder: bool = False) -> None:
    """Print the addresses and all log-ins of the demonstration, and its folder if it has one."""
    base = f"http://{settings.host}:{settings.port}"
    out.print(f"[bold]wattgate demonstration[/] ({recorded:,} readings recorded)\n")
    table = Table.grid(padding=(0, 2))
    table.add_row("In-home display", f"{base}/display")
    table.add_row("Mail", f"{base}/outbox")
    table.add_row("Templates", f"{base}/preview")
    table.add_row("GraphQL", f"{base}/graphql")
    table.add_row("REST", f"{base}{settings.base_path}")
    table.add_row("Application id", seed.APPLICATION_ID)
    table.add_row("Application (Basic)", f"{seed.APPLICATION_USERNAME}:{seed.APPLICATION_SECRET}")
    out.print(table)
    out.print(f"\nLog in with the password [bold]{PASSWORD}[/] as one of these users:\n")
    logins = Table.grid(padding=(0, 2))
    for login in LOGINS:
        logins.add_row(login.username, login.shows)
    out.print(logins)
    if has_own_folder:
        out.print(
            f"\nOther commands find its database in the folder {DEMO_FOLDER}: cd {DEMO_FOLDER} && wattgate home list"
        )
    out.print("\nStop with Ctrl+C.")


async def _require_demo_database(settings: Settings) -> None:
    """Raise Conflict if a database is not empty and not that of a demonstration of this version."""

    async def check(gateway: Components) -> None:
        database = gateway.database
        if await is_empty(database):
            return
        reader = RowReader(database, consent_policy=settings.consent_policy)
        is_demo = await is_current(database) and {
            application.application_id for application in await reader.list_applications()
        } <= {seed.APPLICATION_ID}
        if not is_demo:
            raise Conflict(
                f"The database {database_name(database.url)} is not one of a demonstration. Leave out "
                "WATTGATE_DATABASE_URL, or name an empty database."
            )

    await with_gateway(settings, check)


async def _prepare_demo(settings: Settings) -> int:
    """Create or update the demonstration's database up to now. Return the number of readings recorded."""

    async def prepare(gateway: Components) -> int:
        await upgrade(gateway.database)
        return await seed.prepare_demo(gateway.runner, utc_now(), display_url=f"{settings.public_url}/display")

    return await with_gateway(settings, prepare)
