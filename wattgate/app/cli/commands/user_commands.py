"""Commands for users and their accounts."""

from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import DEFAULT_LIMIT, JsonOption, LimitOption, OptionalApplication

user_app = typer.Typer(no_args_is_help=True, help="Manage users and their accounts.")


@user_app.command("create")
@dispatched
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
    culture: Annotated[
        str | None,
        typer.Option(help="Language and region of messages to the user. Default: the culture of the application."),
    ] = None,
    administrator: Annotated[
        bool, typer.Option(help="Allow the user to manage the records of the application.")
    ] = False,
    template_editor: Annotated[
        bool,
        typer.Option(help="Allow the user to edit the templates of the application, and no records of other users."),
    ] = False,
) -> None:
    """Create a user with an account in the directory of the application.

    Example: wattgate user create APPLICATION ada@example.org --name "Ada"
    """


@user_app.command("list")
@dispatched
def user_list(
    application: OptionalApplication = None, limit: LimitOption = DEFAULT_LIMIT, as_json: JsonOption = False
) -> None:
    """List the accounts of the users of an application.

    Example: wattgate user list --json
    """
