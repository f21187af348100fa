"""Encoding of responses in JSON: at once, or in pieces between which the event loop serves other requests."""

import asyncio
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from wattgate.db.column_types import SerializedColumn
from wattgate.values.stored_json import encode_json

LARGE_COST = 500
"""Cost from which a response may be large. A cost of 500 is about 2 MB, which are encoded within 20 ms."""

PIECE_VALUES = 20_000
"""Maximum values in a piece. They are encoded within some milliseconds."""

_CONTAINERS = frozenset({dict, list, SerializedColumn})


async def encode_large_json(body: Any) -> bytes:
    """Encode a body that may be large. The event loop runs between its pieces."""
    pieces = []
    for piece in encode_pieces(body):
        pieces.append(piece)
        await asyncio.sleep(0)
    return b"".join(pieces)


def encode_pieces(value: Any) -> Iterator[bytes]:
    """Yield the JSON of a value in pieces of at most PIECE_VALUES values. They are the bytes of `encode_json`."""
    if isinstance(value, dict) and not _is_small(value):
        separator = b"{"
        for name, member in value.items():
            yield separator + encode_json(name) + b":"
            yield from encode_pieces(member)
            separator = b","
        yield b"}"
    elif isinstance(value, list) and not _is_small(value):
        separator = b"["
        for items in _batches(value):
            yield separator
            if _is_small(items):
                yield encode_json(items)[1:-1]
            else:
                yield from encode_pieces(items[0])
            separator = b","
        yield b"]"
    else:
        yield encode_json(value)


def _batches(items: list[Any]) -> Iterator[list[Any]]:
    """Yield runs of items that are small together. An item that is large by itself is a run of its own."""
    batch: list[Any] = []
    count = 0
    for item in items:
        size = count_values(item, PIECE_VALUES)
        if batch and count + size >= PIECE_VALUES:
            yield batch
            batch, count = [], 0
        batch.append(item)
        count += size
    if batch:
        yield batch


def _is_small(value: Any) -> bool:
    return count_values(value, PIECE_VALUES + 1) <= PIECE_VALUES


def count_values(value: Any, limit: int) -> int:
    """Return the number of values in a value of dicts and lists, or `limit` if there are more.

    The values of each level are collected together. That is faster than a loop over each dict and list.
    """
    count, level = 1, [value] if type(value) in _CONTAINERS else []
    while level and count < limit:
        members = chain.from_iterable([item.values() if type(item) is dict else item for item in level])
        values = list(islice(members, limit - count))
        count += len(values)
        level = (
            [] if _CONTAINERS.isdisjoint(map(type, values)) else [item for item in values if type(item) in _CONTAINERS]
        )
    return count
