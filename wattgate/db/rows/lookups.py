"""Models as tables and rows, and look-ups of rows by a column: constant statements that are compiled once."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar, cast

import msgspec
from sqlalchemy import ARRAY, JSON, Column, ColumnElement, Integer, Select, String, Table, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.functions import GenericFunction

from wattgate.db.models import Tenanted
from wattgate.db.scope.home_scope import home_condition
from wattgate.errors import NotFound

M = TypeVar("M", bound=Tenanted)


def model_columns(model: type[Tenanted]) -> ReadOnlyColumnCollection[str, Column[Any]]:
    """Return the columns of a model's table, by name."""
    return model_table(model).columns


@cache
def row_class(model: type[Tenanted]) -> type[msgspec.Struct]:
    """Return the row class of a model, with its columns in order and its properties.

    Rows take a fifth of the time of ORM objects.
    """
    names = [(column.name, Any) for column in model_columns(model)]
    properties = {name: value for name, value in vars(model).items() if isinstance(value, property)}
    return msgspec.defstruct(f"{model.__name__}Row", names, namespace=properties, gc=False)


def model_table(model: type[Tenanted]) -> Table:
    return cast(Table, model.__table__)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup(Generic[M]):
    """A constant query: the rows of a model whose `column` has one of some values.

    Its statement is built and compiled once, because that takes as long as its execution. `where` may have parameters
    (`bindparam`), which callers pass to `Rows.find` by name. With `via`, `column` is a column of a link model. The
    records of the link model refer to the rows by the key of `model`. With `only_first`, it is the first row of each
    value alone, by `order_by`.
    """

    model: type[M]
    column: str
    where: tuple[ColumnElement[bool], ...] = ()
    order_by: tuple[Any, ...] = ()
    via: type[Tenanted] | None = None
    only_first: bool = False


@cache
def key_lookup(model: type[M]) -> Lookup[M]:
    """Return the lookup of rows by their identifiers."""
    return Lookup(model, model.key)


@cache
def lookup_statement(
    lookup: Lookup[Any], dialect: str, is_owned: bool, is_of_home: bool = False, is_limited: bool = False
) -> Select[Any]:
    """Build the statement of a lookup in the rows of an application, of one owner in it, or of one home.

    The values are passed as a relation, so that the text of the statement does not depend on their number. Also,
    PostgreSQL would compare each row with every value of a long IN list. With `is_limited`, the parameter `limit` is
    the maximum number of rows.
    """
    columns = model_columns(lookup.model)
    scope = [columns["application_id"] == bindparam("application")]
    selected = list(columns)
    if lookup.via is None:
        lookup_column = columns[lookup.column]
    else:
        link_columns = model_columns(lookup.via)
        scope += [link_columns[name] == columns[name] for name in ("application_id", lookup.model.key)]
        lookup_column = link_columns[lookup.column]
        selected.insert(0, lookup_column)
    if is_owned:
        scope.append(columns[str(lookup.model.owner)] == bindparam("owner"))
    if is_of_home:
        models = [lookup.model] if lookup.via is None else [lookup.model, lookup.via]
        scope += [home_condition(model, bindparam("application"), bindparam("home")) for model in models]
    if dialect == "postgresql":
        values: Any = func.unnest(bindparam("among", type_=ARRAY(String))).table_valued("value").render_derived()
    else:
        values = func.json_each(bindparam("among", type_=JSON)).table_valued("value")
    if lookup.only_first:
        return _first_rows(lookup, [*scope, lookup_column == values.c.value, *lookup.where], values)
    found = select(*selected).where(*scope, lookup_column.in_(select(values.c.value)), *lookup.where)
    found = found.order_by(*lookup.order_by)
    return found.limit(bindparam("limit", type_=Integer)) if is_limited else found


def _first_rows(lookup: Lookup[Any], conditions: list[ColumnElement[bool]], values: Any) -> Select[Any]:
    """Build the statement of a lookup of the first row of each value: the database reads an index once for each."""
    key = model_columns(lookup.model)[lookup.model.key]
    first = select(key).where(*conditions).order_by(*lookup.order_by).limit(1).correlate(values).scalar_subquery()
    rows = model_table(lookup.model).alias("first_row")
    return select(*rows.columns).where(
        rows.columns["application_id"] == bindparam("application"),
        rows.columns[lookup.model.key].in_(select(first).select_from(values)),
    )


class json_length(GenericFunction[int]):
    """The number of items of a JSON array."""

    type = Integer()
    inherit_cache = True


@compiles(json_length, "postgresql")
def _postgresql_length(element: json_length, compiler: Any, **options: Any) -> str:
    return f"jsonb_array_length({compiler.process(element.clauses, **options)})"


@compiles(json_length, "sqlite")
def _sqlite_length(element: json_length, compiler: Any, **options: Any) -> str:
    return f"json_array_length({compiler.process(element.clauses, **options)})"


def display_name(model: type[Tenanted]) -> str:
    return model_table(model).name.removeprefix("app_").replace("_", " ")


def not_found(model: type[Tenanted], key: str) -> NotFound:
    """Return the error for an identifier of a model that the caller cannot see."""
    return NotFound(f"No {display_name(model)} with ID {key}.")
