"""Requests whose body comes later than their head."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from tests.realtime.test_server_sent_events import EVENT_STREAM_HEADERS
from tests.support.refusals import with_refusals
from wattgate.principal import Role

FIRST_BYTES = 5

HELD_NAME = "A name of a held request"


@dataclass
class HeldRequest:
    """A request whose caller was authenticated by its head. Of its body, only the first bytes were sent."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    rest: bytes

    @classmethod
    async def begin(cls, url: str, method: str, path: str, headers: Mapping[str, str], content: Any) -> Self:
        """Send the head and the first bytes.

        The server answers `Expect: 100-continue` when the application asks for the body, after the authentication.
        """
        where, body = urlsplit(url), json.dumps(content).encode()
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        fields = {
            "Host": where.netloc,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Expect": "100-continue",
            "Connection": "close",
            **headers,
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "\r\n"]
        writer.write("\r\n".join(lines).encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert len(body) > FIRST_BYTES
        writer.write(body[:FIRST_BYTES])
        return cls(reader, writer, body[FIRST_BYTES:])

    async def answer(self) -> str:
        """Send the rest of the body, and return the answer, which must end."""
        self.writer.write(self.rest)
        async with asyncio.timeout(30):
            answer = (await self.reader.read()).decode()
        self.writer.close()
        await self.writer.wait_closed()
        return answer


async def held_changes(url: str, headers: Mapping[str, str], role: Role) -> dict[str, HeldRequest]:
    """Begin a change that a caller of a role may make, by each kind of request that has it in a body."""
    if role is Role.MEMBER:
        return {}  # a member changes nothing
    document, method, path = f'mutation {{ changeName(name: "{HELD_NAME}") {{ __typename }} }}', "POST", "/account/name"
    if role is Role.DISPLAY:
        document, method, path = "mutation { endOwnDisplay { __typename } }", "DELETE", "/paireddisplay/own"
    query, begin = {"query": with_refusals(document)}, HeldRequest.begin
    return {
        "GraphQL": await begin(url, "POST", "/graphql", headers, query),
        "REST": await begin(url, method, f"/api/v0-1{path}", headers, {"name": HELD_NAME}),
        "stream": await begin(url, "POST", "/graphql", {**EVENT_STREAM_HEADERS, **headers}, query),
    }


async def held_reads(url: str, headers: Mapping[str, str]) -> dict[str, HeldRequest]:
    """Begin a read by each kind of request."""
    query, stream = (
        {"query": "{ viewer { homes { edges { node { homeId } } } } }"},
        {"query": "subscription { alerts { alertId } }"},
    )
    begin = HeldRequest.begin
    return {
        "query": await begin(url, "POST", "/graphql", headers, query),
        "read by REST": await begin(url, "GET", "/api/v0-1/virtualentity", headers, {"body": None}),
        "subscription": await begin(url, "POST", "/graphql", {**EVENT_STREAM_HEADERS, **headers}, stream),
    }
