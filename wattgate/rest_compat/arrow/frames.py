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

from wattgate.graphql.transport.bulk_recorder import UnreadableInput

MAX_METADATA_BYTES = 2**20
MAX_BODY_BYTES = 32 * 2**20
"""Bytes of the largest message, and of all dictionaries together."""

CONTINUATION = 0xFFFFFFFF
END_OF_STREAM = struct.pack("<II", CONTINUATION, 0)


class MessageKind(IntEnum):
    """What a message holds, by the numbers of Message.fbs."""

    SCHEMA = 1
    DICTIONARY_BATCH = 2
    RECORD_BATCH = 3


class Frame(NamedTuple):
    """One message of a stream: what it holds, and all its bytes."""

    kind: int
    content: bytes


async def read_record_batches(chunks: AsyncIterator[bytes]) -> AsyncIterator[pa.RecordBatch]:
    """The record batches of a stream, validated. Unreadable where it is none, too large or damaged."""
    preceding = list[bytes]()
    async for frame in _read_frames(chunks):
        if frame.kind == MessageKind.RECORD_BATCH:
            yield _read_batch(b"".join([*preceding, frame.content, END_OF_STREAM]))
        elif frame.kind in (MessageKind.SCHEMA, MessageKind.DICTIONARY_BATCH):
            preceding.append(frame.content)
            if sum(map(len, preceding)) > MAX_BODY_BYTES + MAX_METADATA_BYTES:
                raise UnreadableInput(f"the dictionaries are larger than {MAX_BODY_BYTES:,} bytes")
        else:
            raise UnreadableInput("the stream holds more than record batches and dictionaries")


def _read_batch(stream: bytes) -> pa.RecordBatch:
    """The one record batch of a stream that is whole."""
    try:
        with pa.ipc.open_stream(stream) as reader:
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, OSError, StopIteration) as error:
        raise UnreadableInput(f"a record batch cannot be read: {error}") from None
    return batch


async def _read_frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[Frame]:
    source = _ByteReader(chunks)
    while head := await source.read(8, allow_end=True):
        marker, length = struct.unpack("<II", head)
        if marker != CONTINUATION:
            raise UnreadableInput("the body is not an Arrow IPC stream")
        if length == 0:
            return
        if length > MAX_METADATA_BYTES:
            raise UnreadableInput(f"a message has more than {MAX_METADATA_BYTES:,} bytes of metadata")
        metadata = await source.read(length)
        try:
            header, size, compressed = _parse_metadata(metadata)
        except struct.error:
            raise UnreadableInput("the metadata of a message cannot be read") from None
        if not 0 <= size <= MAX_BODY_BYTES:
            raise UnreadableInput(f"a message is larger than {MAX_BODY_BYTES:,} bytes: send smaller record batches")
        if compressed:
            raise UnreadableInput("a record batch is compressed: send it without compression")
        yield Frame(header, head + metadata + await source.read(size))


def _parse_metadata(metadata: bytes) -> tuple[int, int, bool]:
    """What a message says of itself: what it holds, the bytes of its body, and whether that is compressed.

    The metadata are a flatbuffer; the slots are those of Message.fbs.
    """
    (message,) = struct.unpack_from("<I", metadata, 0)
    kind, content, size = (_field_position(metadata, message, number) for number in (1, 2, 3))
    if kind is None or content is None:
        raise struct.error
    header: int = metadata[kind] if kind < len(metadata) else 0
    table = _follow_offset(metadata, content)
    if header == MessageKind.DICTIONARY_BATCH and (data := _field_position(metadata, table, 1)) is not None:
        table = _follow_offset(metadata, data)
    batch = header in (MessageKind.DICTIONARY_BATCH, MessageKind.RECORD_BATCH)
    length: int = 0 if size is None else struct.unpack_from("<q", metadata, size)[0]
    return header, length, batch and _field_position(metadata, table, 3) is not None


def _field_position(buffer: bytes, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table stands; None where the table leaves it out."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    if vtable < 0 or 4 + 2 * number >= struct.unpack_from("<H", buffer, vtable)[0]:
        return None
    (offset,) = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)
    return table + offset if offset else None


def _follow_offset(buffer: bytes, position: int) -> int:
    """Where the table stands that a field refers to."""
    return int(position + struct.unpack_from("<I", buffer, position)[0])


class _ByteReader:
    """Bytes as they arrive, to be read by their number."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = bytearray()

    async def read(self, size: int, *, allow_end: bool = False) -> bytes:
        """So many bytes; none where the stream has ended here, if it may."""
        while len(self._buffer) < size:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                if allow_end and not self._buffer:
                    return b""
                raise UnreadableInput("the stream breaks off inside a message")
            self._buffer += chunk
        content = bytes(self._buffer[:size])
        del self._buffer[:size]
        return content
