"""Statements that insert records and check or change others with them, and the locks of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from wattgate.db.connections.reader import dialect_name
from wattgate.db.models import Tenanted, User
from wattgate.db.rows.insert_statements import insert_for, insert_or_count, insert_or_update, record_values
from wattgate.db.rows.lookups import model_columns
from wattgate.db.rows.pages import Condition
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.errors import Conflict


class RowLocks(ABC):
    """The locks of `Rows`. SQLite has one writer at a time and needs none.

    With `guards_owners`, no record of an erased user is added or edited. Other callers are the user, whose credentials
    have ended, or the gateway itself.
    """

    guards_owners: bool
    _present_users: set[str]

    @property
    @abstractmethod
    def write_session(self) -> AsyncSession:
        """The session of a mutation."""

    @abstractmethod
    def _scoped_conditions(self, model: type[Tenanted], where: Iterable[Condition]) -> list[ColumnElement[bool]]:
        """Return the conditions and the filters on the visible records."""

    async def require_present(self, user_id: str) -> None:
        """Raise Conflict if the data of a user is erased or being erased. Keep an erasure from beginning.

        A user that is not visible has no data that could be added to.
        """
        statement = select(col(User.erased_at)).where(*self._scoped_conditions(User, [col(User.user_id) == user_id]))
        result = await self.write_session.execute(statement.with_for_update(read=True), execution_options=SCOPED_OPTION)
        if result.scalar() is not None:
            raise Conflict(f"The data of user {user_id} is erased. Add a new user instead.")

    async def _require_present_owner(self, record: Tenanted) -> None:
        """Raise Conflict if `guards_owners` is set and a record belongs to a user whose data is erased."""
        owner_column = type(record).owner
        user_id = getattr(record, owner_column) if self.guards_owners and owner_column is not None else None
        if user_id is not None and user_id not in self._present_users:
            await self.require_present(user_id)
            self._present_users.add(user_id)

    async def lock(self, model: type[Tenanted], *where: Condition, shared: bool = False) -> None:
        """Lock the visible records that meet the conditions, in the order of their identifiers, as `edit` does.

        With `shared`, other transactions may lock them too, but not change them.
        """
        key = model_columns(model)[model.key]
        statement = select(key).where(*self._scoped_conditions(model, where)).order_by(key)
        await self.write_session.execute(
            statement.with_for_update(read=shared, key_share=not shared), execution_options=SCOPED_OPTION
        )


class RowInserts(ABC):
    """The inserts of `Rows` that are one statement. They leave no entry in the audit log."""

    application_id: str

    @property
    @abstractmethod
    def write_session(self) -> AsyncSession:
        """The session of a mutation."""

    async def add_or_update(self, record: Tenanted, **values: Any) -> None:
        """Add a record, or change the one with its key by `values`, in one statement."""
        record.application_id = self.application_id
        statement = insert_or_update(dialect_name(self.write_session), record, values)
        await self.write_session.execute(statement, execution_options=SCOPED_OPTION)

    async def add_counts(self, records: Sequence[Tenanted], count: str, latest: str) -> None:
        """Add records of one model, or add their counts to the records with their keys.

        `count` names the column of the counts, and `latest` a column that takes the greater value.
        """
        for record in records:
            record.application_id = self.application_id
        model = type(records[0])
        statement = insert_or_count(dialect_name(self.write_session), model, count, latest)
        # in key order, so that two gateways with the same records wait for each other instead of deadlocking
        values = sorted(map(record_values, records), key=itemgetter(model.key))
        await self.write_session.execute(statement, values, execution_options=SCOPED_OPTION)

    async def add_for(self, parent: type[Tenanted], record: Tenanted, *, parent_id: str | None = None) -> bool:
        """Add a record if its parent exists, in one statement either way. Return whether it does.

        By default, `parent_id` is the attribute of the record with the name of the parent's key.
        """
        record.application_id = self.application_id
        statement = insert_for(parent, record, parent_id)
        result = await self.write_session.execute(statement, execution_options=SCOPED_OPTION)
        return bool(result.rowcount)  # type: ignore[attr-defined]
