"""Commands for the audit log, for personal data and for the keys of stored secrets."""

from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.application_commands import UserArgument
from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import JsonOption, OptionalApplication
from wattgate.db.encryption.secret_columns import BATCH_ROWS

# `wattgate keys`: create keys that encrypt stored secrets, rotate them, and show which are in use.

keys_app = typer.Typer(no_args_is_help=True, help="Manage the keys that encrypt stored secrets.")


@keys_app.command("new")
@dispatched
def keys_new() -> None:
    """Print a new key for WATTGATE_SECRET_KEYS.

    Example: wattgate keys new
    """


@keys_app.command("rotate")
@dispatched
def keys_rotate(
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="Rows that one transaction changes.")] = BATCH_ROWS,
) -> None:
    """Encrypt every stored secret with the first key of WATTGATE_SECRET_KEYS, and sign the list of erasures with it.

    All gateways and workers must have this key first already. You can interrupt the command and run it again. Remove
    the old keys after it.

    Example: wattgate keys rotate
    """


@keys_app.command("status")
@dispatched
def keys_status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: a list of objects.")] = False,
) -> None:
    """Show how many stored secrets each key encrypts. The exit status is 1 if a key in use is missing or wrong.

    Example: wattgate keys status --json
    """


# Commands that erase a user, and that export the data of a user into a file.


@dispatched
def user_erase(
    user: UserArgument,
    application: OptionalApplication = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Erase a user: all personal data, at once. Readings and tariffs by meter point are kept for billing.

    Example: wattgate user erase ada@example.org
    """


@dispatched
def user_export(
    user: UserArgument,
    file: Annotated[Path, typer.Argument(help="ZIP file to write. It must not exist.")],
    application: OptionalApplication = None,
) -> None:
    """Export all data of a user into a ZIP file. Only you can read the file.

    Example: wattgate user export ada@example.org ada.zip
    """


audit_app = typer.Typer(no_args_is_help=True, help="Export and check the audit log of administrative acts.")


@audit_app.command("export")
@dispatched
def audit_export(
    application: Annotated[str, typer.Option(help="Name or ID of the application.")],
    after: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Sequence number of the last entry that you have.")
    ] = 0,
) -> None:
    """Print the entries of an application as JSON, one on each line, oldest first.

    Example: wattgate audit export --application APPLICATION > audit.jsonl
    """


@audit_app.command("verify")
@dispatched
def audit_verify(
    application: Annotated[
        str | None, typer.Option(help="Name or ID of the application. The default is all of them.")
    ] = None,
) -> None:
    """Check that no entry was changed, removed or moved. The exit status is 1 if one was, or if there is no entry.

    Example: wattgate audit verify --application APPLICATION
    """
