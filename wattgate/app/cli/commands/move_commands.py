"""The command that moves everything at a meter point to the next user."""

from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import JsonOption, OptionalApplication

DEFAULT_HOME_NAME = "Home"


@dispatched
def move(
    mpxn: Annotated[str, typer.Argument(metavar="MPXN", help="Number of the meter point.")],
    user: Annotated[str, typer.Option(help="Username or ID of the user who moves in.")],
    application: OptionalApplication = None,
    new_user: Annotated[
        bool, typer.Option("--new-user", help="Create the user. The username is an e-mail address.")
    ] = False,
    moved_in: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When the user moved in, such as 2026-03-01. Default: now."),
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(help="IANA time zone of --moved-in. Default: that of the home before, or UTC without one."),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Device that moves. Repeat it. Default: those that measure the meter point."),
    ] = None,
    keep_devices: Annotated[bool, typer.Option("--keep-devices", help="Move no device.")] = False,
    home: Annotated[
        str, typer.Option(help="Name of the home of the user that the new resources join. A new name creates one.")
    ] = DEFAULT_HOME_NAME,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what changes hands and what stays. Change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Move a meter point to the user who moves in, with its resources and devices, in one transaction.

    The command lists what changes hands and what stays, and asks for confirmation. The former user keeps the readings
    until the move, and the next one starts without. It asks for the password of a new user on a terminal; otherwise it
    generates one and prints it once.

    Example: wattgate move 2300000000116 --user bob@example.org --new-user --moved-in 2026-03-01
    """
