"""A connection for statements that change nothing: what reading needs of SQLAlchemy's session, at half of its cost."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import CursorResult, Executable, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from wattgate.db.guard import refuse_unscoped

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Reader:
    """Executes statements on a connection. It gives rows and no records, for there is nothing to be saved."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        execution_options: Mapping[str, Any] = NOTHING,
    ) -> CursorResult[*tuple[Any, ...]]:
        """The result of a statement. UnscopedStatement where it is on records of applications and names none."""
        refuse_unscoped(statement, execution_options)
        return await self._connection.execute(statement, parameters)

    async def get(self, model: Any, key: str, *, execution_options: Mapping[str, Any] = NOTHING) -> Any:
        """The row of a model with this primary key, or None."""
        table = model.__table__
        (identifier,) = table.primary_key
        found = await self.execute(select(*table.columns).where(identifier == key), execution_options=execution_options)
        return found.one_or_none()

    async def connection(self) -> AsyncConnection:
        return self._connection

    def get_bind(self) -> Connection:
        return self._connection.sync_connection  # type: ignore[return-value]  # it is open


Session = AsyncSession | Reader
"""What an operation has of the database: mutations a session, queries a reader."""
