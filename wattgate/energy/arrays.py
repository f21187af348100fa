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
