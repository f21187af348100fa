"""Carry out the commands for applications, users and OAuth clients."""

import typer

from wattgate.app.cli.checks.directories import describe_fault
from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import run_in, system_of, with_current_gateway
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.db import models
from wattgate.delivery.openid.client import OpenIdClient
from wattgate.delivery.openid.keys import ALGORITHMS
from wattgate.enums import AccountRule, TokenCheck
from wattgate.errors import BadInput
from wattgate.operations.accounts import oauth, provisioning
from wattgate.operations.credentials import directories
from wattgate.operations.types.identity import directories as types
from wattgate.principal import Principal, Role


def app_create(*, name: str, username: str, culture: str) -> None:
    """Create an application and print its credential. The secret is shown only once."""
    arguments = {"name": name, "username": username, "culture_code": culture}
    application = run_async(
        with_current_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments),
        )
    )
    _print_credential(application)


def app_rotate_secret(*, username: str) -> None:
    """Give a credential of an application a new secret, and print it once. The old secret ends immediately."""
    rotate, system = provisioning.rotate_application_secret, Principal(Role.SYSTEM)
    _print_credential(
        run_async(
            with_current_gateway(Settings(), lambda gateway: gateway.runner.run(rotate, system, {"username": username}))
        )
    )


def app_add_directory(
    *,
    application: str,
    issuer: str,
    audience: list[str],
    name: str,
    algorithm: list[str] | None,
    rule: AccountRule,
    check: TokenCheck,
    client_id: str,
    client_secret: str | None,
    no_try: bool,
) -> None:
    """Add an OpenID Connect provider as a directory of an application, and print its ID."""
    algorithms = algorithm or ["RS256"]
    if client_secret is None and check is TokenCheck.INTROSPECTION:
        client_secret = typer.prompt("Client secret", hide_input=True)
    directory = types.NewDirectory(
        name=name or issuer,
        issuer=issuer,
        audiences=audience,
        algorithms=algorithms,
        account_rule=rule,
        token_check=check,
        client_id=client_id,
        client_secret=client_secret,
    )

    async def add(gateway: Components) -> models.Directory:
        system = await system_of(gateway.runner, application)
        is_known = set(algorithms) <= set(ALGORITHMS)  # the operation names others
        if is_known and not no_try:
            client = OpenIdClient(settings.egress_policy)
            fault = await client.try_provider(issuer, algorithms, system.application_id or "")
            if fault is not None:
                raise BadInput(f"{describe_fault(issuer, fault)}. --no-try adds a provider that does not respond now.")
        added: models.Directory = await gateway.runner.run(directories.add_directory, system, {"input": directory})
        return added

    settings = Settings()
    added = run_async(with_current_gateway(settings, add))
    out.print(f"Directory id  {added.directory_id}", soft_wrap=True)


def _print_credential(created: provisioning.CreatedApplication) -> None:
    out.print(
        f"Application id  {created.application_id}\nBasic           {created.username}:{created.secret}", soft_wrap=True
    )


def user_create(
    *,
    application: str,
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
    account = run_in(application, provisioning.create_user, arguments)
    out.print(f"User id     {account.user_id}\nAccount id  {account.account_id}")


def oauth_client_create(*, application: str, name: str, redirect_uri: list[str], scope: str, public: bool) -> None:
    """Register an OAuth client and print its credential. The secret is shown only once."""
    arguments = {"name": name, "redirect_uris": redirect_uri, "scope": scope, "public": public}
    client = run_in(application, oauth.create_oauth_client, arguments)
    out.print(f"Client id      {client.client_id}\nClient secret  {client.secret or 'none'}", soft_wrap=True)
