"""Statements in the form that a database's driver executes. SQLAlchemy compiles each of them once.

If SQLAlchemy executes a statement, even one in its caches, it takes more than twice the time of the driver alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import ARRAY, ClauseElement, Dialect, Select
from sqlalchemy.types import TypeEngine

from wattgate.db.column_types import StructColumn

ValueProcessor = Callable[[Any], Any]

MAX_DECODED_TEXTS = 1024
"""The maximum number of decoded texts that are kept for a column."""


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """The text of a statement, with $1, $2 and so on for PostgreSQL and question marks for SQLite.

    `parameter_names` are in the order of the placeholders. `constants` are the values of parameters that the statement
    itself sets. `bind_processors` convert parameters, by name, to the driver's types. `result_processors` convert
    columns, by position, from the driver's types.
    """

    sql: str
    parameter_names: tuple[str, ...]
    constants: Mapping[str, Any]
    bind_processors: Mapping[str, ValueProcessor]
    result_processors: tuple[tuple[int, ValueProcessor], ...]

    def bind_arguments(self, parameters: Mapping[str, Any]) -> list[Any]:
        """Return the values of the parameters in order, converted for the driver."""
        values = {**self.constants, **parameters} if self.constants else parameters
        if not self.bind_processors:
            return [values[name] for name in self.parameter_names]
        values = dict(values)
        for name, process in self.bind_processors.items():
            values[name] = process(values[name])
        return [values[name] for name in self.parameter_names]

    def convert_rows(self, driver_rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Return rows of the driver with converted values."""
        if not self.result_processors:
            return driver_rows
        rows = [list(row) for row in driver_rows]
        for position, process in self.result_processors:
            for row in rows:
                row[position] = process(row[position])
        return rows


def compile_statement(statement: ClauseElement, dialect: Dialect) -> CompiledStatement:
    """Compile a statement for the driver of a dialect."""
    compiled: Any = statement.compile(dialect=dialect)
    names = tuple(compiled.positiontup)
    types = [column.type for column in statement.selected_columns] if isinstance(statement, Select) else []
    bind_processors = {name: _bind_processor(compiled.binds[name].type, dialect) for name in names}
    result_processors = [_result_processor(type_, dialect) for type_ in types]
    return CompiledStatement(
        sql=compiled.string,
        parameter_names=names,
        constants={name: value for name, value in compiled.params.items() if not compiled.binds[name].required},
        bind_processors={name: process for name, process in bind_processors.items() if process is not None},
        result_processors=tuple(
            (position, process) for position, process in enumerate(result_processors) if process is not None
        ),
    )


def _bind_processor(type_: TypeEngine[Any], dialect: Dialect) -> ValueProcessor | None:
    """Return the function that converts a parameter for the driver; None if it needs no conversion."""
    if isinstance(type_, ARRAY) and type_.item_type.dialect_impl(dialect).bind_processor(dialect) is None:
        return None  # SQLAlchemy's function would only copy the list
    return type_.dialect_impl(dialect).bind_processor(dialect)


def _result_processor(type_: TypeEngine[Any], dialect: Dialect) -> ValueProcessor | None:
    """Return the function that converts a value of the driver; None if it needs no conversion."""
    if isinstance(type_, StructColumn) and type_.is_shared:
        return _shared_decoder(type_, dialect)
    return type_.dialect_impl(dialect).result_processor(dialect, None)


@cache
def _shared_decoder(type_: StructColumn, dialect: Dialect) -> ValueProcessor | None:
    """Return a decoder for a column of frozen structs, such as storage definitions.

    Such a column holds few distinct texts in many rows: each of them is decoded once.
    """
    decode = type_.dialect_impl(dialect).result_processor(dialect, None)
    return decode and lru_cache(maxsize=MAX_DECODED_TEXTS)(decode)
