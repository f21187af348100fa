"""Who a credential belongs to. The one module that looks across applications, because it finds out which one."""

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
from wattgate.db.identity.login_backoff import failed, refuse_in_haste, succeeded
from wattgate.db.models import Account, Application, ApplicationCredential, Token, User
from wattgate.db.reader import fetch
from wattgate.db.tenancy_guard import SCOPED
from wattgate.db.ttl_cache import Lately
from wattgate.principal import Principal, Role, Scheme

AT_ONCE = 500
"""How many keys one statement names."""

MOST_APPLICATIONS = 1_000
"""How many applications are remembered by name."""


def new_secret() -> str:
    """A fresh secret of 256 random bits, for tokens and application credentials."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is stored of a secret. The secrets are random and long, so a plain SHA-256 cannot be guessed back."""
    return hashlib.sha256(secret.encode()).digest()


_BY_TOKEN = (
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
"""Made once: it is executed with every request."""


class Identity:
    """Look-ups by credential; each runs in a short session of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anonymous = Lately[str, Principal](most=MOST_APPLICATIONS, seconds=60.0)

    async def by_token(self, token: str, now: datetime) -> Principal | None:
        """The principal of a token that is neither expired nor deleted and whose account is active."""
        async with self._database.reading() as session:
            given = {"digest": digest(token), "now": now}
            found = await fetch(session, _BY_TOKEN, given, execution_options=SCOPED)
        if not found:
            return None
        application_id, user_id, account_id, token_id, expires_at, scope, administrator, trusted_only = found[0]
        return Principal(
            role=Role.ADMINISTRATOR if administrator else Role.ACCOUNT,
            scheme=Scheme.TOKEN,
            application_id=application_id,
            user_id=user_id,
            account_id=account_id,
            token_id=token_id,
            expires_at=expires_at,
            scopes=None if scope is None else frozenset(scope.split()),
            trusted_only=trusted_only,
        )

    async def by_application_credential(self, username: str, secret: str) -> Principal | None:
        """The principal of an application's own credential; None where name or secret is wrong."""
        credential = await self._one(
            select(
                col(ApplicationCredential.application_id),
                col(ApplicationCredential.secret_digest),
                col(Application.trusted_only),
            )
            .join(Application, col(Application.application_id) == ApplicationCredential.application_id)
            .where(col(ApplicationCredential.username) == username, col(ApplicationCredential.active).is_(True))
        )
        if credential is None or not hmac.compare_digest(credential.secret_digest, digest(secret)):
            return None
        return Principal(
            Role.APPLICATION,
            Scheme.BASIC,
            application_id=credential.application_id,
            trusted_only=credential.trusted_only,
        )

    async def by_password(self, application_id: str, username: str, password: str, now: datetime) -> Principal | None:
        """The principal of an active account in the application's own directory; None where the password is wrong.

        RateLimited where wrong ones have been given too often.
        """
        account = await self._account(application_id, username)
        if account is not None:
            refuse_in_haste(account.failures, account.failed_at, now)
        if not await passwords.matches(account.password_hash if account else None, password) or account is None:
            if account is not None:
                await self._count(account.account_id, failed(now))
            return None
        if again := await self._account(application_id, username):  # others may have guessed in the meantime
            refuse_in_haste(again.failures, again.failed_at, now)
        if account.failures:
            await self._count(account.account_id, succeeded())
        return Principal(
            role=Role.ADMINISTRATOR if account.administrator else Role.ACCOUNT,
            scheme=Scheme.BASIC,
            application_id=application_id,
            user_id=account.user_id,
            account_id=account.account_id,
            trusted_only=account.trusted_only,
        )

    async def _account(self, application_id: str, username: str) -> Row[Any] | None:
        return await self._one(
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

    async def _count(self, account_id: str, values: Mapping[str, Any]) -> None:
        async with self._database.session() as session:
            statement = update(Account).where(col(Account.account_id) == account_id).values(**values)
            await session.execute(statement, execution_options={**SCOPED, "synchronize_session": False})
            await session.commit()

    async def anonymous(self, application_id: str) -> Principal | None:
        """Somebody without credentials who names an application; None where there is none of that id.

        What was found within a minute is not looked up again.
        """
        found = self._anonymous.get(application_id)
        if found is not None:
            return found
        trusted_only = await self._one(
            select(col(Application.trusted_only)).where(col(Application.application_id) == application_id)
        )
        if trusted_only is None:
            return None
        found = Principal(Role.ANONYMOUS, application_id=application_id, trusted_only=trusted_only[0])
        self._anonymous.put(application_id, found)
        return found

    async def has_user(self, application_id: str, user_id: str) -> bool:
        """Whether the user exists in the application and is active."""
        found = await self._one(
            select(col(User.user_id)).where(
                col(User.application_id) == application_id,
                col(User.user_id) == user_id,
                col(User.active).is_(True),
            )
        )
        return found is not None

    async def ended(self, principals: Collection[Principal], now: datetime) -> set[Principal]:
        """Those whose token has expired or was deleted, or whose account is active no more."""
        tokens = {one.token_id for one in principals if one.token_id is not None}
        accounts = {one.account_id for one in principals if one.account_id is not None}
        good_tokens = await self._among(col(Token.token_id), tokens, col(Token.expires_at) > now)
        good_accounts = await self._among(col(Account.account_id), accounts, col(Account.active).is_(True))
        return {
            one
            for one in principals
            if (one.token_id is not None and one.token_id not in good_tokens)
            or (one.account_id is not None and one.account_id not in good_accounts)
        }

    async def _among(self, key: Any, wanted: Collection[str], condition: Any) -> set[str]:
        """Those of these keys whose rows meet a condition."""
        keys, found = sorted(wanted), set[str]()
        async with self._database.reading() as session:
            for start in range(0, len(keys), AT_ONCE):
                some = key.in_(keys[start : start + AT_ONCE])
                told = await session.execute(select(key).where(some, condition), execution_options=SCOPED)
                found.update(told.scalars())
        return found

    async def _one(self, statement: Any) -> Row[Any] | None:
        async with self._database.reading() as session:
            return (await session.execute(statement, execution_options=SCOPED)).one_or_none()
