"""A client of graphql-transport-ws for tests, which says what it is told to and remembers nothing."""

import asyncio
import json
import socket as sockets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

HEAR_SECONDS = 10


class Socket:
    """A socket to a gateway. `hear` leaves out the pings of the server unless told otherwise."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def send(self, data: str | bytes) -> None:
        """Send what need not be a message: text, or bytes as a binary one."""
        await self.connection.send(data)

    async def say_nested(self, depth: int) -> None:
        """Send a ping with a payload of many lists in each other."""
        await self.connection.send(f'{{"type": "ping", "payload": {{"a": {"[" * depth}{"]" * depth}}}}}')

    def say_at_once(self, *messages: dict[str, Any] | str) -> None:
        """Send messages so that they arrive together: the later ones before anything has come of the first."""
        for message in messages:
            text = message if isinstance(message, str) else json.dumps(message)
            self.connection.protocol.send_text(text.encode())
        self.connection.send_data()

    async def hear(self, *, pings: bool = False) -> Any:
        """The next message."""
        while True:
            message = json.loads(await asyncio.wait_for(self.connection.recv(), HEAR_SECONDS))
            if pings or message["type"] != "ping":
                return message

    async def rest(self) -> list[Any]:
        """All that is still heard until the socket is closed, without the pings of the server."""
        heard = []
        while True:
            try:
                heard.append(await self.hear())
            except ConnectionClosed:
                return heard

    async def heard(self) -> list[Any]:
        """What has come up to now: whatever the server said before it answers a ping, without that."""
        await self.say(type="ping", payload={"upTo": "now"})
        heard: list[Any] = []
        while (message := await self.hear()) != {"type": "pong", "payload": {"upTo": "now"}}:
            heard.append(message)
        return heard

    async def init(self, **payload: Any) -> None:
        """Say who it is, and be acknowledged."""
        await self.say(type="connection_init", payload=payload)
        assert await self.hear() == {"type": "connection_ack"}

    async def subscribe(self, query: str, operation_id: str = "1", **variables: Any) -> None:
        payload = {"query": query, "variables": variables}
        await self.say(id=operation_id, type="subscribe", payload=payload)

    async def complete(self, operation_id: str = "1") -> None:
        await self.say(id=operation_id, type="complete")

    async def payload(self) -> Any:
        """The payload of the next message, which is a `next`."""
        message = await self.hear()
        assert message["type"] == "next", message
        return message["payload"]

    async def values(self, count: int) -> list[float]:
        """The values of the next readings."""
        return [(await self.payload())["data"]["readings"]["value"] for _ in range(count)]

    async def error(self) -> Any:
        """The first of the errors by which an operation ends, which the next message tells."""
        message = await self.hear()
        assert message["type"] == "error", message
        return message["payload"][0]

    async def closed(self) -> tuple[int | None, str | None]:
        """The code and reason by which it is closed, once it is."""
        await asyncio.wait_for(self.connection.wait_closed(), HEAR_SECONDS)
        return self.connection.close_code, self.connection.close_reason


def socket_url(url: str) -> str:
    """Where the sockets of a gateway are."""
    return url.replace("http", "ws", 1) + "/graphql"


@asynccontextmanager
async def socket(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    subprotocols: Sequence[str] = ("graphql-transport-ws",),
    window: int | None = None,
) -> AsyncIterator[Socket]:
    """A socket to the gateway at this URL. With a `window` it takes few bytes that nobody asks for: no more than that,
    and one message."""
    raw_socket = None
    if window is not None:
        address = urlsplit(url)
        raw_socket = sockets.socket()
        raw_socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, window)
        raw_socket.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw_socket, (address.hostname, address.port))
    async with connect(
        socket_url(url),
        subprotocols=[Subprotocol(name) for name in subprotocols] or None,
        additional_headers=headers,
        sock=raw_socket,
        max_queue=16 if window is None else 1,
        close_timeout=1,
    ) as connection:
        yield Socket(connection)
