"""A transport that sends what one iteration of the event loop writes at its end, with that of all other connections.

A write wakes the reader of the socket, for example a proxy on the same machine. If the gateway computes something
between two writes, the reader finds nothing more to read and sleeps again. Each wake-up then costs more than the write
itself. Writes that follow each other find the reader awake. A server like Redis does the same before it sleeps.
"""

import asyncio
from typing import Any

MAX_UNSENT_BYTES = 16 * 1024
"""Unsent bytes of a connection above which they are sent at once, so that a slow reader pauses the writer in time."""


class WriteBatch:
    """The connections of a server with unsent bytes. All of them send at the end of the iteration."""

    def __init__(self) -> None:
        self._transports: list[BatchedTransport] = []

    def add(self, transport: "BatchedTransport") -> None:
        """Flush a transport at the end of the iteration."""
        if not self._transports:
            asyncio.get_running_loop().call_soon(self._flush)
        self._transports.append(transport)

    def _flush(self) -> None:
        transports, self._transports = self._transports, []
        for transport in transports:
            transport.flush()


class BatchedTransport(asyncio.Transport):
    """A transport whose writes wait for the end of the iteration. It is otherwise the transport that it wraps.

    Its protocol must call `flush` in `eof_received`, because the event loop then closes the wrapped transport.
    """

    __slots__ = ("_batch", "_transport", "_unsent")

    def __init__(self, transport: asyncio.Transport, batch: WriteBatch) -> None:
        self._transport = transport
        self._batch = batch
        self._unsent = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes at the end of the iteration, or at once if they are many."""
        if not self._unsent and len(data) <= MAX_UNSENT_BYTES:
            self._batch.add(self)
        self._unsent += data
        if len(self._unsent) > MAX_UNSENT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send all unsent bytes now."""
        unsent, self._unsent = self._unsent, b""
        if unsent and not self._transport.is_closing():
            self._transport.write(unsent)

    def close(self) -> None:
        """Send all unsent bytes, and close the connection."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once. Bytes that the socket does not take now are lost."""
        self.flush()
        self._transport.abort()

    def can_write_eof(self) -> bool:
        return self._transport.can_write_eof()

    def write_eof(self) -> None:
        self.flush()
        self._transport.write_eof()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._transport.get_write_buffer_limits()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + len(self._unsent)
