"""The command line: the `wattgate` command, or the package as a module.

The modules of the commands only declare them. `dispatch` names the module that carries out each command.
"""

from importlib import import_module
from typing import Annotated

import typer

import wattgate as package
from wattgate.app.cli.commands.alert_commands import alert_app
from wattgate.app.cli.commands.application_commands import app_app, user_app
from wattgate.app.cli.commands.data_protection_commands import audit_app, keys_app, user_erase, user_export
from wattgate.app.cli.commands.document_commands import documents_app, template_app
from wattgate.app.cli.commands.gateway_commands import app, db_app, oauth_app
from wattgate.app.cli.commands.home_commands import home_app, move
from wattgate.app.cli.commands.import_commands import network_app, readings_app, tariff_app
from wattgate.app.cli.consoles import out
from wattgate.errors import GatewayError

user_app.command("erase")(user_erase)
user_app.command("export")(user_export)
app.command("move")(move)
for name, commands in (
    ("db", db_app),
    ("app", app_app),
    ("user", user_app),
    ("home", home_app),
    ("alert", alert_app),
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


__all__ = ["app", "main"]


def main() -> None:
    """Run the command line. Print invalid settings and errors of the gateway as one sentence each."""
    try:
        app(prog_name="wattgate")
    except (GatewayError, ValueError, OSError) as error:  # pydantic, which help needs not, raises ValueErrors
        status = import_module("wattgate.app.cli.error_messages").report_error(error)
        if status is None:
            raise
        raise SystemExit(status) from None


def _print_version(requested: bool) -> None:
    if requested:
        out.print(f"wattgate {package.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def wattgate(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """A GraphQL and WebSocket gateway for smart meters."""
