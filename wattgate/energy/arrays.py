"""Array types for columns of readings."""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def is_group_start(*columns: IntArray) -> BoolArray:
    """Return a mask of the rows that are the first of their key. Rows of one key must be adjacent."""
    first = np.ones(len(columns[0]), dtype=np.bool_)
    first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return first


def sort_and_deduplicate(
    keys: tuple[IntArray, IntArray, IntArray], values: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """Return positions of rows: the first of each key, sorted by key, and those that conflict with the first.

    A row conflicts with the first row of its key if one of its values differs. An equal row is dropped.
    """
    order = np.lexsort(keys[::-1])  # stable: rows with the same key keep their order
    first = is_group_start(*(key[order] for key in keys))
    first_of_key = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    conflicts = np.any([value[order] != value[first_of_key] for value in values], axis=0)
    return order[first], order[conflicts]
