"""Locks of records that an operation does not change, which keep other transactions from changing them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession

from wattgate.db.lookups import model_columns
from wattgate.db.models import Tenanted
from wattgate.db.pages import Condition
from wattgate.db.tenancy_guard import SCOPED_OPTION


class RowLocks(ABC):
    """The locks of `Rows`. SQLite has one writer at a time and needs none."""

    @property
    @abstractmethod
    def write_session(self) -> AsyncSession:
        """The session of a mutation."""

    @abstractmethod
    def _scoped_conditions(self, model: type[Tenanted], where: Iterable[Condition]) -> list[ColumnElement[bool]]:
        """Return the conditions and the filters on the visible records."""

    async def lock(self, model: type[Tenanted], *where: Condition, shared: bool = False) -> None:
        """Lock the visible records that meet the conditions, in the order of their identifiers, as `edit` does.

        With `shared`, other transactions may lock them too, but not change them.
        """
        key = model_columns(model)[model.key]
        statement = select(key).where(*self._scoped_conditions(model, where)).order_by(key)
        await self.write_session.execute(
            statement.with_for_update(read=shared, key_share=not shared), execution_options=SCOPED_OPTION
        )
