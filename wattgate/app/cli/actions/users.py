"""Carry out the commands for users and their accounts."""

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.settings import Settings
from wattgate.operations.accounts import provisioning
from wattgate.principal import Principal, Role


def user_create(
    *,
    application_id: str,
    username: str,
    password: str,
    name: str,
    culture: str | None,
    administrator: bool,
    template_editor: bool,
) -> None:
    """Create a user with an account in the directory of the application."""
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
