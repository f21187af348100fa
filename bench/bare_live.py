"""The floor of connecting, live readings and displays: the same input and output, written by hand with nothing else.

For each connection, it answers the handshake, takes the two connection slots and opens the stream by the gateway's
scripts, and reads the resource twice, as the gateway does. For each reading, it decodes the message from Redis and
sends a frame: that reading, or a home's whole display. It has no permissions, limits, deadlines or errors, and parses
only what the bench sends.

It listens on $PORT and takes the path of the SQLite database and the port of Redis as arguments.
"""

import asyncio
import os
import sqlite3
import sys
from typing import Any

import hiredis
import msgspec
import orjson
import uvloop
from websockets.utils import accept_key

from wattgate.realtime import topics
from wattgate.realtime.bus.redis_client import OPEN_STREAM_SCRIPT, stream_key
from wattgate.realtime.connections.redis_connection_slots import ACQUIRE_SCRIPT
from wattgate.realtime.connections.wires import frame_wire
from wattgate.realtime.events import ReadingRecorded

_BODY = msgspec.json.Decoder(tuple[str, str, ReadingRecorded])
_pack: Any = hiredis.pack_command


class RedisLink(asyncio.Protocol):
    """A connection to Redis: replies to scripts, or messages of channels."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self.waiting: list[Client] = []
        self.clients: dict[bytes, list[Client]] = {}

    def connection_made(self, transport: Any) -> None:
        self.send: Any = transport.write

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            if isinstance(reply, list) and reply and reply[0] == b"message":
                self._deliver(reply[1], reply[2])
            elif isinstance(reply, bytes) and self.waiting:  # the position of an opened stream
                self.waiting.pop(0).on_opened()

    def _deliver(self, channel: bytes, message: bytes) -> None:
        _, _, body = message.partition(b" ")
        if not body:
            return
        reading = _BODY.decode(body)[2]
        data = {"resourceId": reading.resource_id, "field": reading.field, "at": reading.at, "value": reading.value}
        payload = orjson.dumps({"data": {"readings": {**data, "unit": reading.unit}}})
        frame = frame_wire.text(b'{"id":"1","type":"next","payload":' + payload + b"}")
        for client in self.clients.get(channel, ()):
            client.write(frame if client.display is None else client.display.draw(reading))


class Display:
    """The state of a home's display: the energy and the cost of today, from readings of power."""

    def __init__(self, pounds_per_kwh: float) -> None:
        self._rate, self._energy = pounds_per_kwh, 0.0
        self._last: ReadingRecorded | None = None

    def draw(self, reading: ReadingRecorded) -> bytes:
        """Add a reading to the state. Return the frame of the whole display."""
        if self._last is not None:
            self._energy += self._last.value * (reading.at - self._last.at).total_seconds() / 3_600_000
        self._last = reading
        display = {
            "at": reading.at,
            "power": {"net": {"value": reading.value, "unit": "WATT"}, "at": reading.at},
            "today": {
                "electricity": {"energy": {"value": f"{self._energy:.3f}", "unit": "KILOWATT_HOUR"}},
                "cost": {"total": {"amount": f"{self._energy * self._rate:.2f}", "currency": "GBP"}},
            },
            "freshness": {"state": "LIVE", "ageSeconds": 0},
        }
        payload = orjson.dumps({"data": {"display": display}})
        return frame_wire.text(b'{"id":"1","type":"next","payload":' + payload + b"}")


class Client(asyncio.Protocol):
    """A socket of the bench's subscribers."""

    def __init__(self, number: int, database: sqlite3.Connection, commands: RedisLink, messages: RedisLink) -> None:
        self._number, self._database, self._commands, self._messages = number, database, commands, messages
        self._open, self._channel = False, b""
        self.display: Display | None = None

    def connection_made(self, transport: Any) -> None:
        self.write: Any = transport.write

    def connection_lost(self, error: Exception | None) -> None:
        if self._channel:
            self._messages.clients[self._channel].remove(self)

    def data_received(self, data: bytes) -> None:
        if not self._open:
            self._open, key = True, data.partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
            self.write(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Protocol: graphql-transport-ws\r\nSec-WebSocket-Accept: "
                + accept_key(key.decode()).encode()
                + b"\r\n\r\n"
            )
            return
        while data:
            size, start = data[1] & 0x7F, 6
            if size == 126:
                size, start = int.from_bytes(data[2:4], "big"), 8
            self._on_message(orjson.loads(data[start : start + size]))  # the mask of the bench is zero
            data = data[start + size :]

    def _on_message(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "connection_init":
                for scope in (b"account", b"application"):
                    keys = (b"by-hand:{%b}:age" % scope, b"by-hand:{%b}:lease" % scope)
                    arguments = (1, 2**50, b"%d" % self._number, self._number, 1_000_000)
                    self._commands.send(_pack(("EVAL", ACQUIRE_SCRIPT, 2, *keys, *arguments)))
                self.write(frame_wire.text(b'{"type":"connection_ack"}'))
            case "subscribe":
                resource_id = self._read_resource(message["payload"]["variables"])
                self._channel = stream_key(topics.readings(resource_id)).encode()
                self._messages.send(_pack(("SUBSCRIBE", self._channel)))
                self._commands.waiting.append(self)
                self._commands.send(_pack(("EVAL", OPEN_STREAM_SCRIPT, 1, self._channel, 600)))
            case "ping":
                self.write(frame_wire.text(b'{"type":"pong"}'))

    def _read_resource(self, variables: dict[str, Any]) -> str:
        """Read the resource twice, or that of a home with a display. Return its id."""
        if "id" in variables:
            self.display = Display(pounds_per_kwh=0.245)
            query = "SELECT resource_id FROM virtual_entity_resource WHERE ve_id = ?"
            resource_id: str = self._database.execute(query, (variables["id"],)).fetchone()[0]
        else:
            (resource_id,) = variables["ids"]
        for _ in range(2):
            self._database.execute("SELECT * FROM resource WHERE resource_id = ?", (resource_id,)).fetchall()
        return resource_id

    def on_opened(self) -> None:
        """Receive the readings of the stream from now on."""
        self._messages.clients.setdefault(self._channel, []).append(self)


async def main(database_path: str, redis_port: str) -> None:
    """Serve until the process is killed."""
    loop, database = asyncio.get_running_loop(), sqlite3.connect(database_path)
    links = [await loop.create_connection(RedisLink, "127.0.0.1", int(redis_port)) for _ in range(2)]
    commands, messages = (link for _, link in links)
    numbers = iter(range(10**9))
    server = await loop.create_server(
        lambda: Client(next(numbers), database, commands, messages), "127.0.0.1", int(os.environ["PORT"]), backlog=1024
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
