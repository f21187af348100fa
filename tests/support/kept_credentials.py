"""Credentials that a user keeps from the time before an erasure, and which of them a gateway still accepts."""

from dataclasses import dataclass

from tests.support.house import PASSWORD, Tenant
from tests.support.people import CHALLENGE, REDIRECT, VERIFIER, anonymously, oauth_client, paired_display
from wattgate.app.server.components import Components
from wattgate.app.server.gate.auth import Authenticator
from wattgate.app.server.gate.identity import create_identity
from wattgate.app.settings import Settings
from wattgate.errors import GatewayError
from wattgate.operations.accounts import oauth
from wattgate.operations.credentials import tokens
from wattgate.principal import Principal, Role

EVERY_KIND = {"password", "token", "OAuth token", "refresh token", "display"}


@dataclass(frozen=True)
class KeptCredentials:
    """The credentials of the user of a tenant, and the client that has its refresh token."""

    tenant: Tenant
    tokens: dict[str, str]
    client: dict[str, str]
    refresh_token: str


async def keep_credentials(tenant: Tenant) -> KeptCredentials:
    """Log the user of a tenant in, allow an OAuth client, and pair a display."""
    client = await oauth_client(tenant)
    user = {"username": tenant.username, "password": PASSWORD}
    created = await anonymously(
        tenant,
        oauth.authorise,
        **user,
        client_id=client["clientId"],
        redirect_uri=REDIRECT,
        code_challenge=CHALLENGE,
        scope="read write",
    )
    granted = await anonymously(
        tenant,
        oauth.grant_oauth_tokens,
        client_id=client["clientId"],
        client_secret=client["clientSecret"],
        grant_type="authorization_code",
        code=created.code,
        code_verifier=VERIFIER,
        redirect_uri=REDIRECT,
    )
    display, _ = await paired_display(tenant)
    kept = {
        "token": tenant.headers["account"]["token"],
        "OAuth token": granted.access_token,
        "display": display["token"],
    }
    return KeptCredentials(tenant, kept, client, granted.refresh_token)


async def accepted_credentials(gateway: Components, kept: KeptCredentials) -> set[str]:
    """Return the kinds of credentials that a gateway accepts. The refresh token is not valid after that."""
    application_id, accepted = kept.tenant.application_id, set[str]()
    log_in = {"application_id": application_id, "username": kept.tenant.username, "password": PASSWORD}
    refresh = {"client_id": kept.client["clientId"], "client_secret": kept.client["clientSecret"]}
    refresh |= {"grant_type": "refresh_token", "refresh_token": kept.refresh_token}
    anonymous = Principal(Role.ANONYMOUS, application_id=application_id)
    identity = create_identity(Settings(_env_file=None), gateway.database, gateway.address_limits, gateway.budgets)
    authenticate = Authenticator(identity).authenticate
    attempts = {kind: authenticate({"token": token}) for kind, token in kept.tokens.items()}
    attempts |= {
        "password": gateway.runner.run(tokens.authenticate, Principal(Role.ANONYMOUS), log_in),
        "refresh token": gateway.runner.run(oauth.grant_oauth_tokens, anonymous, refresh),
    }
    for kind, attempt in attempts.items():
        try:
            await attempt
            accepted.add(kind)
        except GatewayError:
            continue
    return accepted
