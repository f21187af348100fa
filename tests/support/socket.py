"""A minimal graphql-transport-ws client without state, so that tests can send any sequence of messages."""

import asyncio
import json
import socket as sockets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tests.support.refusals import with_refusals

HEAR_SECONDS = 60
"""Maximum wait for a message, in seconds. It only ends a broken test."""


class Socket:
    """A WebSocket connection to a gateway. By default, `hear` skips the pings of the server."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def send(self, data: str | bytes) -> None:
        """Send raw data, which may be invalid: text, or bytes as a binary message."""
        await self.connection.send(data)

    async def say_nested(self, depth: int) -> None:
        """Send a ping whose payload has nested lists of this depth."""
        await self.connection.send(f'{{"type": "ping", "payload": {{"a": {"[" * depth}{"]" * depth}}}}}')

    def say_at_once(self, *messages: dict[str, Any] | str) -> None:
        """Send messages in one write, so that they arrive before the gateway handles the first."""
        for message in messages:
            text = message if isinstance(message, str) else json.dumps(message)
            self.connection.protocol.send_text(text.encode())
        self.connection.send_data()

    async def hear(self, *, pings: bool = False) -> Any:
        """Return the next message."""
        while True:
            message = json.loads(await asyncio.wait_for(self.connection.recv(), HEAR_SECONDS))
            if pings or message["type"] != "ping":
                return message

    async def rest(self) -> list[Any]:
        """Return all further messages until the connection is closed, except pings."""
        heard = []
        while True:
            try:
                heard.append(await self.hear())
            except ConnectionClosed:
                return heard

    async def heard(self) -> list[Any]:
        """Return the messages that the server has sent so far. A ping and its pong mark the end."""
        await self.say(type="ping", payload={"upTo": "now"})
        heard: list[Any] = []
        while (message := await self.hear()) != {"type": "pong", "payload": {"upTo": "now"}}:
            heard.append(message)
        return heard

    async def init(self, **payload: Any) -> None:
        """Send connection_init with credentials and wait for the acknowledgement."""
        await self.say(type="connection_init", payload=payload)
        assert await self.hear() == {"type": "connection_ack"}

    async def subscribe(self, query: str, operation_id: str = "1", **variables: Any) -> None:
        payload = {"query": with_refusals(query), "variables": variables}
        await self.say(id=operation_id, type="subscribe", payload=payload)

    async def complete(self, operation_id: str = "1") -> None:
        await self.say(id=operation_id, type="complete")

    async def payload(self) -> Any:
        """Return the payload of the next message, which must be a `next`."""
        message = await self.hear()
        assert message["type"] == "next", message
        return message["payload"]

    async def answer(self, query: str, operation_id: str = "query") -> Any:
        """Send a query, and return its payload, or a payload with the errors of its message."""
        await self.subscribe(query, operation_id)
        message = await self.hear()
        assert message["id"] == operation_id, message
        if message["type"] == "error":
            return {"errors": message["payload"]}
        assert (await self.hear())["type"] == "complete"
        return message["payload"]

    async def values(self, count: int) -> list[float]:
        """Return the values of the next readings."""
        return [(await self.payload())["data"]["readings"]["value"] for _ in range(count)]

    async def error(self) -> Any:
        """Return the first error of the next message, which must be an `error`."""
        message = await self.hear()
        assert message["type"] == "error", message
        return message["payload"][0]

    @asynccontextmanager
    async def attended(self) -> AsyncIterator[None]:
        """Reply to the pings of the server meanwhile, and leave out all other messages.

        A connection without replies is closed after half a minute, which a busy machine may need for other work.
        """
        task = asyncio.create_task(self._reply_to_pings())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _reply_to_pings(self) -> None:
        with suppress(ConnectionClosed):
            async for message in self.connection:
                if json.loads(message)["type"] == "ping":
                    await self.say(type="pong")

    async def closed(self) -> tuple[int | None, str | None]:
        """Wait until the connection is closed and return the close code and reason."""
        await asyncio.wait_for(self.connection.wait_closed(), HEAR_SECONDS)
        return self.connection.close_code, self.connection.close_reason


def socket_url(url: str) -> str:
    """Return the WebSocket URL of a gateway."""
    return url.replace("http", "ws", 1) + "/graphql"


@asynccontextmanager
async def socket(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    subprotocols: Sequence[str] = ("graphql-transport-ws",),
    window: int | None = None,
) -> AsyncIterator[Socket]:
    """Open a connection to the gateway at this URL.

    With `window`, the client buffers only one message and this many bytes, to simulate a slow reader.
    """
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
