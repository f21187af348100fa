"""Columns of values in the form in which they are serialized."""

from typing import TypeVar

T = TypeVar("T")


class SerializedColumn(list[T]):
    """A list whose items are already serializable. Renderers copy it to the response without conversion."""
