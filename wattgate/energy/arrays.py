"""Columns of readings as arrays."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def firsts(*columns: Integers) -> Flags:
    """Which rows of these columns are the first of their key; those of one key stand together."""
    first = np.ones(len(columns[0]), dtype=np.bool_)
    first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return first
