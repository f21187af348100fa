"""Inserts of records that also check or change other records in the same statement."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from wattgate.db.connections.reader import dialect_name
from wattgate.db.models import Tenanted
from wattgate.db.rows.insert_statements import insert_for, insert_or_count, insert_or_update, record_values
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION


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
