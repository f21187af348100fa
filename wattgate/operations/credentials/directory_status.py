"""Whether the token of an account is still good: in the gateway's own tables, or according to an external directory."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import col

from wattgate.db import models
from wattgate.db.rows.rows import Rows
from wattgate.delivery.openid.client import ProviderClient
from wattgate.delivery.openid.tokens import RejectedToken, read_issuer
from wattgate.errors import NO_CREDENTIALS, Forbidden, GatewayError, Unauthenticated
from wattgate.operations.core.operation import Preparation
from wattgate.operations.credentials.directory_log_ins import (
    VerifiedToken,
    find_external_account,
    provider_client,
    verify_directory_token,
)
from wattgate.operations.credentials.login import rows_of_application
from wattgate.requests.client import AddressPolicy

MAX_SAME_ISSUER = 10
"""Maximum directories of an application with the same issuer that a token is compared with."""


@dataclass(frozen=True, slots=True)
class DirectoryAnswer:
    """The answer of an account's directory about a token. The dates are None unless the token is valid."""

    account_id: str
    valid: bool
    reason: str | None = None
    issued_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _StoredToken:
    """The newest token of an external directory's account, decrypted. `directory` is None for a local account."""

    account_id: str
    directory: models.Directory | None = None
    client: ProviderClient | None = None
    token: str | None = None
    access_token: str | None = None


async def ask_about_account(preparation: Preparation, account_id: str) -> DirectoryAnswer | None:
    """Return what the external directory of an account says about its newest token. None for a local account."""
    stored: _StoredToken = await preparation.read(lambda rows: _load_stored_token(rows, account_id))
    if stored.directory is None or stored.client is None:
        return None
    if not stored.directory.active:
        return DirectoryAnswer(account_id, False, "The directory is not active.")
    if stored.token is None:
        return DirectoryAnswer(account_id, False, "The account has no token of the directory. Log in with one.")
    try:
        verified = await verify_directory_token(
            preparation, stored.directory, stored.client, stored.token, stored.access_token, is_charged=False
        )
    except RejectedToken as rejected:
        return DirectoryAnswer(account_id, False, rejected.message)
    return _confirmed(account_id, verified)


async def ask_about_presented_token(preparation: Preparation, token: str | None) -> DirectoryAnswer:
    """Return what the directory that issued the token of this request says about it.

    Raise Unauthenticated if no directory of the application confirms it, and Forbidden if no account belongs to it.
    """
    if token is None:
        raise Unauthenticated(NO_CREDENTIALS)
    candidates = await preparation.read(lambda rows: _directories_of_issuer(rows, preparation, read_issuer(token)))
    refusal: GatewayError = RejectedToken("has another issuer (iss) than the directories of the application")
    for directory, client in candidates:  # several, if the application accepts several audiences by different rules
        try:
            known = await _verify_and_find_account(preparation, directory, token)
        except (RejectedToken, Forbidden) as error:
            refusal = refusal if isinstance(refusal, Forbidden) else error
            continue
        access_token = known.access_token if known.token == token else None
        return _confirmed(
            known.account_id, await verify_directory_token(preparation, directory, client, token, access_token)
        )
    await preparation.address_limits.charge(AddressPolicy.LOGIN, preparation.client)
    raise refusal


async def _verify_and_find_account(preparation: Preparation, directory: models.Directory, token: str) -> _StoredToken:
    verified = await verify_directory_token(preparation, directory, ProviderClient(), token, is_charged=False)
    claims = verified.claims
    known: _StoredToken = await preparation.read(
        lambda rows: _known_account(rows, preparation, directory, claims.subject)
    )
    return known


async def ask_own_directory(rows: Rows, account: models.Account, token_id: str | None = None) -> DirectoryAnswer:
    """Return whether the token with this ID, or the account's newest token, is valid in the gateway's own tables."""
    token = await rows.first(
        models.Token,
        col(models.Token.account_id) == account.account_id,
        col(models.Token.expires_at) > rows.now,
        col(models.Token.token_id) == token_id if token_id else True,
        order_by=[col(models.Token.created_at).desc()],
    )
    if token is None:
        return DirectoryAnswer(account.account_id, False, "The account has no valid token.")
    return DirectoryAnswer(account.account_id, True, None, token.created_at, token.expires_at)


def _confirmed(account_id: str, verified: VerifiedToken) -> DirectoryAnswer:
    claims = verified.claims
    return DirectoryAnswer(account_id, True, None, claims.issued_at, claims.expires_at)


async def _load_stored_token(rows: Rows, account_id: str) -> _StoredToken:
    account = await rows.get(models.Account, account_id)
    external = await rows.first(models.ExternalAccount, col(models.ExternalAccount.account_id) == account_id)
    if external is None:
        return _StoredToken(account.account_id)
    with rows.whole_application() as all_rows:
        directory = await all_rows.get(models.Directory, external.directory_id)
    return _decrypt(rows, external, directory)


def _decrypt(rows: Rows, external: models.ExternalAccount, directory: models.Directory) -> _StoredToken:
    return _StoredToken(
        external.account_id,
        directory,
        provider_client(rows, directory),
        *(
            rows.decrypt(models.ExternalAccount, external, column) if getattr(external, column) else None
            for column in ("token", "access_token")
        ),
    )


async def _directories_of_issuer(
    rows: Rows, preparation: Preparation, issuer: str | None
) -> list[tuple[models.Directory, ProviderClient]]:
    """Return the active directories of the caller's application with an issuer, oldest first."""
    of_application = rows_of_application(rows, preparation.principal, None)
    directories = await of_application.all(
        models.Directory,
        col(models.Directory.issuer) == (issuer or ""),
        col(models.Directory.active).is_(True),
        order_by=[col(models.Directory.created_at)],
        limit=MAX_SAME_ISSUER,
    )
    return [(directory, provider_client(of_application, directory)) for directory in directories]


async def _known_account(
    rows: Rows, preparation: Preparation, directory: models.Directory, subject: str
) -> _StoredToken:
    of_application = rows_of_application(rows, preparation.principal, None)
    external = await find_external_account(of_application, directory, subject)
    if external is None:
        raise Forbidden("No account belongs to the subject of the token. Exchange the token first: POST /auth.")
    return _decrypt(of_application, external, directory)
