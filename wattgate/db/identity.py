"""Who a credential belongs to. The one module that looks across applications, because it finds out which one."""

import hashlib
import hmac
import secrets
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlmodel import col

from wattgate.db.engine import Database
from wattgate.db.guard import SCOPED
from wattgate.db.models import Account, Application, ApplicationCredential, Token, User
from wattgate.principal import Principal, Role, Scheme


def new_secret() -> str:
    """A fresh secret of 256 random bits, for tokens and application credentials."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is stored of a secret. The secrets are random and long, so a plain SHA-256 cannot be guessed back."""
    return hashlib.sha256(secret.encode()).digest()


class Identity:
    """Look-ups by credential; each runs in a short session of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_token(self, token: str, now: datetime) -> Principal | None:
        """The principal of a token that is neither expired nor deleted and whose account is active."""
        found = await self._one(
            select(
                col(Token.application_id),
                col(Token.user_id),
                col(Token.account_id),
                col(Token.token_id),
                col(Token.expires_at),
                col(Account.administrator),
            )
            .join(Account, col(Account.account_id) == Token.account_id)
            .where(
                col(Token.digest) == digest(token),
                col(Token.expires_at) > now,
                col(Account.active).is_(True),
            )
        )
        if found is None:
            return None
        application_id, user_id, account_id, token_id, expires_at, administrator = tuple(found)
        return Principal(
            role=Role.ADMINISTRATOR if administrator else Role.ACCOUNT,
            scheme=Scheme.TOKEN,
            application_id=application_id,
            user_id=user_id,
            account_id=account_id,
            token_id=token_id,
            expires_at=expires_at,
        )

    async def by_application_credential(self, username: str, secret: str) -> Principal | None:
        """The principal of an application's own credential; None where name or secret is wrong."""
        credential = await self._one(
            select(col(ApplicationCredential.application_id), col(ApplicationCredential.secret_digest)).where(
                col(ApplicationCredential.username) == username, col(ApplicationCredential.active).is_(True)
            )
        )
        if credential is None or not hmac.compare_digest(credential.secret_digest, digest(secret)):
            return None
        return Principal(Role.APPLICATION, Scheme.BASIC, application_id=credential.application_id)

    async def account(self, application_id: str, username: str, directory_id: str | None = None) -> Row[Any] | None:
        """The active account with this username, in the application's own directory unless another is named.

        The row has account_id, user_id, name, administrator and password_hash.
        """
        directory = col(Application.directory_id) if directory_id is None else directory_id
        return await self._one(
            select(
                col(Account.account_id),
                col(Account.user_id),
                col(Account.name),
                col(Account.administrator),
                col(Account.password_hash),
            )
            .join(Application, col(Application.application_id) == Account.application_id)
            .where(
                col(Account.application_id) == application_id,
                col(Account.username) == username,
                col(Account.directory_id) == directory,
                col(Account.active).is_(True),
            )
        )

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

    async def _one(self, statement: Any) -> Row[Any] | None:
        async with self._database.session(write=False) as session:
            return (await session.execute(statement, execution_options=SCOPED)).one_or_none()
