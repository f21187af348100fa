"""The command line: `wattgate` or `python -m wattgate`."""

import socket
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError
from rich.table import Table
from starlette.applications import Starlette

from wattgate import __version__
from wattgate.app.cli.application_commands import app_app
from wattgate.app.cli.audit_commands import audit_app
from wattgate.app.cli.command_group import CommandGroup
from wattgate.app.cli.doctor import doctor
from wattgate.app.cli.document_commands import documents_app
from wattgate.app.cli.error_messages import print_gateway_error, print_setting_problems, print_settings_error
from wattgate.app.cli.gateway_context import err, out, run_async, with_current_gateway, with_gateway
from wattgate.app.cli.home_commands import home_app
from wattgate.app.cli.import_commands import network_app, readings_app, tariff_app
from wattgate.app.cli.key_commands import keys_app, require_keys
from wattgate.app.cli.personal_data_commands import user_erase, user_export
from wattgate.app.cli.template_commands import template_app
from wattgate.app.cli.user_commands import user_app
from wattgate.app.cli.watch import watch
from wattgate.app.demo import live, seed
from wattgate.app.demo.demo_settings import demo_settings
from wattgate.app.demo.landing import describe_demonstration
from wattgate.app.demo.logins import LOGINS, PASSWORD
from wattgate.app.demo.simulated_network import SimulatedMeterNetwork
from wattgate.app.observability import logs
from wattgate.app.observability.http_metrics import start_metrics_server
from wattgate.app.server.factory import Gateway, create_app
from wattgate.app.server.launcher import launch
from wattgate.app.server.serving import bind_sockets, serve
from wattgate.app.server.worker_process import run_worker
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.encryption.rotation import verify_keys
from wattgate.db.migrate import is_current, upgrade
from wattgate.enums import to_camel_case
from wattgate.errors import GatewayError
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.execution.schema import build_schema
from wattgate.graphql.resolvers import oauth
from wattgate.principal import Principal, Role

DEMO_FOLDER = Path(".wattgate")
"""Folder of the database of the demonstration."""

app = typer.Typer(cls=CommandGroup, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
db_app = typer.Typer(no_args_is_help=True, help="Manage the database schema.")
oauth_app = typer.Typer(no_args_is_help=True, help="Manage OAuth 2.0 clients.")
user_app.command("erase")(user_erase)
user_app.command("export")(user_export)
for name, commands in (
    ("db", db_app),
    ("app", app_app),
    ("user", user_app),
    ("home", home_app),
    ("oauth-client", oauth_app),
    ("readings", readings_app),
    ("tariff", tariff_app),
    ("network", network_app),
    ("template", template_app),
    ("documents", documents_app),
    ("keys", keys_app),
    ("audit", audit_app),
):
    app.add_typer(commands, name=name)
app.command()(doctor)
app.command()(watch)


def main() -> None:
    """Run the command line. Print invalid settings and errors of the gateway as one sentence each."""
    try:
        app(prog_name="wattgate")
    except ValidationError as error:
        print_setting_problems(error)
        raise SystemExit(2) from None
    except SettingsError as error:
        print_settings_error(error)
        raise SystemExit(2) from None
    except GatewayError as error:
        print_gateway_error(error)
        raise SystemExit(1) from None


def _print_version(requested: bool) -> None:
    if requested:
        out.print(f"wattgate {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def wattgate(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """A GraphQL and WebSocket gateway for smart meters."""


@app.command("serve")
def serve_gateway(
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of processes. More than one needs Redis.")] = 1,
) -> None:
    """Serve the gateway on WATTGATE_HOST and WATTGATE_PORT until SIGTERM or SIGINT.

    Run `wattgate db upgrade` first: the database must have the schema of this version. The exit status is 0 after a
    complete drain, 1 if the drain was cut short or the gateway cannot start, and 2 if the settings are invalid.

    Example: wattgate serve --workers 4
    """
    settings = Settings()
    if workers > 1 and settings.redis_url is None:
        err.print("Several workers need Redis, which carries live events between them. Set WATTGATE_REDIS_URL.")
        raise typer.Exit(2)
    _require_ready_database(settings)
    logs.configure_logging(settings)
    if workers > 1:
        raise typer.Exit(launch(settings, workers))
    _serve_in_process(settings, create_app(settings))


@app.command("serve-one", hidden=True)
def serve_one(channel_fd: int, worker_index: int) -> None:
    """Serve as one of several workers that `wattgate serve --workers` started.

    CHANNEL_FD is the file descriptor of the socket to the launcher. Only worker 0 connects to the MQTT broker, because
    a broker accepts only one connection for each client ID.
    """
    settings = Settings()
    if worker_index > 0:
        settings = settings.model_copy(update={"mqtt_url": None})
    logs.configure_logging(settings)
    launcher_socket = socket.socket(fileno=channel_fd)
    sockets = bind_sockets(settings.host, settings.port, shared=True)
    raise typer.Exit(serve(create_app(settings), settings, sockets, launcher_socket))


@app.command("worker")
def worker() -> None:
    """Deliver mail, pushes and webhooks until SIGTERM or SIGINT.

    Run any number of workers, on any machine that reaches the database. Set WATTGATE_DELIVER=false for the gateways if
    only workers are to deliver.

    Example: wattgate worker
    """
    settings = Settings()
    _require_ready_database(settings)
    logs.configure_logging(settings)
    start_metrics_server(settings)
    run_async(with_gateway(settings, lambda gateway: run_worker(settings, gateway)))


@app.command()
def demo() -> None:
    """Serve a demonstration with simulated homes and print its logins.

    The logins show tariffs of all kinds and none, consents, an alert rule with its alert, a flexibility event, content,
    and the templates of alerts. The demonstration keeps its database in the folder .wattgate/ and uses it again at the
    next start. Delete the folder to start from the beginning.

    Example: wattgate demo
    """
    DEMO_FOLDER.mkdir(exist_ok=True)
    settings = demo_settings(DEMO_FOLDER)
    with err.status(f"Preparing the demonstration: {len(seed.HOMES)} homes with 13 months of readings"):
        recorded = run_async(_prepare_demo(settings))
    print_demo(settings, recorded)
    logs.configure_logging(settings)
    application = create_app(
        settings,
        background=[live.run_meters],
        network=SimulatedMeterNetwork,
        demonstration=describe_demonstration(),
    )
    _serve_in_process(settings, application)


@db_app.command("upgrade")
def db_upgrade() -> None:
    """Create or upgrade the database schema to the one of this version.

    Example: wattgate db upgrade
    """
    settings = Settings()
    require_keys(settings)
    run_async(with_gateway(settings, lambda gateway: upgrade(gateway.database)))
    out.print("The database has the schema of this version.")


@oauth_app.command("create")
def oauth_client_create(
    application_id: Annotated[str, typer.Argument(help="ID of the application whose users may grant access.")],
    name: Annotated[str, typer.Argument(help="Name of the client, as users see it.")],
    redirect_uri: Annotated[
        list[str], typer.Option(help="Redirect URI for authorization codes. Repeat the option for several.")
    ],
    scope: Annotated[
        str, typer.Option(help="Largest scope that the client may request: read, write, or both as one text.")
    ] = "read",
    public: Annotated[
        bool, typer.Option(help="Register a public client, such as a phone or browser app, which cannot keep a secret.")
    ] = False,
) -> None:
    """Register an OAuth client and print its credential. The secret is shown only once.

    Example: wattgate oauth-client create APPLICATION "Energy advice" --redirect-uri https://advice.example/callback
    """
    arguments = {"name": name, "redirect_uris": redirect_uri, "scope": scope, "public": public}
    client = run_async(
        with_current_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(
                oauth.create_oauth_client, Principal(Role.SYSTEM, application_id=application_id), arguments
            ),
        )
    )
    out.print(f"Client id      {client.client_id}\nClient secret  {client.secret or 'none'}", soft_wrap=True)


@app.command("routes")
def print_routes() -> None:
    """Print every operation: REST method and path, GraphQL field, required permission and scheme.

    Example: wattgate routes
    """
    table = Table("REST", "GraphQL", "Permission", "Scheme", box=None)
    for operation in OPERATIONS:
        field = f"{operation.kind.value.lower()} {to_camel_case(operation.name)}"
        for rest in operation.rest or (None,):
            endpoint = f"{rest.method} {rest.path}" if rest else "-"
            scheme = rest.accepted_scheme.value if rest and rest.accepted_scheme else "any"
            table.add_row(endpoint, field, operation.needs.name.lower(), scheme)
    out.print(table)


@app.command("schema")
def print_schema() -> None:
    """Print the GraphQL schema as SDL.

    Example: wattgate schema > schema.graphql
    """
    print(build_schema(OPERATIONS).as_str())  # noqa: T201 (plain text, for a file or a pipe)


def print_demo(settings: Settings, recorded: int) -> None:
    """Print the addresses and all log-ins of the demonstration."""
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
    out.print("\nStop with Ctrl+C.")


async def _prepare_demo(settings: Settings) -> int:
    """Create or update the demonstration's database up to now. Return the number of readings recorded."""

    async def prepare(gateway: Gateway) -> int:
        await upgrade(gateway.database)
        return await seed.prepare_demo(gateway.runner, utc_now())

    return await with_gateway(settings, prepare)


def _require_ready_database(settings: Settings) -> None:
    """Exit with a message unless the database has this version's schema and the keys decrypt its secrets."""
    require_keys(settings)

    async def check(gateway: Gateway) -> bool:
        if not await is_current(gateway.database):
            return False
        await verify_keys(gateway.database)
        return True

    if not run_async(with_gateway(settings, check)):
        err.print("The database does not have the schema of this version: run [bold]wattgate db upgrade[/].")
        raise typer.Exit(1)


def _serve_in_process(settings: Settings, application: Starlette) -> NoReturn:
    """Serve in this process until SIGTERM or SIGINT, then exit."""
    sockets = bind_sockets(settings.host, settings.port)
    start_metrics_server(settings)
    raise typer.Exit(serve(application, settings, sockets))
