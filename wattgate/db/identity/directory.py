"""Where accounts are kept: in the gateway's own tables, or in a directory service elsewhere."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlmodel import col

from wattgate.db.models import Account, Token
from wattgate.db.rows import Rows


@dataclass(frozen=True, slots=True)
class DirectoryToken:
    """When a directory's token for an account was issued and when it expires; None where there is none."""

    token_issue_date: datetime | None = None
    token_expiry_date: datetime | None = None


class Directory(Protocol):
    """Knows accounts and the tokens that were issued to them. A remote service is one more class of this form."""

    async def status(self, account: Account, token_id: str | None = None) -> DirectoryToken:
        """The token with this id, or else the account's newest, as long as it is good."""


class LocalDirectory:
    """Answers from the gateway's own tokens."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def status(self, account: Account, token_id: str | None = None) -> DirectoryToken:
        token = await self._rows.first(
            Token,
            col(Token.account_id) == account.account_id,
            col(Token.expires_at) > self._rows.now,
            col(Token.token_id) == token_id if token_id else True,
            order_by=[col(Token.created_at).desc()],
        )
        return DirectoryToken(token.created_at, token.expires_at) if token else DirectoryToken()


def directory_of(rows: Rows, account: Account) -> Directory:
    """The directory in which an account is kept; there is no remote one so far."""
    return LocalDirectory(rows)
