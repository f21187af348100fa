"""Split an incoming Arrow IPC stream into messages, and check the size of each message before decoding it.

pyarrow reads streams from blocking files only, and allocates as much memory as a message announces or a compressed
buffer expands to. This module therefore checks the announced sizes first and refuses compression.
https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
"""

import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from wattgate.operations.readings.bulk_recorder import UnreadableInput
from wattgate.requests.fair_share import run_in_thread

MAX_METADATA_BYTES = 2**20
MAX_BODY_BYTES = 32 * 2**20
"""Maximum size of a message, and of all dictionaries together."""

INLINE_BYTES = 256 * 1024
"""Maximum bytes that are decoded on the event loop. A thread decodes more."""

MESSAGE_LINES = 256
"""Lines as which a record batch is charged, beside its bytes: to decode one of any size takes as long."""

ChargeRead = Callable[[int, int], Awaitable[None]]
"""Charges bytes and lines before they are read."""

CONTINUATION = 0xFFFFFFFF
END_OF_STREAM = struct.pack("<II", CONTINUATION, 0)


class MessageKind(IntEnum):
    """Content of a message; the numbers are those of `MessageHeader` in Message.fbs."""

    SCHEMA = 1
    DICTIONARY_BATCH = 2
    RECORD_BATCH = 3


class Frame(NamedTuple):
    """A message of a stream: its kind and all its bytes."""

    kind: int
    content: bytes


async def read_record_batches(chunks: AsyncIterator[bytes], charge: ChargeRead) -> AsyncIterator[pa.RecordBatch]:
    """Yield the validated record batches of a stream. Raise UnreadableInput if it is invalid or too large.

    Each batch is decoded together with the schema and the dictionaries before it, and charged for them again.
    """
    preceding, preceding_size = list[bytes](), 0
    async for frame in _read_frames(chunks):
        if frame.kind == MessageKind.RECORD_BATCH:
            await charge(preceding_size, MESSAGE_LINES)
            parts = [*preceding, frame.content, END_OF_STREAM]
            is_small = preceding_size + len(frame.content) <= INLINE_BYTES
            yield _read_batch(parts) if is_small else await run_in_thread(partial(_read_batch, parts))
        elif frame.kind in (MessageKind.SCHEMA, MessageKind.DICTIONARY_BATCH):
            preceding.append(frame.content)
            preceding_size += len(frame.content)
            if preceding_size > MAX_BODY_BYTES + MAX_METADATA_BYTES:
                raise UnreadableInput(f"the dictionaries are larger than {MAX_BODY_BYTES:,} bytes")
        else:
            raise UnreadableInput("the stream contains a message that is not a schema, a dictionary or a record batch")


def _read_batch(parts: Sequence[bytes]) -> pa.RecordBatch:
    """Return the only record batch of the parts of a complete stream."""
    try:
        with pa.ipc.open_stream(b"".join(parts)) as reader:
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
    """Return the kind of a message, the size of its body in bytes, and whether the body is compressed.

    The metadata is a flatbuffer; the field numbers are those of Message.fbs. Raise struct.error if it is malformed.
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
    """Return the position of a field of a flatbuffer table, or None if the table omits the field."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    if vtable < 0 or 4 + 2 * number >= struct.unpack_from("<H", buffer, vtable)[0]:
        return None
    (offset,) = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)
    return table + offset if offset else None


def _follow_offset(buffer: bytes, position: int) -> int:
    """Return the position of the table that a field refers to."""
    return int(position + struct.unpack_from("<I", buffer, position)[0])


class _ByteReader:
    """Reads an exact number of bytes from chunks of any size."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = bytearray()

    async def read(self, size: int, *, allow_end: bool = False) -> bytes:
        """Return the next `size` bytes, or none if the stream ends here and `allow_end` is set."""
        while len(self._buffer) < size:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                if allow_end and not self._buffer:
                    return b""
                raise UnreadableInput("the stream ends inside a message")
            self._buffer += chunk
        content = bytes(self._buffer[:size])
        del self._buffer[:size]
        return content
