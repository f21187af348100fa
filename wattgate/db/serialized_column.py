"""Columns of values in the form in which they are serialized, and rows that have such columns."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

T = TypeVar("T")


class SerializedColumn(list[T]):
    """A list whose items are already serializable. Renderers copy it to the response without conversion."""


class SerializedRows(Sequence[T]):
    """Rows whose attributes exist as columns: `columns` has a SerializedColumn for each attribute of a row.

    A renderer that needs only such attributes reads the columns. `build` creates the rows for all others.
    """

    def __init__(self, columns: Any, build: Callable[[], list[T]]) -> None:
        self.columns = columns
        self._build = build

    @cached_property
    def rows(self) -> list[T]:
        """The rows as objects. They are created on first access."""
        return self._build()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    @overload
    def __getitem__(self, position: int) -> T: ...
    @overload
    def __getitem__(self, position: slice) -> list[T]: ...
    def __getitem__(self, position: int | slice) -> T | list[T]:
        return self.rows[position]
