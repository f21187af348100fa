"""The transport that sends the writes of one iteration of the event loop together."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from wattgate.realtime.connections.batched_transport import MAX_UNSENT_BYTES, BatchedTransport, WriteBatch

Handle = Callable[[BatchedTransport, bytes], None]
"""The handler of the bytes of a client. It answers within the call."""


class Server(asyncio.Protocol):
    """The server's end of a connection. It remembers its batched transport."""

    def __init__(self, batch: WriteBatch, handle: Handle) -> None:
        self._batch, self._handle = batch, handle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = BatchedTransport(transport, self._batch)

    def data_received(self, data: bytes) -> None:
        self._handle(self.transport, data)

    def eof_received(self) -> None:
        self.transport.flush()


class Servers:
    """Connections that share one batch."""

    def __init__(self) -> None:
        self.batch = WriteBatch()
        self.clients: list[socket.socket] = []

    async def connect(self, handle: Handle = lambda transport, data: None) -> tuple[socket.socket, BatchedTransport]:
        """Return a client's socket, and the server's end of its connection."""
        client, other = socket.socketpair()
        client.setblocking(False)
        self.clients.append(client)
        _, server = await asyncio.get_running_loop().create_connection(lambda: Server(self.batch, handle), sock=other)
        return client, server.transport


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    opened = Servers()
    yield opened
    for client in opened.clients:
        client.close()


async def receive_all(client: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    parts = []
    while part := await asyncio.get_running_loop().sock_recv(client, 1 << 16):
        parts.append(part)
    return b"".join(parts)


def received_now(client: socket.socket) -> bytes:
    """Return the bytes that have arrived, without waiting."""
    try:
        return client.recv(1 << 20)
    except BlockingIOError:
        return b""


async def test_writes_of_an_iteration_are_sent_at_its_end_in_order(servers: Servers) -> None:
    (one, to_one), (other, to_other) = await servers.connect(), await servers.connect()
    for number in range(3):
        to_one.write(b"one%d" % number)
        to_other.write(b"other%d" % number)
    assert (received_now(one), received_now(other)) == (b"", b"")
    assert to_one.get_write_buffer_size() == 12
    await asyncio.sleep(0.01)
    assert (received_now(one), received_now(other)) == (b"one0one1one2", b"other0other1other2")
    to_one.writelines([b"a", b"b"])
    await asyncio.sleep(0.01)
    assert received_now(one) == b"ab"


async def test_many_bytes_are_sent_at_once_and_after_earlier_ones(servers: Servers) -> None:
    client, transport = await servers.connect()
    transport.write(b"first")
    transport.write(b"x" * MAX_UNSENT_BYTES)
    assert transport.get_write_buffer_size() < MAX_UNSENT_BYTES
    transport.write(b"last")
    transport.close()
    assert await receive_all(client) == b"first" + b"x" * MAX_UNSENT_BYTES + b"last"


@pytest.mark.parametrize("end", [BatchedTransport.close, BatchedTransport.write_eof, BatchedTransport.abort])
async def test_end_of_a_connection_follows_the_writes_before_it(
    servers: Servers, end: Callable[[BatchedTransport], None]
) -> None:
    client, transport = await servers.connect()
    transport.write(b"last words")
    end(transport)
    assert await receive_all(client) == b"last words"


async def test_client_that_stops_sending_receives_the_answer(servers: Servers) -> None:
    client, _ = await servers.connect(lambda transport, data: transport.write(b"answer to " + data))
    client.send(b"half-closed")
    client.shutdown(socket.SHUT_WR)  # both are there when the event loop looks next
    assert await receive_all(client) == b"answer to half-closed"


async def test_writes_after_the_end_are_ignored(servers: Servers) -> None:
    client, transport = await servers.connect()
    transport.close()
    assert transport.is_closing()
    transport.write(b"too late")
    assert await receive_all(client) == b""


async def test_connection_that_is_lost_does_not_hinder_the_others(servers: Servers) -> None:
    (lost, to_lost), (client, transport) = await servers.connect(), await servers.connect()
    to_lost.write(b"lost")
    transport.write(b"arrives")
    lost.close()
    await asyncio.sleep(0.01)
    assert received_now(client) == b"arrives"
