"""A client that goes on sending after the close of an error is not read for ever."""

import asyncio

from websockets.protocol import Protocol, Side

from wattgate.realtime.connections.wires.frame_wire import MAX_DISCARDED_BYTES, FrameWire

RESERVED_BIT = b"\xf1\x80" + bytes(4)
"""A frame that no extension explains."""


async def test_reading_stops_after_a_bounded_number_of_discarded_bytes() -> None:
    """The transport is that of a real connection, whose bytes the test hands over itself."""
    server = await asyncio.start_server(lambda reader, writer: accepted.set_result(writer), "127.0.0.1", 0)
    accepted: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()
    async with server:
        _, client = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer = await accepted
        transport = writer.transport
        assert isinstance(transport, asyncio.Transport)
        wire = FrameWire(Protocol(Side.SERVER), transport, set(), lambda transport: None)
        transport.set_protocol(wire)
        wire.data_received(RESERVED_BIT)
        wire.data_received(bytes(MAX_DISCARDED_BYTES))
        assert transport.is_reading(), "the rest of a message is read, so that the client reads the close code"
        wire.data_received(b"x")
        assert not transport.is_reading()
        client.close()
        transport.abort()
