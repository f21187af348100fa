"""Displays: raw clients of graphql-transport-ws that resume at their position and record what they receive."""

import asyncio
import random
import socket
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from tests.faults.history import Connected, Disconnected, Entry, PositionReceived, ReadingShown, SubscriptionEnded

SUBPROTOCOL = "graphql-transport-ws"
SUBSCRIPTION = (
    "subscription ($ids: [ID!]!, $since: String) { readings(resourceIds: $ids, since: $since) { resourceId at value } }"
)
LARGE_SUBSCRIPTION = SUBSCRIPTION.replace("value", "value " + " ".join(f"r{n}: resourceId" for n in range(32)))
"""The same with more than 1 KB for each reading, to fill the backlog of a slow reader."""

JITTER_SECONDS = 0.3
SILENCE_SECONDS = 2.0
"""A display pings every third of this time. After this time without a message, it closes the connection."""

SMALL_BUFFER_BYTES = 4096
"""The receive buffer of a slow display."""

FINAL_CODES = frozenset({4400, 4401, 4403, 4406, 4409, 4429})
"""Close codes after which a display does not reconnect: an error of the client, or invalid credentials."""


class Connection(asyncio.Protocol):
    """One connection of a display. `closed` completes when it has ended, with the close code or None."""

    def __init__(self, uri: str, on_message: Callable[["Connection", dict[str, Any]], None]) -> None:
        self._protocol = ClientProtocol(parse_uri(uri), subprotocols=[Subprotocol(SUBPROTOCOL)], max_size=None)
        self._on_message = on_message
        self._transport: asyncio.Transport | None = None
        self.last_received_at = asyncio.get_running_loop().time()
        self.paused = False
        self.closed: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._protocol.send_request(self._protocol.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        self.last_received_at = asyncio.get_running_loop().time()
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Response):
                self._on_message(self, {"type": "opened"})
            elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                self._on_message(self, orjson.loads(event.data))
        self._flush()
        if self._protocol.handshake_exc or self._protocol.close_rcvd:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            received = self._protocol.close_rcvd
            self.closed.set_result(received.code if received else None)

    @property
    def port(self) -> int:
        assert self._transport is not None
        port: int = self._transport.get_extra_info("sockname")[1]
        return port

    def send(self, message: Mapping[str, Any]) -> None:
        if self._protocol.state is State.OPEN and not self.closed.done():
            self._protocol.send_text(orjson.dumps(message))
            self._flush()

    def pause(self) -> None:
        """Stop reading."""
        assert self._transport is not None
        self.paused = True
        self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        assert self._transport is not None
        self.paused, self.last_received_at = False, asyncio.get_running_loop().time()
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """Drop the connection without a close frame."""
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        assert self._transport is not None
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)


class Display:
    """A client that subscribes to readings of some resources, until it is closed.

    `ports` are the ports of the gateways by number. It connects to `gateway` first, and reconnects to a random one.
    """

    def __init__(
        self,
        name: str,
        ports: Sequence[int],
        credentials: Mapping[str, str],
        resource_ids: Sequence[str],
        *,
        gateway: int = 0,
        document: str = SUBSCRIPTION,
        small_buffer: bool = False,
    ) -> None:
        self.name = name
        self.resource_ids = list(resource_ids)
        self.credentials = credentials
        self.gateway = gateway
        self.history: list[Entry] = []
        self.newest = dict.fromkeys(resource_ids, -1)
        """The newest received number of each resource."""

        self.position = ""
        self.live = False
        """Whether it is subscribed and has received a position."""

        self.on_change: Callable[[], None] = lambda: None
        """Called after each message and each change of the connection."""

        self._ports = ports
        self._document = document
        self._small_buffer = small_buffer
        self._connection: Connection | None = None
        self._may_connect = asyncio.Event()
        self._may_connect.set()
        self._closing = False

    @property
    def codes(self) -> list[int | None]:
        """The close codes of its connections."""
        return [entry.code for entry in self.history if isinstance(entry, Disconnected)]

    @property
    def port(self) -> int:
        """The local port of its connection."""
        assert self._connection is not None
        return self._connection.port

    @property
    def has_ended(self) -> bool:
        """Whether it must not reconnect."""
        return bool(FINAL_CODES.intersection(self.codes[-1:]))

    async def run(self) -> None:
        """Subscribe, and reconnect after each loss, until it is closed or must not reconnect."""
        while not self._closing and not self.has_ended:
            await self._may_connect.wait()
            try:
                self._connection = await self._connect()
                code = await self._wait_until_closed(self._connection)
            except OSError:
                self.gateway = (self.gateway + 1) % len(self._ports)
            else:
                self.history.append(Disconnected(code))
                self.gateway = random.randrange(len(self._ports))
            self.live = False
            self.on_change()
            if not self._closing:
                await asyncio.sleep(random.uniform(0, JITTER_SECONDS))

    def cut(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.abort()

    def disconnect(self) -> None:
        """Drop the connection, and do not reconnect until `reconnect` is called."""
        self._may_connect.clear()
        self.cut()

    def reconnect(self) -> None:
        """Reconnect with the last position."""
        self._may_connect.set()

    def close(self) -> None:
        """Drop the connection for good."""
        self._closing = True
        self._may_connect.set()
        self.cut()

    def pause(self) -> None:
        """Stop reading from the current connection."""
        assert self._connection is not None
        self._connection.pause()

    def resume(self) -> None:
        """Read again."""
        assert self._connection is not None
        self._connection.resume()

    async def _connect(self) -> Connection:
        port = self._ports[self.gateway]
        uri = f"ws://127.0.0.1:{port}/graphql"
        loop, link = asyncio.get_running_loop(), socket.socket()
        link.setblocking(False)
        if self._small_buffer:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        try:
            await loop.sock_connect(link, ("127.0.0.1", port))
            _, connection = await loop.create_connection(lambda: Connection(uri, self._on_message), sock=link)
        except BaseException:
            link.close()
            raise
        return connection

    async def _wait_until_closed(self, connection: Connection) -> int | None:
        """Wait until the connection ends, and return its close code. Drop it if the gateway is silent."""
        while True:
            done, _ = await asyncio.wait({connection.closed}, timeout=SILENCE_SECONDS / 3)
            if done:
                return connection.closed.result()
            if connection.paused:
                continue
            if asyncio.get_running_loop().time() - connection.last_received_at > SILENCE_SECONDS:
                connection.abort()
            else:
                connection.send({"type": "ping"})

    def _on_message(self, connection: Connection, message: dict[str, Any]) -> None:
        match message["type"]:
            case "opened":
                connection.send({"type": "connection_init", "payload": dict(self.credentials)})
            case "connection_ack":
                self.history.append(Connected(self.gateway))
                variables = {"ids": self.resource_ids, "since": self.position}
                request = {"query": self._document, "variables": variables}
                connection.send({"type": "subscribe", "id": "1", "payload": request})
            case "next":
                self._on_payload(message["payload"])
            case "error":
                self._on_subscription_ended(connection, message["payload"][0]["extensions"]["code"])
            case "complete":
                self._on_subscription_ended(connection, "COMPLETE")
            case "ping":
                connection.send({"type": "pong"})
        self.on_change()

    def _on_payload(self, payload: dict[str, Any]) -> None:
        self.position, reading = payload["extensions"]["position"], payload["data"]["readings"]
        if reading is None:
            self.history.append(
                PositionReceived(payload["extensions"].get("recovered"), self.position, datetime.now(UTC))
            )
            self.live = True
            return
        resource_id, number = reading["resourceId"], int(reading["value"])
        self.history.append(ReadingShown(resource_id, number, datetime.fromisoformat(reading["at"]), self.position))
        self.newest[resource_id] = max(number, self.newest[resource_id])

    def _on_subscription_ended(self, connection: Connection, code: str) -> None:
        """Handle the end of the subscription. Subscribe again on another connection."""
        self.history.append(SubscriptionEnded(code))
        connection.abort()


def reported_losses(display: Display) -> int:
    """Return how often a display received `recovered: false`."""
    return sum(isinstance(entry, PositionReceived) and entry.recovered is False for entry in display.history)
