"""The frames of an Arrow IPC stream, as they arrive: cut apart, and bounded before anything is made of them.

pyarrow reads a stream from a blocking file, and makes room for whatever a message announces or a compressed buffer
unfolds to. Here a message is read only when its announced size is small enough, and compression is refused.
https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
"""

import struct
from collections.abc import AsyncIterator
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from wattgate.graphql.transport.bulk import Unreadable

MAX_METADATA = 2**20
MAX_BODY = 32 * 2**20
"""Bytes of the largest message, and of all dictionaries together."""

CONTINUATION = 0xFFFFFFFF
END_OF_STREAM = struct.pack("<II", CONTINUATION, 0)


class Header(IntEnum):
    """What a message holds, by the numbers of Message.fbs."""

    SCHEMA = 1
    DICTIONARY_BATCH = 2
    RECORD_BATCH = 3


class Frame(NamedTuple):
    """One message of a stream: what it holds, and all its bytes."""

    header: int
    content: bytes


async def record_batches(chunks: AsyncIterator[bytes]) -> AsyncIterator[pa.RecordBatch]:
    """The record batches of a stream, validated. Unreadable where it is none, too large or damaged."""
    before = list[bytes]()
    async for frame in _frames(chunks):
        if frame.header == Header.RECORD_BATCH:
            yield _batch(b"".join([*before, frame.content, END_OF_STREAM]))
        elif frame.header in (Header.SCHEMA, Header.DICTIONARY_BATCH):
            before.append(frame.content)
            if sum(map(len, before)) > MAX_BODY + MAX_METADATA:
                raise Unreadable(f"the dictionaries are larger than {MAX_BODY:,} bytes")
        else:
            raise Unreadable("the stream holds more than record batches and dictionaries")


def _batch(stream: bytes) -> pa.RecordBatch:
    """The one record batch of a stream that is whole."""
    try:
        with pa.ipc.open_stream(stream) as reader:
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, OSError, StopIteration) as error:
        raise Unreadable(f"a record batch cannot be read: {error}") from None
    return batch


async def _frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[Frame]:
    source = _Source(chunks)
    while head := await source.read(8, or_end=True):
        marker, length = struct.unpack("<II", head)
        if marker != CONTINUATION:
            raise Unreadable("the body is not an Arrow IPC stream")
        if length == 0:
            return
        if length > MAX_METADATA:
            raise Unreadable(f"a message has more than {MAX_METADATA:,} bytes of metadata")
        metadata = await source.read(length)
        try:
            header, size, compressed = _announced(metadata)
        except struct.error:
            raise Unreadable("the metadata of a message cannot be read") from None
        if not 0 <= size <= MAX_BODY:
            raise Unreadable(f"a message is larger than {MAX_BODY:,} bytes: send smaller record batches")
        if compressed:
            raise Unreadable("a record batch is compressed: send it without compression")
        yield Frame(header, head + metadata + await source.read(size))


def _announced(metadata: bytes) -> tuple[int, int, bool]:
    """What a message says of itself: what it holds, the bytes of its body, and whether that is compressed.

    The metadata are a flatbuffer; the slots are those of Message.fbs.
    """
    (message,) = struct.unpack_from("<I", metadata, 0)
    kind, content, size = (_slot(metadata, message, number) for number in (1, 2, 3))
    if kind is None or content is None:
        raise struct.error
    header: int = metadata[kind] if kind < len(metadata) else 0
    table = _followed(metadata, content)
    if header == Header.DICTIONARY_BATCH and (data := _slot(metadata, table, 1)) is not None:
        table = _followed(metadata, data)
    batch = header in (Header.DICTIONARY_BATCH, Header.RECORD_BATCH)
    length: int = 0 if size is None else struct.unpack_from("<q", metadata, size)[0]
    return header, length, batch and _slot(metadata, table, 3) is not None


def _slot(buffer: bytes, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table stands; None where the table leaves it out."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    if vtable < 0 or 4 + 2 * number >= struct.unpack_from("<H", buffer, vtable)[0]:
        return None
    (offset,) = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)
    return table + offset if offset else None


def _followed(buffer: bytes, position: int) -> int:
    """Where the table stands that a field refers to."""
    return int(position + struct.unpack_from("<I", buffer, position)[0])


class _Source:
    """Bytes as they arrive, to be read by their number."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = bytearray()

    async def read(self, size: int, *, or_end: bool = False) -> bytes:
        """So many bytes; none where the stream has ended here, if it may."""
        while len(self._rest) < size:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                if or_end and not self._rest:
                    return b""
                raise Unreadable("the stream breaks off inside a message")
            self._rest += chunk
        taken = bytes(self._rest[:size])
        del self._rest[:size]
        return taken
