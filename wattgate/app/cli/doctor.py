"""`wattgate doctor`: run all checks of the settings and of each server that they name."""

import json
from functools import partial
from importlib import import_module

import typer
from aiosmtplib import SMTPException
from rich.markup import escape
from sqlalchemy.engine import make_url

from wattgate.app.cli.checks.certificates import check_certificate, tls_servers
from wattgate.app.cli.checks.database import check_database
from wattgate.app.cli.checks.directories import check_directories
from wattgate.app.cli.checks.erasure_list import check_erasure_list
from wattgate.app.cli.checks.hardening import check_hardening
from wattgate.app.cli.checks.result import CheckResult, CheckState, failed, passed, warning
from wattgate.app.cli.checks.several_gateways import check_several_gateways
from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import require_keys, run_async, with_database
from wattgate.app.cli.reading_context import create_reader
from wattgate.app.server.pages.login_application import MAX_LOOKUP_SECONDS, LoginProblem, find_login_application
from wattgate.app.settings import Settings
from wattgate.app.workers.outbound import create_smtp_channel
from wattgate.db.connections.database_name import sqlite_file
from wattgate.db.connections.engine import Database

COLORS = {CheckState.OK: "green", CheckState.WARNING: "yellow", CheckState.ERROR: "red"}
WORDS = {CheckState.OK: "ok", CheckState.WARNING: "warning", CheckState.ERROR: "ERROR"}
"""The first word of each line, so that a result needs no colour."""

WORD_WIDTH = max(map(len, WORDS.values()))


def doctor(*, as_json: bool) -> None:
    """Run all checks and print their results. Exit with status 1 if one failed. Create no file."""
    settings = Settings()
    if make_url(settings.database_url).get_backend_name() != "sqlite":
        require_keys(settings)
    results = run_async(_run_checks(settings))
    if as_json:
        rows = [{"subject": one.subject, "state": one.state.value, "text": one.text} for one in results]
        out.print(json.dumps(rows, indent=2), markup=False, highlight=False, soft_wrap=True)
    else:
        for result in results:
            color = COLORS[result.state]
            line = f"[{color}]{WORDS[result.state]:<{WORD_WIDTH}} {result.subject}[/]   {escape(result.text)}"
            out.print(line, soft_wrap=True, highlight=False)
    if any(result.state is CheckState.ERROR for result in results):
        raise typer.Exit(1)


async def _run_checks(settings: Settings) -> list[CheckResult]:
    file = sqlite_file(make_url(settings.database_url))
    if file is not None and not file.exists():
        results = [
            failed(
                "database",
                f"the file {file.resolve()} does not exist. To correct that, check WATTGATE_DATABASE_URL, or run "
                "wattgate db upgrade, which creates the file",
            )
        ]
    else:
        results = await with_database(settings, partial(_check_database_and_pages, settings), creates_keys=False)
    if settings.redis_url is not None:
        results += await import_module("wattgate.app.cli.checks.redis").check_redis(settings)
    if settings.mqtt_url is not None:
        results.append(await _check_broker(settings))
    results += await _check_mail_server(settings)
    results += [await check_certificate(server) for server in tls_servers(settings)]
    return [*results, check_several_gateways(settings), *check_hardening(settings)]


async def _check_database_and_pages(settings: Settings, database: Database) -> list[CheckResult]:
    results = await check_database(database)
    if all(result.subject != "database" or result.state is not CheckState.ERROR for result in results):
        results += await check_erasure_list(settings, database)
        results.append(await check_login_pages(settings, database))
        results += await check_directories(settings, database)
    return results


async def _check_broker(settings: Settings) -> CheckResult:
    mqtt = import_module("wattgate.app.workers.mqtt_intake")  # needs the extra `mqtt`
    try:
        await mqtt.check_broker(settings)
    except mqtt.MqttError as error:
        return failed("MQTT broker", f"the connection failed: {error}. Check WATTGATE_MQTT_URL")
    return passed("MQTT broker", "answers")


async def _check_mail_server(settings: Settings) -> list[CheckResult]:
    channel = create_smtp_channel(settings)
    if channel is None:
        return []
    try:
        await channel.check()
    except (SMTPException, OSError) as error:
        return [failed("mail server", f"the connection or the login failed: {error}. Check WATTGATE_SMTP_URL")]
    return [passed("mail server", "answers")]


SUBJECT = "log-in pages"


async def check_login_pages(settings: Settings, database: Database) -> CheckResult:
    """Find the application of the log-in pages."""
    configured_id = settings.display_application_id
    found = await find_login_application(create_reader(settings, database), configured_id)
    if found.application_id is not None:
        return passed(SUBJECT, f"users log in to the application {found.application_id}")
    if found.problem is LoginProblem.NO_APPLICATION:
        return warning(SUBJECT, "there is no application: create one with wattgate home create")
    if found.problem is LoginProblem.SEVERAL_APPLICATIONS:
        return warning(
            SUBJECT,
            "there are several applications: set WATTGATE_DISPLAY_APPLICATION_ID, or open /display?application=ID; "
            "wattgate app list prints the IDs",
        )
    if found.problem is LoginProblem.NO_DATABASE:
        return failed(
            SUBJECT,
            "the applications cannot be read from the database: the query failed, or took more than "
            f"{MAX_LOOKUP_SECONDS:.0f} seconds. The log names the cause",
        )
    return failed(
        SUBJECT,
        f"no application has the ID {configured_id} of WATTGATE_DISPLAY_APPLICATION_ID: set an ID that wattgate app "
        "list prints, or unset it",
    )
