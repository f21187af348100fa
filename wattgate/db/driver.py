"""Statements as a database's driver takes them. SQLAlchemy makes each of them once, and need not be asked again.

Executed by SQLAlchemy, a statement that is found in its caches costs more than twice what the driver takes for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ClauseElement, Dialect, Select

ValueProcessor = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """A statement with $1, $2 and so on for PostgreSQL, and with question marks for SQLite.

    `names` are those of its parameters in order, `constants` the values of those that nobody gives, and `given` makes
    what the driver takes of those that need it. `told` makes, by their place in a row, of the driver's values ours.
    """

    sql: str
    parameter_names: tuple[str, ...]
    constants: Mapping[str, Any]
    bind_processors: Mapping[str, ValueProcessor]
    result_processors: tuple[tuple[int, ValueProcessor], ...]

    def bind_arguments(self, parameters: Mapping[str, Any]) -> list[Any]:
        """The values of the parameters, as the driver takes them."""
        values = {**self.constants, **parameters}
        for name, process in self.bind_processors.items():
            values[name] = process(values[name])
        return [values[name] for name in self.parameter_names]

    def convert_rows(self, driver_rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Rows that the driver has found, with our values."""
        if not self.result_processors:
            return driver_rows
        rows = [list(row) for row in driver_rows]
        for position, process in self.result_processors:
            for row in rows:
                row[position] = process(row[position])
        return rows


def compile_statement(statement: ClauseElement, dialect: Dialect) -> CompiledStatement:
    """The statement in the words of the dialect's driver."""
    compiled: Any = statement.compile(dialect=dialect)
    names = tuple(compiled.positiontup)
    types = [column.type for column in statement.selected_columns] if isinstance(statement, Select) else []
    bind_processors = {name: compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names}
    result_processors = [type_.dialect_impl(dialect).result_processor(dialect, None) for type_ in types]
    return CompiledStatement(
        sql=compiled.string,
        parameter_names=names,
        constants={name: value for name, value in compiled.params.items() if not compiled.binds[name].required},
        bind_processors={name: process for name, process in bind_processors.items() if process is not None},
        result_processors=tuple(
            (position, process) for position, process in enumerate(result_processors) if process is not None
        ),
    )
