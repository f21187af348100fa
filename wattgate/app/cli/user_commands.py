"""Commands for users and their accounts."""

from functools import partial
from typing import Annotated

import typer

from wattgate.app.cli.gateway_context import out, run_async, with_current_gateway
from wattgate.app.cli.record_lists import (
    JsonOption,
    LimitOption,
    OptionalApplication,
    print_records,
    run_in_application,
)
from wattgate.app.homes.lists import DEFAULT_LIMIT, list_accounts
from wattgate.app.settings import Settings
from wattgate.graphql.resolvers import provisioning
from wattgate.principal import Principal, Role

user_app = typer.Typer(no_args_is_help=True, help="Manage users and their accounts.")


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
    arguments = {
        "username": username,
        "password": password,
        "name": name,
        "culture_code": culture,
        "administrator": administrator,
        "template_editor": template_editor,
    }
    account = run_async(
        with_current_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(
                provisioning.create_user, Principal(Role.SYSTEM, application_id=application_id), arguments
            ),
        )
    )
    out.print(f"User id     {account.user_id}\nAccount id  {account.account_id}")


@user_app.command("list")
def user_list(
    application: OptionalApplication = None, limit: LimitOption = DEFAULT_LIMIT, as_json: JsonOption = False
) -> None:
    """List the accounts of the users of an application.

    Example: wattgate user list --json
    """
    accounts = run_in_application(application, partial(list_accounts, limit=limit + 1))
    records = [
        {
            "username": account.username,
            "name": account.name,
            "status": account.status,
            "administrator": account.administrator,
            "templateEditor": account.template_editor,
            "userId": account.user_id,
            "accountId": account.account_id,
        }
        for account in accounts
    ]
    print_records(records, limit, as_json=as_json)
