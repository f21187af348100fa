"""Columns of integers as PostgreSQL sends them: the bytes of `int8send`, one after another."""

import numpy as np

BIGINT_DTYPE = np.dtype(">i8")
"""The format of PostgreSQL's int8send."""

_MAX_EXACT = 2**53
"""Up to this integer, a double represents each one exactly."""


def decode_column(text: bytes) -> list[int]:
    """Return the numbers of a column that is encoded as bytes."""
    first, size = text[:8], len(text) // 8
    if text == first * size:  # such as the quality of readings, or the time at which they were received together
        return [int.from_bytes(first, "big", signed=True)] * size
    numbers: list[int] = np.frombuffer(text, BIGINT_DTYPE).astype(np.int64).tolist()
    return numbers


def decode_scaled(text: bytes, scale: int) -> list[float]:
    """Return the numbers of a column, each divided by a power of ten: the doubles that are nearest to the quotients."""
    numbers = np.frombuffer(text, BIGINT_DTYPE).astype(np.int64)
    if numbers.size and (numbers.max() > _MAX_EXACT or numbers.min() < -_MAX_EXACT):
        return [number / scale for number in numbers.tolist()]  # Python rounds the exact quotient
    quotients: list[float] = (numbers / float(scale)).tolist()
    return quotients
