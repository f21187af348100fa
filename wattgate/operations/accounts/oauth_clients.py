"""Clients of OAuth 2.0: register them. For the command line."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from wattgate.db import models
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.errors import NotFound
from wattgate.operations.accounts.oauth import oauth_error, parse_scope
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.principal import OAUTH_SCOPES, Permission
from wattgate.values import terms

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class OAuthClientRegistration:
    """A new OAuth client and its secret, which is stored as a hash and cannot be shown again; None if it is public."""

    client_id: str
    secret: str | None


@operation(OperationKind.MUTATION, returns=OAuthClientRegistration, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def create_oauth_client(
    call: Call, *, name: terms.Text200, redirect_uris: list[str], scope: terms.Text200 = "read", public: bool = False
) -> OAuthClientRegistration:
    """Register an OAuth client that may ask users of the application for access."""
    for uri in redirect_uris:
        parts = urlsplit(uri)
        own_scheme = "." in parts.scheme  # of a phone app: a reversed domain name (RFC 8252, section 7.1)
        local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if parts.fragment or not (own_scheme or local or (parts.scheme == "https" and parts.hostname)):
            raise oauth_error(
                "redirectUris",
                f"{uri} is neither an https address, nor local http, nor an app's scheme such as com.example",
                "invalid_request",
            )
    if not redirect_uris:
        raise oauth_error("redirectUris", "is empty", "invalid_request")
    if await call.rows.application() is None:
        raise NotFound(f"No application with ID {call.rows.application_id}.")
    secret = None if public else new_secret()
    client = await call.rows.add(
        models.OAuthClient(
            name=name,
            redirect_uris=redirect_uris,
            scope=parse_scope(scope, within=" ".join(OAUTH_SCOPES)),
            secret_digest=hash_secret(secret) if secret else None,
        )
    )
    return OAuthClientRegistration(client.client_id, secret)
