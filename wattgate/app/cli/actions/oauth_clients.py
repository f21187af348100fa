"""Carry out `wattgate oauth-client create`."""

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.settings import Settings
from wattgate.operations.accounts import oauth_clients
from wattgate.principal import Principal, Role


def oauth_client_create(*, application_id: str, name: str, redirect_uri: list[str], scope: str, public: bool) -> None:
    """Register an OAuth client and print its credential. The secret is shown only once."""
    arguments = {"name": name, "redirect_uris": redirect_uri, "scope": scope, "public": public}
    client = run_async(
        with_current_gateway(
            Settings(),
            lambda gateway: gateway.runner.run(
                oauth_clients.create_oauth_client, Principal(Role.SYSTEM, application_id=application_id), arguments
            ),
        )
    )
    out.print(f"Client id      {client.client_id}\nClient secret  {client.secret or 'none'}", soft_wrap=True)
