"""`wattgate doctor`: check the settings, and each server that they name."""

from importlib import import_module

import typer
from aiosmtplib import SMTPException
from rich.markup import escape
from sqlalchemy.exc import SQLAlchemyError

from wattgate.app.cli.consoles import err, out
from wattgate.app.cli.database_context import require_keys, run_async, with_database
from wattgate.app.cli.reading_context import with_reader
from wattgate.app.server.cluster_state import create_cluster_state
from wattgate.app.server.login_application import MAX_LOOKUP_SECONDS, LoginProblem, find_login_application
from wattgate.app.settings import Settings
from wattgate.app.workers.outbound import create_smtp_channel
from wattgate.clock import utc_now
from wattgate.db.encryption.rotation import verify_keys
from wattgate.db.engine import Database
from wattgate.db.migrate import is_current
from wattgate.delivery.channels.smtp import SmtpChannel
from wattgate.errors import Unavailable


def doctor() -> None:
    """Check the settings, the database, the application of the log-in pages, and Redis, MQTT broker and mail server."""
    settings = Settings()
    require_keys(settings)
    try:
        current = run_async(with_database(settings, _check_database))
    except (SQLAlchemyError, OSError) as error:
        err.print(f"[red]database[/]   does not answer: {error}", soft_wrap=True)
        raise typer.Exit(1) from None
    if not current:
        err.print(
            "[yellow]database[/]   answers, but does not have the schema of this version: run wattgate db upgrade"
        )
        raise typer.Exit(1)
    out.print("[green]database[/]   answers and has the schema of this version; the keys decrypt its secrets")
    if run_async(with_database(settings, lambda database: database.lacks_row_security())):
        out.print("[yellow]database[/]   row-level security is not active: run wattgate db upgrade", soft_wrap=True)
    _check_login_application(settings)
    if settings.redis_url is not None:
        _check_redis(settings)
    if settings.mqtt_url is not None:
        _check_broker(settings)
    channel = create_smtp_channel(settings)
    if channel is not None:
        _check_mail_server(channel)


async def _check_database(database: Database) -> bool:
    """Return whether the schema is current. Raise SecretKeyError if a key of a stored secret is missing."""
    current = await is_current(database)
    if current:
        await verify_keys(database)
    return current


def _check_login_application(settings: Settings) -> None:
    """Print to which application users log in at /display and /preview. Exit if there is an error."""
    configured_id = settings.display_application_id
    found = run_async(with_reader(settings, lambda reader: find_login_application(reader, configured_id)))
    if found.application_id is not None:
        out.print(f"[green]log-in pages[/]   users log in to the application {found.application_id}", highlight=False)
    elif found.problem is LoginProblem.NO_APPLICATION:
        out.print("[yellow]log-in pages[/]   there is no application: create one with wattgate home create")
    elif found.problem is LoginProblem.SEVERAL_APPLICATIONS:
        out.print(
            "[yellow]log-in pages[/]   there are several applications: set WATTGATE_DISPLAY_APPLICATION_ID, or open "
            "/display?application=ID; wattgate app list prints the IDs",
            soft_wrap=True,
        )
    elif found.problem is LoginProblem.NO_DATABASE:
        err.print(
            "[red]log-in pages[/]   the applications cannot be read from the database: the query failed, or took more "
            f"than {MAX_LOOKUP_SECONDS:.0f} seconds. The log names the cause",
            soft_wrap=True,
            highlight=False,
        )
        raise typer.Exit(1)
    else:
        err.print(
            f"[red]log-in pages[/]   no application has the ID {configured_id} of WATTGATE_DISPLAY_APPLICATION_ID: set "
            "an ID that wattgate app list prints, or unset it",
            soft_wrap=True,
            highlight=False,
        )
        raise typer.Exit(1)


def _check_redis(settings: Settings) -> None:
    try:
        run_async(_check_bus(settings))
    except Unavailable as error:
        err.print(f"[red]Redis[/]   cannot be used: {escape(error.message)}", soft_wrap=True)
        raise typer.Exit(1) from None
    out.print("[green]Redis[/]   answers")


async def _check_bus(settings: Settings) -> None:
    bus, _ = create_cluster_state(settings, utc_now)
    async with bus:
        await bus.check()


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
