"""The MQTT broker of the tests stops in bounded time, whatever its clients send meanwhile."""

import asyncio

import pytest

from tests.support.servers import Broker

# MQTT 3.1.1: version 4, client ID "a", user name "user", a new session, 60 seconds of keep-alive
CONNECT = bytes.fromhex("1013 00044d515454 0482003c 000161 000475736572")
ACCEPTED = bytes.fromhex("20020000")
ACKNOWLEDGEMENT = bytes.fromhex("40020001")


@pytest.mark.parametrize("iterations", range(8))
async def test_broker_stops_while_a_packet_arrives(iterations: int) -> None:
    """Stop the broker after a packet was sent and the event loop has run this number of iterations."""
    broker = Broker()
    await broker.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    writer.write(CONNECT)
    assert await reader.readexactly(len(ACCEPTED)) == ACCEPTED
    await asyncio.sleep(0.05)  # its tasks wait for a packet
    writer.write(ACKNOWLEDGEMENT)
    for _ in range(iterations):
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await broker.stop()
    writer.close()
