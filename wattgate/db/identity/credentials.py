"""Lookups of the principal that owns a credential.

This is the only module that searches all applications, because the credential determines the application.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, select, update
from sqlmodel import col

from wattgate.db.engine import Database
from wattgate.db.identity import passwords
from wattgate.db.identity.login_backoff import enforce_login_backoff, failed_login_values, successful_login_values
from wattgate.db.models import Account, Application, ApplicationCredential, Token, User
from wattgate.db.reader import fetch
from wattgate.db.row_scope import SystemAccess
from wattgate.db.tenancy_guard import SCOPED_OPTION
from wattgate.db.ttl_cache import TtlCache
from wattgate.principal import AuthScheme, Principal, Role

MAX_KEYS_PER_STATEMENT = 500
"""The maximum number of keys in one statement."""

MAX_CACHED_APPLICATIONS = 1_000
"""The maximum number of applications in the cache of anonymous principals."""


def new_secret() -> str:
    """Return a new secret of 256 random bits, for tokens and application credentials."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> bytes:
    """Return the digest to store for a secret. The secrets are long and random, so a plain SHA-256 is safe."""
    return hashlib.sha256(secret.encode()).digest()


_TOKEN_STATEMENT = (
    select(
        col(Token.application_id),
        col(Token.user_id),
        col(Token.account_id),
        col(Token.token_id),
        col(Token.expires_at),
        col(Token.scope),
        col(Account.administrator),
        col(Application.trusted_only),
    )
    .join(Account, col(Account.account_id) == Token.account_id)
    .join(Application, col(Application.application_id) == Token.application_id)
    .where(
        col(Token.digest) == bindparam("digest"),
        col(Token.expires_at) > bindparam("now"),
        col(Account.active).is_(True),
    )
)
"""A constant, so that it is compiled once: every request with a token executes it."""


class CredentialLookup:
    """Lookups by credential. Each uses a short session of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anonymous_cache = TtlCache[str, Principal](max_entries=MAX_CACHED_APPLICATIONS, ttl_seconds=60.0)

    async def principal_by_token(self, token: str, now: datetime) -> Principal | None:
        """Return the principal of a token; None if it is expired or deleted, or if its account is not active."""
        async with self._database.reader(SystemAccess.FIND_CREDENTIALS) as session:
            parameters = {"digest": hash_secret(token), "now": now}
            rows = await fetch(session, _TOKEN_STATEMENT, parameters, execution_options=SCOPED_OPTION)
        if not rows:
            return None
        application_id, user_id, account_id, token_id, expires_at, scope, administrator, trusted_only = rows[0]
        return Principal(
            role=Role.ADMINISTRATOR if administrator else Role.ACCOUNT,
            scheme=AuthScheme.TOKEN,
            application_id=application_id,
            user_id=user_id,
            account_id=account_id,
            token_id=token_id,
            expires_at=expires_at,
            oauth_scopes=None if scope is None else frozenset(scope.split()),
            trusted_only=trusted_only,
        )

    async def principal_by_application_credential(self, username: str, secret: str) -> Principal | None:
        """Return the principal of an application credential; None if the username or the secret is wrong."""
        credential = await self._fetch_one(
            select(
                col(ApplicationCredential.application_id),
                col(ApplicationCredential.secret_digest),
                col(Application.trusted_only),
            )
            .join(Application, col(Application.application_id) == ApplicationCredential.application_id)
            .where(col(ApplicationCredential.username) == username, col(ApplicationCredential.active).is_(True))
        )
        if credential is None or not hmac.compare_digest(credential.secret_digest, hash_secret(secret)):
            return None
        return Principal(
            Role.APPLICATION,
            AuthScheme.BASIC,
            application_id=credential.application_id,
            trusted_only=credential.trusted_only,
            credential=username,
        )

    async def principal_by_password(
        self, application_id: str, username: str, password: str, now: datetime
    ) -> Principal | None:
        """Return the principal of an active account in the application's own directory.

        Return None if there is no such account or the password is wrong. Raise RateLimited after too many wrong
        passwords.
        """
        account = await self._find_account(application_id, username)
        if account is not None:
            enforce_login_backoff(account.failures, account.failed_at, now)
        if (
            not await passwords.password_matches(account.password_hash if account else None, password)
            or account is None
        ):
            if account is not None:
                await self._update_account(account.account_id, failed_login_values(now))
            return None
        # other requests may have failed in the meantime
        if current_account := await self._find_account(application_id, username):
            enforce_login_backoff(current_account.failures, current_account.failed_at, now)
        if account.failures:
            await self._update_account(account.account_id, successful_login_values())
        return Principal(
            role=Role.ADMINISTRATOR if account.administrator else Role.ACCOUNT,
            scheme=AuthScheme.BASIC,
            application_id=application_id,
            user_id=account.user_id,
            account_id=account.account_id,
            trusted_only=account.trusted_only,
        )

    async def _find_account(self, application_id: str, username: str) -> Row[Any] | None:
        return await self._fetch_one(
            select(
                col(Account.account_id),
                col(Account.user_id),
                col(Account.administrator),
                col(Account.password_hash),
                col(Account.failures),
                col(Account.failed_at),
                col(Application.trusted_only),
            )
            .join(Application, col(Application.application_id) == Account.application_id)
            .where(
                col(Account.application_id) == application_id,
                col(Account.username) == username,
                col(Account.directory_id) == Application.directory_id,
                col(Account.active).is_(True),
            )
        )

    async def _update_account(self, account_id: str, values: Mapping[str, Any]) -> None:
        async with self._database.session(SystemAccess.FIND_CREDENTIALS) as session:
            statement = update(Account).where(col(Account.account_id) == account_id).values(**values)
            await session.execute(statement, execution_options={**SCOPED_OPTION, "synchronize_session": False})
            await session.commit()

    async def anonymous_principal(self, application_id: str) -> Principal | None:
        """Return the principal of a caller without credentials; None if the application does not exist.

        Results are cached for a minute.
        """
        principal = self._anonymous_cache.get(application_id)
        if principal is not None:
            return principal
        trusted_only = await self._fetch_one(
            select(col(Application.trusted_only)).where(col(Application.application_id) == application_id)
        )
        if trusted_only is None:
            return None
        principal = Principal(Role.ANONYMOUS, application_id=application_id, trusted_only=trusted_only[0])
        self._anonymous_cache.put(application_id, principal)
        return principal

    async def has_user(self, application_id: str, user_id: str) -> bool:
        """Return whether the user exists in the application and is active."""
        user = await self._fetch_one(
            select(col(User.user_id)).where(
                col(User.application_id) == application_id,
                col(User.user_id) == user_id,
                col(User.active).is_(True),
            )
        )
        return user is not None

    async def find_revoked(self, principals: Collection[Principal], now: datetime) -> set[Principal]:
        """Return the principals whose token is expired or deleted, or whose account is no longer active."""
        token_ids = {principal.token_id for principal in principals if principal.token_id is not None}
        account_ids = {principal.account_id for principal in principals if principal.account_id is not None}
        valid_token_ids = await self._filter_keys(col(Token.token_id), token_ids, col(Token.expires_at) > now)
        valid_account_ids = await self._filter_keys(col(Account.account_id), account_ids, col(Account.active).is_(True))
        return {
            principal
            for principal in principals
            if (principal.token_id is not None and principal.token_id not in valid_token_ids)
            or (principal.account_id is not None and principal.account_id not in valid_account_ids)
        }

    async def _filter_keys(self, key: Any, candidates: Collection[str], condition: Any) -> set[str]:
        """Return the candidates whose rows meet the condition."""
        sorted_keys, matching_keys = sorted(candidates), set[str]()
        async with self._database.reader(SystemAccess.FIND_CREDENTIALS) as session:
            for start in range(0, len(sorted_keys), MAX_KEYS_PER_STATEMENT):
                in_batch = key.in_(sorted_keys[start : start + MAX_KEYS_PER_STATEMENT])
                result = await session.execute(select(key).where(in_batch, condition), execution_options=SCOPED_OPTION)
                matching_keys.update(result.scalars())
        return matching_keys

    async def _fetch_one(self, statement: Any) -> Row[Any] | None:
        async with self._database.reader(SystemAccess.FIND_CREDENTIALS) as session:
            return (await session.execute(statement, execution_options=SCOPED_OPTION)).one_or_none()
