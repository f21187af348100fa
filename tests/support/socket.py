"""A client of graphql-transport-ws for tests, which says what it is told to and remembers nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

HEAR_SECONDS = 10


class Socket:
    """A socket to a gateway. `hear` leaves out the pings of the server unless told otherwise."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def hear(self, *, pings: bool = False) -> Any:
        """The next message."""
        while True:
            message = json.loads(await asyncio.wait_for(self.connection.recv(), HEAR_SECONDS))
            if pings or message["type"] != "ping":
                return message

    async def init(self, **payload: Any) -> None:
        """Say who it is, and be acknowledged."""
        await self.say(type="connection_init", payload=payload)
        assert await self.hear() == {"type": "connection_ack"}

    async def subscribe(self, query: str, operation_id: str = "1", **variables: Any) -> None:
        payload = {"query": query, "variables": variables}
        await self.say(id=operation_id, type="subscribe", payload=payload)

    async def payload(self) -> Any:
        """The payload of the next message, which is a `next`."""
        message = await self.hear()
        assert message["type"] == "next", message
        return message["payload"]

    async def closed(self) -> tuple[int | None, str | None]:
        """The code and reason by which it is closed, once it is."""
        await asyncio.wait_for(self.connection.wait_closed(), HEAR_SECONDS)
        return self.connection.close_code, self.connection.close_reason


def socket_url(url: str) -> str:
    """Where the sockets of a gateway are."""
    return url.replace("http", "ws", 1) + "/graphql"


@asynccontextmanager
async def socket(url: str, *, subprotocol: str = "graphql-transport-ws", **headers: str) -> AsyncIterator[Socket]:
    """A socket to the gateway at this URL."""
    async with connect(socket_url(url), subprotocols=[subprotocol], additional_headers=headers) as connection:
        yield Socket(connection)
