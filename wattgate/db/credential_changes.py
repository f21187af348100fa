"""Changes of the rows that decide whom a token stands for: tokens, accounts and applications.

Each session notices them, whichever operation makes them. A new row ends no credential, so it is no change. Neither is
a statement that finds no row, or one that only moves the end of tokens to a later time (`extending_tokens`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Result, Table, event, inspect
from sqlalchemy.orm import ORMExecuteState, Session, SessionTransaction

from wattgate.db.models import Account, Application, Token

CREDENTIAL_MODELS = (Account, Application, Token)
CREDENTIAL_TABLES = frozenset(model.__tablename__ for model in CREDENTIAL_MODELS)

ROLE_COLUMNS = ("administrator", "template_editor", "second_factor")
"""The columns of an account that decide what its credentials allow."""

_CHANGED, _LISTENER, _EXTENDS = "changes_credentials", "on_credentials_changed", "extends_tokens"
_ROLES = "accounts_with_changed_roles"


def changed_credentials(session: Any) -> bool:
    """Return whether a session has changed credentials."""
    return _CHANGED in session.info


def accounts_with_changed_roles(session: Any) -> list[str]:
    """Return the accounts whose role or second factor a session has changed by `Rows.edit`."""
    return sorted(session.info.get(_ROLES, ()))


def watch_credentials(session: Any, listener: Callable[[], None]) -> None:
    """Call the listener when a transaction of the session has changed credentials, before its commit returns."""
    session.info[_LISTENER] = listener


@contextmanager
def extending_tokens(session: Any) -> Iterator[None]:
    """Let the statements of a session move the end of tokens to a later time, which ends no credential.

    No other change of credentials may be in this context: it would not be noticed.
    """
    session.info[_EXTENDS] = True
    try:
        yield
    finally:
        del session.info[_EXTENDS]


def listen_to_changes(session_class: type[Session]) -> None:
    """Notice the changes of all sessions of a class."""
    event.listen(session_class, "after_flush", _notice_records)
    event.listen(session_class, "do_orm_execute", _notice_statement)
    event.listen(session_class, "after_transaction_end", _notify)


def _notice_records(session: Session, context: Any) -> None:
    if any(isinstance(record, CREDENTIAL_MODELS) for records in (session.dirty, session.deleted) for record in records):
        session.info[_CHANGED] = True
    for record in session.dirty:
        if isinstance(record, Account):
            state = inspect(record)
            if any(state.attrs[column].history.has_changes() for column in ROLE_COLUMNS):
                session.info.setdefault(_ROLES, set()).add(record.account_id)


def _notice_statement(state: ORMExecuteState) -> Result[Any] | None:
    """Execute a statement on credentials here, to learn whether it found a row. Return None for all others."""
    if not (state.is_update or state.is_delete) or _EXTENDS in state.session.info:
        return None
    table = getattr(state.statement, "table", None)
    if isinstance(table, Table) and table.name not in CREDENTIAL_TABLES:
        return None
    result = state.invoke_statement()
    if getattr(result, "rowcount", -1) != 0:  # -1 if the driver does not know
        state.session.info[_CHANGED] = True
    return result


def _notify(session: Session, transaction: SessionTransaction) -> None:
    """Call the listener at the end of a transaction. A commit may have succeeded although it raised."""
    if transaction.parent is None and _CHANGED in session.info and _LISTENER in session.info:
        session.info[_LISTENER]()
