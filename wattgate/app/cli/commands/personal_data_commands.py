"""Commands that erase a user, and that export the data of a user into a file."""

from pathlib import Path
from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import JsonOption, OptionalApplication

UserArgument = Annotated[str, typer.Argument(help="Username or ID of the user.")]


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
