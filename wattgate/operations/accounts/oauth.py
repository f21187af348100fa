"""OAuth 2.0: authorization codes with PKCE, access tokens and rotating refresh tokens."""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.column_types import new_id
from wattgate.db.identity.credential_locks import lock_user
from wattgate.db.identity.display_uses import DISPLAY_LIFETIME
from wattgate.db.identity.secrets import hash_secret, new_secret
from wattgate.db.rows.rows import Rows
from wattgate.enums import PairingState
from wattgate.errors import BadInput, NotFound, Problem, QuotaExceeded, SecondFactorRequired, Unauthenticated
from wattgate.operations.accounts.users import build_user
from wattgate.operations.core.operation import OWN_ACCOUNT_ONLY, Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.credentials.credential_endings import end_grant
from wattgate.operations.credentials.login import issue_token, log_in, rows_for_login
from wattgate.operations.homes.display_pairing import DEVICE_GRANT, ClaimedPairing, claim_pairing
from wattgate.operations.types.users import users as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import PASSWORD_HASH_WEIGHT
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import OAUTH_SCOPES, Permission
from wattgate.requests.client import AddressPolicy
from wattgate.values import terms
from wattgate.values.annotations import Described, MaxCharacters

CODE_LIFETIME = timedelta(seconds=60)
REFRESH_LIFETIME = timedelta(days=90)
OAUTH_FRAMEWORK = "oauth"

_S256_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
"""A SHA-256 digest in base64url without padding (RFC 7636, section 4.2)."""


GrantSource = models.AuthorizationCode | models.RefreshToken
Source = TypeVar("Source", models.AuthorizationCode, models.RefreshToken)
"""The credentials that a client exchanges for tokens."""


@operation(
    OperationKind.MUTATION,
    returns=types.Authorisation,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("POST", "/auth/oauth", Tag.LOGIN),
    raises=(SecondFactorRequired, NotFound),
    weight=PASSWORD_HASH_WEIGHT,
)
async def authorise(
    call: Call,
    *,
    username: terms.Username,
    password: terms.Password,
    client_id: terms.ClientId,
    redirect_uri: terms.RedirectUri,
    code_challenge: Annotated[
        str,
        MaxCharacters(128),
        Described("PKCE challenge: the SHA-256 hash of the verifier, in base64url without padding."),
    ],
    code_challenge_method: Annotated[terms.Text100, Described("PKCE challenge method. Only S256 is valid.")] = "S256",
    scope: Annotated[terms.Text200, Described("Requested OAuth scopes, separated by spaces: read, write.")] = "read",
    state: Annotated[terms.Text2000, Described("Opaque value of the client, which the result returns unchanged.")]
    | None = None,
    application_id: ids.LoginApplicationId | None = None,
    directory_id: ids.LoginDirectoryId | None = None,
    code: terms.SecondFactorCode | None = None,
) -> types.Authorisation:
    """Log a user in for an OAuth client and return an authorization code, which the client exchanges for tokens.

    `redirectUri` must be registered for the client; `scope` is read, write or both. An account with a second factor
    also needs `code`.
    """
    rows = rows_for_login(call, application_id)
    client = await _find_client(rows, client_id, redirect_uri)
    if code_challenge_method != "S256" or not _S256_CHALLENGE.fullmatch(code_challenge):
        raise oauth_error("codeChallenge", "is not an S256 challenge of 43 base64url characters", "invalid_request")
    granted = parse_scope(scope, within=client.scope)
    account = await log_in(call, rows, username, password, directory_id, code)
    issued_code, expires_at = await _issue_code(rows, account, client, granted, redirect_uri, code_challenge)
    return types.Authorisation(
        valid=True,
        code=issued_code,
        expires_at=expires_at,
        account_id=Id(account.account_id),
        name=account.name,
        state=state,
    )


@operation(
    OperationKind.QUERY,
    returns=types.OAuthUser,
    needs=Permission.USER_READ,
    rest=RestRoute("GET", "/auth/oauth", Tag.LOGIN),
    raises=(NotFound,),
)
async def oauth_user(call: Call) -> types.OAuthUser:
    """Return the user for whom the OAuth access token of this request was issued.

    Other credentials return an error.
    """
    if call.principal.oauth_scopes is None or call.principal.user_id is None:
        raise Unauthenticated("The credentials are not an OAuth access token.")
    user = await call.rows.get(models.User, call.principal.user_id)
    return types.OAuthUser(**vars(await build_user(call.rows, user)), authentication_framework=OAUTH_FRAMEWORK)


@operation(
    OperationKind.MUTATION,
    returns=types.OAuthTokens,
    needs=Permission.ANYONE,
    audit=OWN_ACCOUNT_ONLY,
    rest=RestRoute("POST", "/auth/oauth/access", Tag.LOGIN),
    raises=(NotFound, QuotaExceeded),
    address_policy=AddressPolicy.CODE,
    application_argument="client_id",
)
async def grant_oauth_tokens(
    call: Call,
    *,
    client_id: terms.ClientId,
    grant_type: Annotated[terms.Text100, Described("OAuth grant type: authorization_code or refresh_token.")],
    client_secret: Annotated[terms.Secret, Described("Secret of a confidential OAuth client. Public clients omit it.")]
    | None = None,
    code: Annotated[terms.Secret, Described("Authorization code. Required for the grant type authorization_code.")]
    | None = None,
    code_verifier: Annotated[
        str,
        MaxCharacters(128),
        Described("PKCE verifier that belongs to the challenge. Required for the grant type authorization_code."),
    ]
    | None = None,
    redirect_uri: terms.RedirectUri | None = None,
    refresh_token: Annotated[terms.Secret, Described("Refresh token. Required for the grant type refresh_token.")]
    | None = None,
    device_code: terms.DeviceCode | None = None,
) -> types.OAuthTokens:
    """Exchange an authorization code, a refresh token or a device code for new tokens. Each is valid once.

    `grantType` is authorization_code (with code, codeVerifier and redirectUri), refresh_token (with refreshToken), or
    urn:ietf:params:oauth:grant-type:device_code (with deviceCode, and the application ID as clientId). A device code
    gives the token of a display. It does not have to be refreshed, so `refreshToken` is empty.
    """
    if grant_type == DEVICE_GRANT:
        (code_of_device,) = _require_arguments(deviceCode=device_code)
        return _display_tokens(await claim_pairing(call, rows_for_login(call, client_id), code_of_device))
    client = await call.rows.oauth_client(client_id)
    if client is None or not client.active or not _is_secret_valid(client, client_secret):
        raise Unauthenticated("The client id or the client secret is wrong.", reason="invalid_client")
    rows = rows_for_login(call, client.application_id)
    if grant_type == "authorization_code":
        parts = _require_arguments(code=code, codeVerifier=code_verifier, redirectUri=redirect_uri)
        source: GrantSource = await _redeem_code(call, rows, client, *parts)
    elif grant_type == "refresh_token":
        source = await _redeem_refresh_token(call, rows, client, *_require_arguments(refreshToken=refresh_token))
    else:
        raise oauth_error(
            "grantType", f"is not authorization_code, refresh_token or {DEVICE_GRANT}", "unsupported_grant_type"
        )
    tokens = await _issue_tokens(call, rows, source, grant_type)
    call.refund_address(AddressPolicy.CODE)  # the server of a client refreshes the tokens of many users
    return tokens


async def _find_client(rows: Rows, client_id: str, redirect_uri: str) -> models.OAuthClient:
    client = await rows.first(
        models.OAuthClient, col(models.OAuthClient.client_id) == client_id, col(models.OAuthClient.active).is_(True)
    )
    if client is None:
        raise oauth_error("clientId", "is not a client of the application", "invalid_client")
    if redirect_uri not in client.redirect_uris:
        raise oauth_error("redirectUri", "is not one of the client's redirect URIs", "invalid_request")
    return client


def parse_scope(requested: str, *, within: str) -> str:
    """Return the requested scopes, sorted, each once. Raise BadInput if one is unknown or not the client's."""
    names = sorted(set(requested.split()))
    if not names or not set(names) <= OAUTH_SCOPES.keys() & set(within.split()):
        raise oauth_error("scope", f"is not among {within}", "invalid_scope")
    return " ".join(names)


def _is_secret_valid(client: models.OAuthClient, secret: str | None) -> bool:
    """Return whether the secret is right. A public client has none: it is verified by the code verifier instead."""
    if client.secret_digest is None:
        return True
    return hmac.compare_digest(client.secret_digest, hash_secret(secret or ""))


def _require_arguments(**members: str | None) -> list[str]:
    missing = [Problem((name,), "is missing", is_missing=True) for name, value in members.items() if not value]
    if missing:
        raise BadInput(
            "Missing arguments for this grant type. See `problems`.", problems=missing, reason="invalid_request"
        )
    return [value for value in members.values() if value]


async def _issue_code(
    rows: Rows, account: models.Account, client: models.OAuthClient, scope: str, redirect_uri: str, code_challenge: str
) -> tuple[str, datetime]:
    """Store a new authorization code. Return the code and when it expires."""
    code, expires_at = new_secret(), rows.now + CODE_LIFETIME
    await rows.delete(  # keep used codes as long as their tokens, to detect a second use
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
            digest=hash_secret(code),
            redirect_uri=redirect_uri,
            code_challenge=code_challenge,
            scope=scope,
            created_at=rows.now,
            expires_at=expires_at,
        )
    )
    return code, expires_at


async def _redeem_code(
    call: Call, rows: Rows, client: models.OAuthClient, code: str, verifier: str, redirect_uri: str
) -> models.AuthorizationCode:
    """Mark a code as used and return it. A second use invalidates the tokens that were issued for the first."""
    known = await rows.first(models.AuthorizationCode, col(models.AuthorizationCode.digest) == hash_secret(code))
    if known is None or known.client_id != client.client_id:
        raise _invalid_grant()
    record = await _edit_source(rows, models.AuthorizationCode, known.user_id, known.code_id)
    if record.used_at is not None:
        await end_grant(call, rows, record.family)
        raise _invalid_grant()
    same = hmac.compare_digest(record.code_challenge, s256(verifier))
    if record.expires_at <= rows.now or record.redirect_uri != redirect_uri or not same:
        raise _invalid_grant()
    record.used_at = rows.now
    return record


async def _redeem_refresh_token(call: Call, rows: Rows, client: models.OAuthClient, token: str) -> models.RefreshToken:
    """Mark a refresh token as used and return it.

    A second use indicates a stolen token. It invalidates all tokens of the family.
    """
    known = await rows.first(models.RefreshToken, col(models.RefreshToken.digest) == hash_secret(token))
    if known is None or known.client_id != client.client_id:
        raise _invalid_grant()
    record = await _edit_source(rows, models.RefreshToken, known.user_id, known.refresh_token_id)
    if record.used_at is not None:
        await end_grant(call, rows, record.family)
        raise _invalid_grant()
    if record.expires_at <= rows.now:
        raise _invalid_grant()
    record.used_at = rows.now
    return record


async def _edit_source(rows: Rows, model: type[Source], user_id: str, key: str) -> Source:
    """Return a code or refresh token for changes. Raise BadInput if its account has ended since it was found.

    The lock of the user comes first: what ends the account deletes the tokens of this exchange with all others.
    """
    await lock_user(rows, user_id)
    try:
        return await rows.edit(model, key)
    except NotFound:
        raise _invalid_grant() from None


async def _issue_tokens(call: Call, rows: Rows, source: GrantSource, grant_type: str) -> types.OAuthTokens:
    """Issue an access and a refresh token in the family of the code or refresh token, until the end of the grant."""
    account = await rows.get(models.Account, source.account_id)
    if not account.active:
        raise _invalid_grant()
    granted_at = (source.granted_at if isinstance(source, models.RefreshToken) else None) or source.created_at
    grant_end = granted_at + call.account_policy.grant_lifetime
    if grant_end <= rows.now:
        raise _invalid_grant()
    access = await issue_token(
        call,
        rows,
        account,
        until=grant_end,
        scope=source.scope,
        family=source.family,
        authentication_framework=OAUTH_FRAMEWORK,
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
            digest=hash_secret(refresh),
            scope=source.scope,
            created_at=rows.now,
            granted_at=granted_at,
            expires_at=min(rows.now + REFRESH_LIFETIME, grant_end),
        )
    )
    return types.OAuthTokens(
        token_type="bearer",  # noqa: S106 (not a credential)
        access_token=access.token,
        expires_in=to_ms(access.expires_at) // 1000 - to_ms(rows.now) // 1000,
        refresh_token=refresh,
        scope=source.scope,
    )


def _display_tokens(claimed: ClaimedPairing) -> types.OAuthTokens:
    """Return the tokens of a paired display. Raise BadInput with the reason of RFC 8628 if it has none yet."""
    if claimed.state is PairingState.PENDING:
        reason = "slow_down" if claimed.is_too_early else "authorization_pending"
        message = f"The user has not answered yet. Retry in {claimed.interval} s."
        raise BadInput(message, reason=reason, retry_after=claimed.interval, commits_changes=True)
    if claimed.token is None:
        raise BadInput("The user has refused the display.", reason="access_denied")
    return types.OAuthTokens(
        token_type="bearer",  # noqa: S106 (not a credential)
        access_token=claimed.token,
        expires_in=int(DISPLAY_LIFETIME.total_seconds()),
        refresh_token="",
        scope="read",
    )


def s256(verifier: str) -> str:
    """Return the code challenge of a verifier (RFC 7636, section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _invalid_grant() -> BadInput:
    """Return the error for every invalid code or refresh token. It does not reveal what is wrong."""
    return BadInput(
        "The authorization code or refresh token is invalid, expired or already used.",
        reason="invalid_grant",
        commits_changes=True,
    )


def oauth_error(name: str, message: str, reason: str) -> BadInput:
    """Return the error for an argument. `reason` is the code of RFC 6749, section 5.2."""
    return BadInput(f"{name} {message}.", problems=[Problem((name,), message)], reason=reason)


# Clients of OAuth 2.0: register them. For the command line.

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
