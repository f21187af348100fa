"""The command line: `wattgate` or `python -m wattgate`."""

import re
import socket
from importlib import import_module
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from aiosmtplib import SMTPException
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError
from rich.markup import escape
from rich.table import Table
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette

from wattgate.app.cli.audit_commands import audit_app
from wattgate.app.cli.document_commands import documents_app
from wattgate.app.cli.gateway_context import err, out, run_async, with_gateway
from wattgate.app.cli.import_commands import network_app, readings_app, tariff_app
from wattgate.app.cli.template_commands import template_app
from wattgate.app.cli.watch import watch
from wattgate.app.demo import live, seed
from wattgate.app.demo.simulated_network import SimulatedMeterNetwork
from wattgate.app.observability import logs
from wattgate.app.observability.http_metrics import start_metrics_server
from wattgate.app.server.factory import Gateway, create_app
from wattgate.app.server.launcher import launch
from wattgate.app.server.serving import bind_sockets, serve
from wattgate.app.server.worker_process import run_worker
from wattgate.app.settings import Settings, demo_settings
from wattgate.app.workers.delivery_handlers import create_smtp_channel
from wattgate.clock import utc_now
from wattgate.db.migrate import is_current, upgrade
from wattgate.delivery.channels.smtp import SmtpChannel
from wattgate.delivery.templates.cultures import DEFAULT_CULTURE
from wattgate.errors import GatewayError, Unavailable
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.execution.schema import build_schema
from wattgate.graphql.resolvers import oauth, provisioning
from wattgate.principal import Principal, Role

DEMO_FOLDER = Path(".wattgate")
"""Folder of the database of the demonstration."""

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A GraphQL and WebSocket gateway for smart meters.")
db_app = typer.Typer(no_args_is_help=True, help="Manage the database schema.")
app_app = typer.Typer(no_args_is_help=True, help="Manage applications. Every record belongs to one.")
user_app = typer.Typer(no_args_is_help=True, help="Manage users and their accounts.")
oauth_app = typer.Typer(no_args_is_help=True, help="Manage OAuth 2.0 clients.")
for name, commands in (
    ("db", db_app),
    ("app", app_app),
    ("user", user_app),
    ("oauth-client", oauth_app),
    ("readings", readings_app),
    ("tariff", tariff_app),
    ("network", network_app),
    ("template", template_app),
    ("documents", documents_app),
    ("audit", audit_app),
):
    app.add_typer(commands, name=name)
app.command()(watch)


def main() -> None:
    """Run the command line. Print invalid settings and errors of the gateway as one sentence each."""
    try:
        app()
    except ValidationError as error:
        for problem in error.errors():
            setting, message = _describe_setting_problem(problem)
            err.print(f"[red]{setting}[/]: {escape(message)}")
        raise SystemExit(2) from None
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        setting = f"WATTGATE_{field[1].upper()}" if field else "settings"
        err.print(f"[red]{setting}[/]: the value cannot be parsed. Write a list as JSON.")
        raise SystemExit(2) from None
    except GatewayError as error:
        err.print(f"[red]{error.code}[/]: {error.message}")
        raise SystemExit(1) from None


def _describe_setting_problem(problem: ErrorDetails) -> tuple[str, str]:
    """Return the variable of a problem and its message.

    Pydantic names an invalid setting by its field, but an unknown one of `.env` by its variable in lower case.
    """
    name = "_".join(map(str, problem["loc"])).upper()
    if problem["type"] == "extra_forbidden":
        return name, "unknown setting in .env. Correct the name or remove the line."
    return f"WATTGATE_{name}", problem["msg"]


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
    if not run_async(_is_schema_current(settings)):
        err.print("The database does not have the schema of this version: run [bold]wattgate db upgrade[/].")
        raise typer.Exit(1)
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
    if not run_async(_is_schema_current(settings)):
        err.print("The database does not have the schema of this version: run [bold]wattgate db upgrade[/].")
        raise typer.Exit(1)
    logs.configure_logging(settings)
    start_metrics_server(settings)
    run_async(with_gateway(settings, lambda gateway: run_worker(settings, gateway)))


@app.command()
def demo() -> None:
    """Serve a demonstration with three simulated homes and print its logins.

    The demonstration keeps its database in the folder .wattgate/ and uses it again at the next start. Delete the folder
    to start from the beginning.

    Example: wattgate demo
    """
    DEMO_FOLDER.mkdir(exist_ok=True)
    settings = demo_settings(DEMO_FOLDER)
    with err.status("Preparing the demonstration: three homes with 13 months of readings"):
        recorded = run_async(_prepare_demo(settings))
    base = f"http://{settings.host}:{settings.port}"
    out.print(f"[bold]wattgate demonstration[/] ({recorded:,} readings recorded)\n")
    table = Table.grid(padding=(0, 2))
    table.add_row("In-home display", f"{base}/display")
    table.add_row("Mail", f"{base}/outbox")
    table.add_row("Templates", f"{base}/preview")
    table.add_row("GraphQL", f"{base}/graphql")
    table.add_row("REST", f"{base}{settings.base_path}")
    table.add_row("Log in as", f"{seed.USERNAME} / {seed.PASSWORD}")
    table.add_row("Log in for templates as", f"{seed.EDITOR_USERNAME} / {seed.PASSWORD}")
    table.add_row("Application id", seed.APPLICATION_ID)
    table.add_row("Application (Basic)", f"{seed.APPLICATION_USERNAME}:{seed.APPLICATION_SECRET}")
    out.print(table)
    out.print("\nStop with Ctrl+C.")
    logs.configure_logging(settings)
    _serve_in_process(settings, create_app(settings, background=[live.run_meters], network=SimulatedMeterNetwork))


@db_app.command("upgrade")
def db_upgrade() -> None:
    """Create or upgrade the database schema to the one of this version.

    Example: wattgate db upgrade
    """
    run_async(with_gateway(Settings(), lambda gateway: upgrade(gateway.database)))
    out.print("The database has the schema of this version.")


@app_app.command("create")
def app_create(
    name: Annotated[str, typer.Argument(help="Name of the application.")],
    username: Annotated[str, typer.Option(help="Username of its first Basic credential.")],
    culture: Annotated[
        str, typer.Option(help="Default culture (language and region) of its messages.")
    ] = DEFAULT_CULTURE,
) -> None:
    """Create an application and print its credential. The secret is shown only once.

    Example: wattgate app create "My app" --username my-app
    """
    arguments = {"name": name, "username": username, "culture_code": culture}
    application = run_async(
        with_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments),
        )
    )
    out.print(
        f"Application id  {application.application_id}\nBasic           {application.username}:{application.secret}",
        soft_wrap=True,
    )


@user_app.command("create")
def user_create(
    application_id: Annotated[str, typer.Argument(help="ID of the application that the user belongs to.")],
    username: Annotated[str, typer.Argument(help="Login name, such as an e-mail address.")],
    password: Annotated[
        str,
        typer.Option(
            prompt=True,
            hide_input=True,
            confirmation_prompt=True,
            help="Password. Without the option, the command asks for it.",
        ),
    ],
    name: Annotated[str, typer.Option(help="Name of the person.")] = "",
    administrator: Annotated[
        bool, typer.Option(help="Allow the user to manage the records of the application.")
    ] = False,
) -> None:
    """Create a user with an account in the directory of the application.

    Example: wattgate user create APPLICATION ada@example.org --name "Ada"
    """
    arguments = {"username": username, "password": password, "name": name, "administrator": administrator}
    account = run_async(
        with_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(
                provisioning.create_user, Principal(Role.SYSTEM, application_id=application_id), arguments
            ),
        )
    )
    out.print(f"User id     {account.user_id}\nAccount id  {account.account_id}")


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
        with_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(
                oauth.create_oauth_client, Principal(Role.SYSTEM, application_id=application_id), arguments
            ),
        )
    )
    out.print(f"Client id      {client.client_id}\nClient secret  {client.secret or 'none'}", soft_wrap=True)


@app.command()
def doctor() -> None:
    """Check the settings, the database and its schema, and the configured Redis, MQTT broker and mail server.

    The exit status is 1 if a check fails, and 2 for an invalid setting.

    Example: wattgate doctor
    """
    settings = Settings()
    try:
        current = run_async(_is_schema_current(settings))
    except (SQLAlchemyError, OSError) as error:
        err.print(f"[red]database[/]   does not answer: {error}", soft_wrap=True)
        raise typer.Exit(1) from None
    if not current:
        err.print(
            "[yellow]database[/]   answers, but does not have the schema of this version: run wattgate db upgrade"
        )
        raise typer.Exit(1)
    out.print("[green]database[/]   answers and has the schema of this version")
    if run_async(with_gateway(settings, lambda gateway: gateway.database.lacks_row_security())):
        out.print("[yellow]database[/]   row-level security is not active: run wattgate db upgrade", soft_wrap=True)
    if settings.redis_url is not None:
        _check_redis(settings)
    if settings.mqtt_url is not None:
        _check_broker(settings)
    channel = create_smtp_channel(settings)
    if channel is not None:
        _check_mail_server(channel)


def _check_redis(settings: Settings) -> None:
    try:
        run_async(with_gateway(settings, lambda gateway: gateway.bus.check()))
    except Unavailable as error:
        err.print(f"[red]Redis[/]   cannot be used: {escape(error.message)}", soft_wrap=True)
        raise typer.Exit(1) from None
    out.print("[green]Redis[/]   answers")


def _check_broker(settings: Settings) -> None:
    mqtt = import_module("wattgate.app.workers.mqtt_intake")  # needs the extra `mqtt`
    try:
        run_async(mqtt.check_broker(settings))
    except mqtt.MqttError as error:
        err.print(f"[red]MQTT broker[/]   the connection failed: {escape(str(error))}", soft_wrap=True)
        raise typer.Exit(1) from None
    out.print("[green]MQTT broker[/]   answers")


def _check_mail_server(channel: SmtpChannel) -> None:
    try:
        run_async(channel.check())
    except (SMTPException, OSError) as error:
        err.print(f"[red]mail server[/]   the connection or the login failed: {escape(str(error))}", soft_wrap=True)
        raise typer.Exit(1) from None
    out.print("[green]mail server[/]   answers")


@app.command("routes")
def print_routes() -> None:
    """Print every operation: REST method and path, GraphQL field, required permission and scheme.

    Example: wattgate routes
    """
    table = Table("REST", "GraphQL", "Permission", "Scheme", box=None)
    for operation in OPERATIONS:
        field = f"{operation.kind.value.lower()} {operation.name}"
        for rest in operation.rest or (None,):
            endpoint = f"{rest.method} {rest.path}" if rest else "-"
            scheme = rest.scheme.value if rest and rest.scheme else "any"
            table.add_row(endpoint, field, operation.needs.name.lower(), scheme)
    out.print(table)


@app.command("schema")
def print_schema() -> None:
    """Print the GraphQL schema as SDL.

    Example: wattgate schema > schema.graphql
    """
    print(build_schema(OPERATIONS).as_str())  # noqa: T201 (plain text, for a file or a pipe)


async def _prepare_demo(settings: Settings) -> int:
    """Create or update the demonstration's database up to now. Return the number of readings recorded."""

    async def prepare(gateway: Gateway) -> int:
        await upgrade(gateway.database)
        homes = await seed.list_installed_homes(gateway.runner)
        if not homes:
            await seed.install_demo(gateway.runner)
            homes = await seed.list_installed_homes(gateway.runner)
        return await seed.fill_readings(gateway.runner, homes, utc_now())

    return await with_gateway(settings, prepare)


async def _is_schema_current(settings: Settings) -> bool:
    return await with_gateway(settings, lambda gateway: is_current(gateway.database))


def _serve_in_process(settings: Settings, application: Starlette) -> NoReturn:
    """Serve in this process until SIGTERM or SIGINT, then exit."""
    sockets = bind_sockets(settings.host, settings.port)
    start_metrics_server(settings)
    raise typer.Exit(serve(application, settings, sockets))
