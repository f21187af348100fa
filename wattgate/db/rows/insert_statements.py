"""Statements that insert records, and change or check other records in the same step."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Insert, case, exists, insert, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns, model_table

_INSERTS: Mapping[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
"""The insert statements of each engine that handle conflicts."""


def insert_or_update(dialect: str, record: Tenanted, changes: Mapping[str, Any]) -> Any:
    """Return the statement that inserts a record, or changes the one with its key."""
    statement = _INSERTS[dialect](model_table(type(record))).values(record_values(record))
    return statement.on_conflict_do_update(index_elements=[record.key], set_=dict(changes))


def insert_if_absent(dialect: str, record: Tenanted) -> Any:
    """Return the statement that inserts a record unless one with the same unique values exists."""
    return _INSERTS[dialect](model_table(type(record))).values(record_values(record)).on_conflict_do_nothing()


def insert_or_count(dialect: str, model: type[Tenanted], count: str, latest: str) -> Any:
    """Return the statement that inserts a record of a model, or adds its count to the record with its key.

    `count` names the column of the counts, and `latest` a column that takes the greater value. The values of records
    are parameters (`record_values`): SQLAlchemy compiles a statement with the values of several records at each use.
    """
    table = model_table(model)
    statement = _INSERTS[dialect](table)
    old, new = table.c, statement.excluded
    greater = case((new[latest] > old[latest], new[latest]), else_=old[latest])
    return statement.on_conflict_do_update(
        index_elements=[model.key], set_={count: old[count] + new[count], latest: greater}
    )


def insert_for(parent: type[Tenanted], record: Tenanted, parent_id: str | None = None) -> Insert:
    """Return the statement that inserts a record if its parent exists in the same application.

    By default, `parent_id` is the attribute of the record with the name of the parent's key.
    """
    columns = [column for column in model_columns(type(record)) if not _is_assigned(column, record)]
    parent_columns = model_columns(parent)
    parent_exists = exists().where(
        parent_columns["application_id"] == record.application_id,
        parent_columns[parent.key] == (getattr(record, parent.key) if parent_id is None else parent_id),
    )
    values = [literal(getattr(record, column.name), column.type) for column in columns]
    return insert(model_table(type(record))).from_select(columns, select(*values).where(parent_exists))


def insert_parameters(records: Sequence[Tenanted]) -> list[dict[str, Any]]:
    """Return the parameters that insert new records of one model, without the keys that the database assigns."""
    columns = [column for column in model_columns(type(records[0])) if not _is_assigned(column, records[0])]
    return [{column.name: getattr(record, column.name) for column in columns} for record in records]


def _is_assigned(column: Column[Any], record: Tenanted) -> bool:
    """Return whether the database assigns the value of a column when a record is inserted."""
    return column.primary_key and getattr(record, column.name) is None


def record_values(record: Tenanted) -> dict[str, Any]:
    """Return the values of a record by the names of its columns."""
    return {column.name: getattr(record, column.name) for column in model_columns(type(record))}
