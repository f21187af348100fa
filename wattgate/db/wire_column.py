"""Columns of many values, already in the form in which they go on the wire."""

from typing import TypeVar

T = TypeVar("T")


class Column(list[T]):
    """A list whose items need no conversion any more; whoever renders an answer takes it as it is."""
