"""A server that sends messages of displays to one MQTT client, as a broker with a queue of messages does.

Arguments: the port, the number of messages, and how many the server sends before an acknowledgement. It listens on
127.0.0.1, prints a line when it is ready, and ends when a client has acknowledged all messages.
https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/os/mqtt-v3.1.1-os.html
"""

import asyncio
import struct
import sys
from contextlib import closing, suppress
from itertools import islice

import orjson

from wattgate.clock import format_iso_ms

CONNECT, PUBACK, SUBSCRIBE, PINGREQ = 1, 4, 8, 12
CONNACK_PACKET, PINGRESP_PACKET, SUBACK_HEADER = b"\x20\x02\x00\x00", b"\xd0\x00", b"\x90\x03"

MAC = "70B3D5000001"
TOPIC = f"glow/{MAC}/SENSOR/electricitymeter"
START_MS = 1_735_689_600_000
"""The instant of the first message: 2025-01-01T00:00:00Z."""


def power_message(number: int) -> bytes:
    """Return a message of a display with its power, one second after the message before."""
    power = {"value": number % 3000 / 1000, "units": "kW"}
    timestamp = format_iso_ms(START_MS + number * 1000)
    return orjson.dumps({"electricitymeter": {"timestamp": timestamp, "power": power}})


def publish_packet(number: int) -> bytes:
    """Return the PUBLISH packet of a message, with QoS 1."""
    body = struct.pack("!H", len(TOPIC)) + TOPIC.encode() + struct.pack("!H", _packet_id(number))
    body += power_message(number)
    return b"\x32" + _encode_length(len(body)) + body


def _packet_id(number: int) -> int:
    return number % 65_535 + 1


def _encode_length(length: int) -> bytes:
    encoded = bytearray()
    while length > 127:
        encoded.append(length % 128 + 128)
        length //= 128
    return bytes([*encoded, length])


class MessageServer:
    """Sends messages to a client, up to `window` of them before an acknowledgement.

    When the client connects again, it first gets those that it has not acknowledged.
    """

    def __init__(self, count: int, window: int) -> None:
        self.window = window
        self.all_acknowledged = asyncio.Event()
        self._waiting = ((_packet_id(number), publish_packet(number)) for number in range(count))
        self.unacknowledged: dict[int, bytes] = {}
        """The sent packets without an acknowledgement, by their packet identifier."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the packets of a client until it disconnects or the server ends."""
        with closing(writer), suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                kind = (await reader.readexactly(1))[0] >> 4
                self._answer(kind, await reader.readexactly(await _read_length(reader)), writer)

    def _answer(self, kind: int, body: bytes, writer: asyncio.StreamWriter) -> None:
        if kind == CONNECT:
            writer.write(CONNACK_PACKET)
        elif kind == SUBSCRIBE:
            writer.write(SUBACK_HEADER + body[:2] + b"\x01")
            writer.writelines(self.unacknowledged.values())
            self.send(writer)
        elif kind == PUBACK:
            del self.unacknowledged[int.from_bytes(body)]
            self.send(writer)
        elif kind == PINGREQ:
            writer.write(PINGRESP_PACKET)

    def send(self, writer: asyncio.StreamWriter) -> None:
        """Send messages until the window is full."""
        packets = dict(islice(self._waiting, self.window - len(self.unacknowledged)))
        self.unacknowledged |= packets
        writer.writelines(packets.values())
        if not self.unacknowledged:
            self.all_acknowledged.set()


async def _read_length(reader: asyncio.StreamReader) -> int:
    length, shift, more = 0, 0, True
    while more:
        (byte,) = await reader.readexactly(1)
        length, shift, more = length | (byte & 127) << shift, shift + 7, byte > 127
    return length


async def main(port: int, count: int, window: int) -> None:
    """Serve until all messages are acknowledged."""
    server = MessageServer(count, window)
    async with await asyncio.start_server(server.serve, "127.0.0.1", port):
        print("ready", flush=True)
        await server.all_acknowledged.wait()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
