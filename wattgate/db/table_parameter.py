"""Rows of values as parameters of a statement. The text of the statement does not depend on the number of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import TextClause, text


@dataclass(frozen=True, slots=True)
class TableParameter:
    """A relation that is passed to a statement as parameters: its name, and its columns with their SQL types."""

    name: str
    columns: Mapping[str, str]

    def sql(self, dialect: str) -> str:
        """Return the subquery to use in FROM."""
        if dialect == "sqlite":
            columns = ", ".join(f"value ->> {position} AS {name}" for position, name in enumerate(self.columns))
            # LIMIT makes SQLite build the rows once, instead of parsing the JSON for each use of a column
            return f"(SELECT {columns} FROM json_each(:{self.name}) LIMIT -1)"  # noqa: S608 (names of our own columns only)
        arrays = ", ".join(f"CAST(:{self.name}_{name} AS {type_}[])" for name, type_ in self.columns.items())
        return f"(SELECT * FROM unnest({arrays}) AS u({', '.join(self.columns)}))"  # noqa: S608 (names of our own columns only)

    def parameters(self, dialect: str, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Return the parameters that hold these rows."""
        if dialect == "sqlite":
            return {self.name: orjson.dumps([tuple(row) for row in rows]).decode()}
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.columns)
        return {f"{self.name}_{name}": list(column) for name, column in zip(self.columns, columns, strict=True)}


@lru_cache(maxsize=256)
def cached_text(sql: str) -> TextClause:
    """Return the statement of a text, parsed once. There are few such texts, and they are executed very often."""
    return text(sql)
