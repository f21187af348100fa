"""Pages of records: parts of a list between two positions, for one list or for the lists of many parents at once."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, and_, func, or_, select

from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns

M = TypeVar("M", bound=Tenanted)

Condition = ColumnElement[bool] | bool

Position = tuple[datetime, str]
"""The creation time and the id of a record: the sort order of every paginated list."""


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A part of a list: up to `limit` rows after one position and before another one, both exclusive.

    These are the oldest rows between the positions, or the newest ones if `from_end` is true.
    """

    limit: int
    after: Position | None = None
    before: Position | None = None
    from_end: bool = False


class RowPages(ABC):
    """The paginated reads of `Rows`. All return rows oldest first."""

    @abstractmethod
    async def all(
        self, model: type[M], *where: Condition, order_by: Sequence[Any] = (), limit: int | None = None
    ) -> list[M]:
        """Return every visible row that meets the conditions."""

    @abstractmethod
    def _scoped_conditions(self, model: type[Tenanted], where: Iterable[Condition]) -> list[ColumnElement[bool]]:
        """Return the conditions and the filters on the application and, if it is set, the user."""

    async def page(self, model: type[M], span: PageSpan, *where: Condition) -> list[M]:
        """Return the visible rows of a part of the list of all rows that meet the conditions."""
        order = _order(model, span)
        rows = await self.all(model, *where, *_between(model, span), order_by=order, limit=span.limit)
        return rows[::-1] if span.from_end else rows

    async def pages(
        self, model: type[M], column: str, values: Collection[str], span: PageSpan, *where: Condition
    ) -> dict[str, list[M]]:
        """Return a page of the list of each value of a column, by value. One statement reads all of them."""
        columns = model_columns(model)
        if len(values) == 1:
            (value,) = values
            return {value: await self.page(model, span, columns[column] == value, *where)}
        key = columns[model.key]
        conditions = [columns[column].in_(values), *where, *_between(model, span)]
        rank = func.row_number().over(partition_by=columns[column], order_by=_order(model, span)).label("rank")
        ranked = select(key.label("key"), rank).where(*self._scoped_conditions(model, conditions)).subquery()
        keys = select(ranked.c.key).where(ranked.c.rank <= span.limit)
        pages = defaultdict[str, list[M]](list)
        for row in await self.all(model, key.in_(keys), order_by=[columns["created_at"], key]):
            pages[getattr(row, column)].append(row)
        return {value: pages[value] for value in values}


def _order(model: type[Tenanted], span: PageSpan) -> list[ColumnElement[Any]]:
    columns = model_columns(model)
    order: list[ColumnElement[Any]] = [columns["created_at"], columns[model.key]]
    return [column.desc() for column in order] if span.from_end else order


def _between(model: type[Tenanted], span: PageSpan) -> list[ColumnElement[bool]]:
    columns = model_columns(model)
    created_at, key = columns["created_at"], columns[model.key]
    conditions = []
    if span.after is not None:
        instant, record_id = span.after
        conditions.append(or_(created_at > instant, and_(created_at == instant, key > record_id)))
    if span.before is not None:
        instant, record_id = span.before
        conditions.append(or_(created_at < instant, and_(created_at == instant, key < record_id)))
    return conditions
