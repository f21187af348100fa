"""`wattgate keys`: create keys that encrypt stored secrets, rotate them, and show which are in use."""

from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.db.encryption.batches import BATCH_ROWS

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
