"""Directories of accounts: the gateway's own tables, or a remote directory service."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlmodel import col

from wattgate.db.models import Account, Token
from wattgate.db.rows import Rows


@dataclass(frozen=True, slots=True)
class DirectoryTokenDates:
    """The issue and expiry dates of a directory's token for an account; None if there is no token."""

    token_issue_date: datetime | None = None
    token_expiry_date: datetime | None = None


class Directory(Protocol):
    """A source of the tokens of accounts. Implement this protocol to add a remote directory service."""

    async def token_dates(self, account: Account, token_id: str | None = None) -> DirectoryTokenDates:
        """Return the dates of the token with this id, or of the account's newest token. Expired tokens do not count."""


class LocalDirectory:
    """The directory in the gateway's own tables."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def token_dates(self, account: Account, token_id: str | None = None) -> DirectoryTokenDates:
        token = await self._rows.first(
            Token,
            col(Token.account_id) == account.account_id,
            col(Token.expires_at) > self._rows.now,
            col(Token.token_id) == token_id if token_id else True,
            order_by=[col(Token.created_at).desc()],
        )
        return DirectoryTokenDates(token.created_at, token.expires_at) if token else DirectoryTokenDates()


def directory_for(rows: Rows, account: Account) -> Directory:
    """Return the directory of an account. Only the local directory exists so far."""
    return LocalDirectory(rows)
