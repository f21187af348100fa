"""Pages of records: the part of a list between two positions, and its conditions and order in SQL."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, or_

from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns

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


def page_order(model: type[Tenanted], span: PageSpan) -> list[ColumnElement[Any]]:
    """Return the order in which the rows of a part are read: from the end that `span` starts at."""
    columns = model_columns(model)
    order: list[ColumnElement[Any]] = [columns["created_at"], columns[model.key]]
    return [column.desc() for column in order] if span.from_end else order


def page_conditions(model: type[Tenanted], span: PageSpan) -> list[ColumnElement[bool]]:
    """Return the conditions for rows between the positions of a part."""
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
