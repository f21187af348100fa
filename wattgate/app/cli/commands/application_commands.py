"""Commands for applications, their credentials and their users."""

from typing import Annotated

import typer

from wattgate.app.cli.commands.dispatch import dispatched
from wattgate.app.cli.record_options import DEFAULT_LIMIT, JsonOption, LimitOption, OptionalApplication
from wattgate.delivery.templates.language.cultures import DEFAULT_CULTURE
from wattgate.enums import AccountRule, TokenCheck

app_app = typer.Typer(no_args_is_help=True, help="Manage applications. Every record belongs to one.")


@app_app.command("create")
@dispatched
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


@app_app.command("list")
@dispatched
def app_list(as_json: JsonOption = False) -> None:
    """List the applications, with the usernames of their Basic credentials.

    Example: wattgate app list --json
    """


@app_app.command("rotate-secret")
@dispatched
def app_rotate_secret(username: Annotated[str, typer.Argument(help="Username of the Basic credential.")]) -> None:
    """Give a credential of an application a new secret, and print it once. The old secret ends immediately.

    Example: wattgate app rotate-secret my-app
    """


@app_app.command("add-directory")
@dispatched
def app_add_directory(
    application: Annotated[str, typer.Argument(help="Name or ID of the application.")],
    issuer: Annotated[str, typer.Argument(help="Issuer of the tokens: an https URL, exactly as in the tokens.")],
    audience: Annotated[list[str], typer.Option(help="Accepted audience of tokens. Repeat it for several.")],
    name: Annotated[str, typer.Option(help="Name of the directory for people. Default: the issuer.")] = "",
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Accepted signature algorithm. Repeat it for several. Default: RS256.")
    ] = None,
    rule: Annotated[
        AccountRule,
        typer.Option(help="Users who may log in without an account in the directory.", case_sensitive=False),
    ] = AccountRule.EXISTING,
    check: Annotated[
        TokenCheck, typer.Option(help="How to check whether a token is still valid.", case_sensitive=False)
    ] = TokenCheck.SIGNATURE,
    client_id: Annotated[str, typer.Option(help="Client ID of the gateway, for INTROSPECTION.")] = "",
    client_secret: Annotated[
        str | None, typer.Option(help="Client secret of the gateway. Without it, INTROSPECTION asks for it.")
    ] = None,
    no_try: Annotated[
        bool, typer.Option("--no-try", help="Also add a provider that does not respond now, or has no key yet.")
    ] = False,
) -> None:
    """Add an OpenID Connect provider as a directory of an application, and print its ID.

    The command first tries the provider: its metadata must name the issuer, and a key must fit an algorithm.

    Example: wattgate app add-directory APPLICATION https://id.example --audience my-app --rule link
    """


# Commands for users and their accounts.

UserArgument = Annotated[str, typer.Argument(help="Username or ID of the user.")]

user_app = typer.Typer(no_args_is_help=True, help="Manage users and their accounts.")


@user_app.command("create")
@dispatched
def user_create(
    application: Annotated[str, typer.Argument(help="Name or ID of the application that the user belongs to.")],
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
    application: OptionalApplication = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="List only accounts with this text in the username, e-mail address or name of the person, "
            "and those of users with this meter point.",
        ),
    ] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    as_json: JsonOption = False,
) -> None:
    """List the accounts of the users of an application.

    Example: wattgate user list --search 2300000000116
    """


@user_app.command("set-password")
@dispatched
def user_set_password(user: UserArgument, application: OptionalApplication = None) -> None:
    """Set a new password of a user, for a customer who has lost the old one and gets no mail.

    The command asks for the password on a terminal, and reads the first line of standard input otherwise. All tokens,
    displays and connections of the account end. The user gets a mail that the password was changed.

    Example: wattgate user set-password ada@example.org
    """


@user_app.command("suspend")
@dispatched
def user_suspend(user: UserArgument, application: OptionalApplication = None) -> None:
    """Suspend a user: nobody can log in, and all tokens, displays and connections end at once. Nothing is erased.

    Devices and imports still record readings, and the application's webhook endpoints still get events.

    Example: wattgate user suspend ada@example.org
    """


@user_app.command("reopen")
@dispatched
def user_reopen(user: UserArgument, application: OptionalApplication = None) -> None:
    """Reopen a suspended user. The user logs in with the password from before, and pairs displays again.

    Example: wattgate user reopen ada@example.org
    """
