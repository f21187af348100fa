"""OAuth 2.0: authorization codes with PKCE, access tokens, and refresh tokens that rotate."""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity.credentials import digest, new_secret
from wattgate.db.rows import Rows
from wattgate.errors import BadInput, NotFound, Problem, Unauthenticated
from wattgate.graphql.core.cost_weights import HASHING
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.resolvers.users import UserRecord, record_of
from wattgate.graphql.services.login import TOKEN_LIFETIME, end_family, entered, issue, logged_in
from wattgate.graphql.types import oauth as types
from wattgate.principal import SCOPES, Permission

CODE_LIFETIME = timedelta(seconds=60)
REFRESH_LIFETIME = timedelta(days=90)
FRAMEWORK = "oauth"

_CHALLENGE = re.compile(r"^[A-Za-z0-9_-]{43}$")
"""What SHA-256 gives in base64url without padding (RFC 7636, section 4.2)."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Source = models.AuthorizationCode | models.RefreshToken
"""What tokens are given for."""


@dataclass(frozen=True, slots=True)
class Authorised:
    code: str
    exp: int
    account_id: str
    name: str
    state: str | None
    valid: bool = True


@dataclass(frozen=True, slots=True)
class Granted:
    access_token: str
    refresh_token: str
    scope: str
    token_type: str = "bearer"
    expires_in: int = int(TOKEN_LIFETIME.total_seconds())


@dataclass(frozen=True, slots=True)
class Registered:
    """A new OAuth client, with the secret that can be told at no other time; a public client has none."""

    client_id: str
    secret: str | None


@operation(
    Kind.MUTATION,
    returns=types.Authorisation,
    needs=Permission.ANYONE,
    rest=Rest("POST", "/auth/oauth"),
    weight=HASHING,
)
async def authorise(
    call: Call,
    *,
    username: str,
    password: str,
    client_id: str,
    redirect_uri: str,
    code_challenge: str,
    code_challenge_method: str = "S256",
    scope: str = "read",
    state: str | None = None,
    application_id: strawberry.ID | None = None,
    directory_id: strawberry.ID | None = None,
) -> Authorised:
    """Log a user in for an OAuth client, and get the authorization code that the client exchanges for tokens.

    `redirectUri` is one of the client's own, letter for letter; `scope` is read, write or both.
    """
    rows = entered(call, application_id)
    client = await _client_for(rows, client_id, redirect_uri)
    if code_challenge_method != "S256" or not _CHALLENGE.match(code_challenge):
        raise _bad("codeChallenge", "is not one by S256", "invalid_request")
    granted = _scope(scope, within=client.scope)
    account = await logged_in(rows, username, password, directory_id)
    code, expires_at = new_secret(), rows.now + CODE_LIFETIME
    await rows.delete(  # used ones stay as long as what was made from them, to know a second use
        models.AuthorizationCode,
        col(models.AuthorizationCode.account_id) == account.account_id,
        col(models.AuthorizationCode.expires_at) <= rows.now - REFRESH_LIFETIME,
    )
    await rows.add(
        models.AuthorizationCode(
            user_id=account.user_id,
            account_id=account.account_id,
            client_id=client.client_id,
            family=new_id(),
            digest=digest(code),
            redirect_uri=redirect_uri,
            code_challenge=code_challenge,
            scope=granted,
            expires_at=expires_at,
        )
    )
    return Authorised(code, to_ms(expires_at) // 1000, account.account_id, account.name, state)


@operation(Kind.QUERY, returns=types.OAuthUser, needs=Permission.USER_READ, rest=Rest("GET", "/auth/oauth"))
async def oauth_user(call: Call) -> UserRecord:
    """The user for whom the OAuth access token of this very call was issued. Other credentials are refused."""
    if call.principal.scopes is None or call.principal.user_id is None:
        raise Unauthenticated("this is not an OAuth access token")
    user = await call.rows.get(models.User, call.principal.user_id)
    return await record_of(call.rows, user, framework=FRAMEWORK)


@operation(Kind.MUTATION, returns=types.OAuthTokens, needs=Permission.ANYONE, rest=Rest("POST", "/auth/oauth/access"))
async def grant_oauth_tokens(
    call: Call,
    *,
    client_id: str,
    grant_type: str,
    client_secret: str | None = None,
    code: str | None = None,
    code_verifier: str | None = None,
    redirect_uri: str | None = None,
    refresh_token: str | None = None,
) -> Granted:
    """Exchange an authorization code or a refresh token for new tokens; each is good for one exchange.

    `grantType` is authorization_code (with code, codeVerifier and redirectUri) or refresh_token (with refreshToken).
    """
    client = await call.rows.oauth_client(client_id)
    if client is None or not client.active or not _knows_secret(client, client_secret):
        raise Unauthenticated("the client or its secret is not known", reason="invalid_client")
    rows = entered(call, client.application_id)
    if grant_type == "authorization_code":
        parts = _present(code=code, codeVerifier=code_verifier, redirectUri=redirect_uri)
        source: Source = await _redeemed(call, rows, client, *parts)
    elif grant_type == "refresh_token":
        source = await _refreshed(call, rows, client, *_present(refreshToken=refresh_token))
    else:
        raise _bad("grantType", "is neither authorization_code nor refresh_token", "unsupported_grant_type")
    return await _grant(rows, source, grant_type)


@operation(Kind.MUTATION, returns=Registered, needs=Permission.SYSTEM)
async def create_oauth_client(
    call: Call, *, name: str, redirect_uris: list[str], scope: str = "read", public: bool = False
) -> Registered:
    """Register software that asks users of the application for access."""
    for uri in redirect_uris:
        parts = urlsplit(uri)
        own_scheme = "." in parts.scheme  # of an app on a phone: a domain name backwards (RFC 8252, section 7.1)
        local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if parts.fragment or not (own_scheme or local or (parts.scheme == "https" and parts.hostname)):
            raise _bad("redirectUris", f"{uri} is neither https, nor local, nor an app's own", "invalid_request")
    if not redirect_uris:
        raise _bad("redirectUris", "is empty", "invalid_request")
    if await call.rows.application() is None:
        raise NotFound(f"no application with id {call.rows.application_id}")
    secret = None if public else new_secret()
    client = await call.rows.add(
        models.OAuthClient(
            name=name,
            redirect_uris=redirect_uris,
            scope=_scope(scope, within=" ".join(SCOPES)),
            secret_digest=digest(secret) if secret else None,
        )
    )
    return Registered(client.client_id, secret)


async def _client_for(rows: Rows, client_id: str, redirect_uri: str) -> models.OAuthClient:
    client = await rows.first(
        models.OAuthClient, col(models.OAuthClient.client_id) == client_id, col(models.OAuthClient.active).is_(True)
    )
    if client is None:
        raise _bad("clientId", "is not a client of the application", "invalid_client")
    if redirect_uri not in client.redirect_uris:
        raise _bad("redirectUri", "is not one of the client's", "invalid_request")
    return client


def _scope(asked: str, *, within: str) -> str:
    """The scopes asked for, each once. BadInput where one is not known or not the client's to ask."""
    names = sorted(set(asked.split()))
    if not names or not set(names) <= SCOPES.keys() & set(within.split()):
        raise _bad("scope", f"is not among {within}", "invalid_scope")
    return " ".join(names)


def _knows_secret(client: models.OAuthClient, secret: str | None) -> bool:
    """Whether a confidential client gave its secret. A public one has none; its proof is the code verifier."""
    if client.secret_digest is None:
        return True
    return hmac.compare_digest(client.secret_digest, digest(secret or ""))


def _present(**members: str | None) -> list[str]:
    missing = [Problem((name,), "is missing", missing=True) for name, value in members.items() if not value]
    if missing:
        raise BadInput("this grant needs more", problems=missing, reason="invalid_request")
    return [value for value in members.values() if value]


async def _redeemed(
    call: Call, rows: Rows, client: models.OAuthClient, code: str, verifier: str, redirect_uri: str
) -> models.AuthorizationCode:
    """The code, used from now on. A second use ends what was made of the first."""
    found = await rows.first(models.AuthorizationCode, col(models.AuthorizationCode.digest) == digest(code))
    if found is None or found.client_id != client.client_id:
        raise _no_grant()
    record = await rows.edit(models.AuthorizationCode, found.code_id)
    if record.used_at is not None:
        await end_family(call, rows, record.family)
        raise _no_grant()
    same = hmac.compare_digest(record.code_challenge, s256(verifier))
    if record.expires_at <= rows.now or record.redirect_uri != redirect_uri or not same:
        raise _no_grant()
    record.used_at = rows.now
    return record


async def _refreshed(call: Call, rows: Rows, client: models.OAuthClient, token: str) -> models.RefreshToken:
    """The refresh token, used from now on. A second use, by a thief or after one, ends its whole family."""
    found = await rows.first(models.RefreshToken, col(models.RefreshToken.digest) == digest(token))
    if found is None or found.client_id != client.client_id:
        raise _no_grant()
    record = await rows.edit(models.RefreshToken, found.refresh_token_id)
    if record.used_at is not None:
        await end_family(call, rows, record.family)
        raise _no_grant()
    if record.expires_at <= rows.now:
        raise _no_grant()
    record.used_at = rows.now
    return record


async def _grant(rows: Rows, source: Source, grant_type: str) -> Granted:
    """New tokens of the family of the code or refresh token for which they are given."""
    account = await rows.get(models.Account, source.account_id)
    if not account.active:
        raise _no_grant()
    access = await issue(
        rows,
        account,
        scope=source.scope,
        family=source.family,
        authentication_framework=FRAMEWORK,
        grant_type=grant_type,
    )
    refresh = new_secret()
    await rows.delete(
        models.RefreshToken,
        col(models.RefreshToken.account_id) == account.account_id,
        col(models.RefreshToken.expires_at) <= rows.now,
    )
    await rows.add(
        models.RefreshToken(
            user_id=account.user_id,
            account_id=account.account_id,
            client_id=source.client_id,
            family=source.family,
            digest=digest(refresh),
            scope=source.scope,
            expires_at=rows.now + REFRESH_LIFETIME,
        )
    )
    return Granted(access.token, refresh, source.scope)


def s256(verifier: str) -> str:
    """The code challenge of a verifier (RFC 7636, section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _no_grant() -> BadInput:
    """The one refusal of codes and refresh tokens; it does not say what is wrong with them."""
    return BadInput("the code or token is not good for tokens", reason="invalid_grant", kept=True)


def _bad(name: str, message: str, reason: str) -> BadInput:
    return BadInput(f"{name} {message}", problems=[Problem((name,), message)], reason=reason)
