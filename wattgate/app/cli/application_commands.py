"""Commands for applications and their credentials."""

from typing import Annotated

import typer

from wattgate.app.cli.gateway_context import out, run_async, with_current_gateway
from wattgate.app.cli.record_lists import JsonOption, print_records, to_text
from wattgate.app.settings import Settings
from wattgate.db.applications import ApplicationSummary
from wattgate.delivery.templates.cultures import DEFAULT_CULTURE
from wattgate.enums import AccountRule, TokenCheck
from wattgate.graphql.resolvers import directories, provisioning
from wattgate.graphql.types import directories as types
from wattgate.principal import Principal, Role

app_app = typer.Typer(no_args_is_help=True, help="Manage applications. Every record belongs to one.")


@app_app.command("create")
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
    arguments = {"name": name, "username": username, "culture_code": culture}
    application = run_async(
        with_current_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments),
        )
    )
    _print_credential(application)


@app_app.command("list")
def app_list(as_json: JsonOption = False) -> None:
    """List the applications, with the usernames of their Basic credentials.

    Example: wattgate app list --json
    """
    system = Principal(Role.SYSTEM)
    applications: list[ApplicationSummary] = run_async(
        with_current_gateway(Settings(), lambda gateway: gateway.runner.run(provisioning.list_applications, system, {}))
    )
    records = [
        {
            "name": application.name,
            "applicationId": application.application_id,
            "usernames": list(application.usernames),
            "createdAt": to_text(application.created_at),
        }
        for application in applications
    ]
    print_records(records, len(records), as_json=as_json)


@app_app.command("rotate-secret")
def app_rotate_secret(username: Annotated[str, typer.Argument(help="Username of the Basic credential.")]) -> None:
    """Give a credential of an application a new secret, and print it once. The old secret ends immediately.

    Example: wattgate app rotate-secret my-app
    """
    rotate, system = provisioning.rotate_application_secret, Principal(Role.SYSTEM)
    _print_credential(
        run_async(
            with_current_gateway(Settings(), lambda gateway: gateway.runner.run(rotate, system, {"username": username}))
        )
    )


@app_app.command("add-directory")
def app_add_directory(
    application_id: Annotated[str, typer.Argument(help="ID of the application.")],
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
) -> None:
    """Add an OpenID Connect provider as a directory of an application, and print its ID.

    Example: wattgate app add-directory APPLICATION https://id.example --audience my-app --rule link
    """
    if client_secret is None and check is TokenCheck.INTROSPECTION:
        client_secret = typer.prompt("Client secret", hide_input=True)
    directory = types.NewDirectory(
        name=name or issuer,
        issuer=issuer,
        audiences=audience,
        algorithms=algorithm or ["RS256"],
        account_rule=rule,
        token_check=check,
        client_id=client_id,
        client_secret=client_secret,
    )
    system = Principal(Role.SYSTEM, application_id=application_id)
    added = run_async(
        with_current_gateway(
            Settings(), lambda gateway: gateway.runner.run(directories.add_directory, system, {"input": directory})
        )
    )
    out.print(f"Directory id  {added.directory_id}", soft_wrap=True)


def _print_credential(created: provisioning.CreatedApplication) -> None:
    out.print(
        f"Application id  {created.application_id}\nBasic           {created.username}:{created.secret}", soft_wrap=True
    )
