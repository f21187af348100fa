"""Displays that reconnect again and again leave nothing behind at the gateway, however their connections end."""

import asyncio
import gc
import json
import socket as sockets
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.scale import selected_scale
from tests.support.live import LiveHouse, live_house, settled_in

CONNECTIONS = 1000 if selected_scale().long else 120
AT_ONCE = 20
DISPLAY = """subscription ($id: ID!) {
  display(homeId: $id) { frameVersion at power { net { value } } today { cost { total { amount } } } } }"""
REQUEST = (
    "POST /graphql HTTP/1.1\r\nHost: gateway\r\ntoken: {token}\r\nAccept: text/event-stream\r\n"
    "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
)


def count_objects() -> Counter[str]:
    """Count the objects of the gateway, and of asyncio and sockets below it, by class.

    Cancelled timers do not count: the event loop keeps up to 100 of them until they would have been due.
    """
    gc.collect()
    classes = (type(found) for found in gc.get_objects() if not is_cancelled_timer(found))
    modules = ("wattgate", "uvicorn", "asyncio", "uvloop", "websockets", "wsproto", "httptools", "_asyncio", "socket")
    return Counter(
        f"{found.__module__}.{found.__qualname__}"
        for found in classes
        if str(found.__module__).split(".")[0] in modules  # some classes have a descriptor as `__module__`
    )


def is_cancelled_timer(instance: object) -> bool:
    """Return whether an object is a timer of asyncio that was cancelled."""
    return type(instance) is asyncio.TimerHandle and instance.cancelled()


def open_files() -> Counter[str]:
    """Count the open file descriptors by kind: sockets, and all others. The pool of SQLite opens files on demand."""
    targets = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return Counter("sockets" if str(target).startswith("socket:") else "files" for target in targets)


async def end_of_socket(house: LiveHouse, ve_id: str, *, says_goodbye: bool) -> None:
    """Follow a home over a WebSocket until its first frame. Then complete it, or break the connection."""
    async with house.socket() as client:
        await client.subscribe(DISPLAY, id=ve_id)
        assert (await client.payload())["data"]["display"]["frameVersion"] == 1
        if says_goodbye:
            await client.complete()
        else:
            client.connection.transport.abort()


async def end_of_stream(house: LiveHouse, ve_id: str, *, reads: bool, resets: bool) -> None:
    """Follow a home by an event stream. End it after its first frame or before it, with or without a reset."""
    address = urlsplit(house.url)
    body = json.dumps({"query": DISPLAY, "variables": {"id": ve_id}})
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    token = house.one.headers["account"]["token"]
    writer.write(REQUEST.format(token=token, length=len(body), body=body).encode())
    if reads:
        await reader.readuntil(b'"frameVersion":1')
    if resets:
        connection = writer.get_extra_info("socket")
        connection.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.close()
    await writer.wait_closed()


ENDS: Sequence[Callable[[LiveHouse, str], Awaitable[None]]] = (
    lambda house, ve_id: end_of_socket(house, ve_id, says_goodbye=True),
    lambda house, ve_id: end_of_socket(house, ve_id, says_goodbye=False),
    lambda house, ve_id: end_of_stream(house, ve_id, reads=True, resets=False),
    lambda house, ve_id: end_of_stream(house, ve_id, reads=True, resets=True),
    lambda house, ve_id: end_of_stream(house, ve_id, reads=False, resets=True),
)
"""The ways in which a display leaves. A leak of one of them would be an object for each of its connections."""


async def reconnect(house: LiveHouse, ve_ids: Sequence[str], count: int) -> None:
    """Connect displays, some of them at once, and end each connection in the next way."""
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        await asyncio.gather(*(ENDS[n % len(ENDS)](house, ve_ids[n // len(ENDS) % len(ve_ids)]) for n in numbers))
        await house.quiet()


@pytest.mark.long("reconnects until nothing may grow; the ends of connections stay in the short form")
async def test_displays_that_reconnect_leave_nothing_behind(tmp_path: Path) -> None:
    async with settled_in(tmp_path) as settled, live_house(settled, caller_budget=0) as house:
        ve_ids = [await house.one.add_home(await house.one.add_resource()) for _ in range(2)]
        await reconnect(house, ve_ids, 2 * AT_ONCE)  # fills caches
        traces, files, objects = house.traces(), open_files(), count_objects()
        await reconnect(house, ve_ids, CONNECTIONS)
        await house.until(lambda: (house.traces(), open_files()["sockets"]) == (traces, files["sockets"]))
        more = count_objects() + open_files() - objects - files
        assert {name: count for name, count in more.items() if count >= CONNECTIONS // len(ENDS)} == {}, more
