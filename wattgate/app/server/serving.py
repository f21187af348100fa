"""The HTTP server: uvicorn with our settings, and a shutdown that lets everybody go in order."""

import asyncio
import logging
import socket
from collections.abc import Awaitable
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from wattgate.app.server.drain import Drain, Drainable, NoSockets, Readiness
from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.realtime.connections.direct_wire import DirectWire

log = logging.getLogger(__name__)

MAX_MESSAGE = 64 * 1024
"""The largest message that a socket takes, in bytes."""

KEEP_ALIVE = 75
"""Seconds that a connection waits for a further request: longer than load balancers let theirs wait (60 is usual), so
that none sends one just when the gateway closes."""

CLOSING = 2.0
"""Seconds that a drain keeps for what the application itself has to close."""

GOING = 3.0
"""Seconds that closed sockets have to go, beyond those over which they are closed."""

DRAIN, SKIP, SERVES = b"d", b"s", b"r"
"""What a launcher tells a worker (drain; skip the rest of it), and a worker its launcher (it serves)."""


class NoCuts(logging.Filter):
    """Leaves out what uvicorn tells of requests that a drain has cut: that is no fault of theirs."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


NO_CUTS = NoCuts()


def config(application: ASGIApp) -> uvicorn.Config:
    """How every gateway is served: by `wattgate serve`, in the demonstration and in tests."""
    logging.getLogger("uvicorn.error").addFilter(NO_CUTS)  # once, however often it is added
    return uvicorn.Config(
        application,
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE,
        http="httptools",
        ws=DirectWire,
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,
    )


def listeners(host: str, port: int, *, shared: bool = False) -> list[socket.socket]:
    """A socket for each address of the host, all on one port, which is any free one for 0.

    They do not listen yet. Where they are `shared`, other processes may listen on the same port, and the kernel
    spreads connections over those that do. Unavailable where the port cannot be had.
    """
    made: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            made.append(socket.socket(family, kind, protocol))
            made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                made[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            made[-1].bind((address[0], port or port_of(made[:1])))
    except OSError as error:
        for one in made:
            one.close()
        raise Unavailable(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return made


def port_of(bound: list[socket.socket]) -> int:
    """The port of bound sockets; 0 for one that is not bound yet."""
    port: int = bound[0].getsockname()[1]
    return port


def address(bound: list[socket.socket]) -> str:
    """Where to look at the gateway."""
    host: str = bound[0].getsockname()[0]
    return f"http://[{host}]:{port_of(bound)}" if ":" in host else f"http://{host}:{port_of(bound)}"


class Server(uvicorn.Server):
    """A server whose shutdown is a drain: not ready, a pause, no more connections, sockets, requests, the end.

    The second signal skips what is left of it. Under a launcher, signals come to all processes at once (from a
    terminal or a service manager), so that there only the launcher says when to skip, on `channel`; if it dies, its
    workers drain.
    """

    def __init__(self, served: uvicorn.Config, drain: Drain, channel: socket.socket | None = None) -> None:
        super().__init__(served)
        self._drain = drain
        self._channel = channel
        gateway = getattr(getattr(served.app, "state", None), "gateway", None)
        self._readiness: Readiness = gateway.readiness if gateway else Readiness()
        self._sockets: Drainable = gateway.sockets if gateway else NoSockets()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and self._channel is None:
            self.force_exit = True
        self._begin()

    def _begin(self) -> None:
        self.should_exit = self._readiness.draining = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._channel is not None:
            asyncio.get_running_loop().add_reader(self._channel, self._told)
            self._channel.send(SERVES)

    def _told(self) -> None:
        assert self._channel is not None
        words = self._channel.recv(64)
        self._begin()
        if SKIP in words:
            self.force_exit = True
        if not words:  # the launcher is gone
            asyncio.get_running_loop().remove_reader(self._channel)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._drain.limit
        self._begin()
        log.info("draining: %d sockets and event streams are open", self._sockets.count)
        await self._wait("the pause", asyncio.sleep(self._drain.pause), end)
        self._close_listeners(sockets or [])
        gone = min(loop.time() + self._drain.sockets + GOING, end - CLOSING)
        await self._wait("closing sockets", self._sockets.drain(self._drain.sockets), gone)
        self.config.timeout_graceful_shutdown = max(1, int(end - loop.time() - CLOSING))
        await self._wait("the end of requests", super().shutdown(sockets), end)
        if self.force_exit:
            log.warning("the rest of the drain is skipped")
            await self._cut()
        else:
            log.info("drained")

    async def _cut(self) -> None:
        """Cut what still runs, and let the application close what it has opened, so far as that is quick."""
        for task in self.server_state.tasks:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING):
                await self.lifespan.shutdown()

    def _close_listeners(self, sockets: list[socket.socket]) -> None:
        """No more connections; those that wait for a further request are closed, the others after their answer."""
        for server in self.servers:
            server.close()
        for one in sockets:
            one.close()
        for connection in list(self.server_state.connections):
            if isinstance(connection, self.config.http_protocol_class):
                connection.shutdown()

    async def _wait(self, step: str, work: Awaitable[None], until: float) -> None:
        """Wait for a step of the drain until an instant of the loop's clock, or until the second signal."""
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        while not task.done() and not self.force_exit and loop.time() < until:
            await asyncio.wait({task}, timeout=0.05)
        if task.done():
            if error := task.exception():
                log.error("while draining, %s failed", step, exc_info=error)
            return
        if not self.force_exit:
            log.warning("while draining, %s took too long and was cut short", step)
        task.cancel()
        await asyncio.wait({task}, timeout=1)


def serve(
    application: Starlette, settings: Settings, on: list[socket.socket], channel: socket.socket | None = None
) -> int:
    """Serve until a signal comes; the exit code, which is 0 unless a second one has cut the drain short."""
    if channel is None:
        log.info("serving on %s", address(on))
    server = Server(config(application), Drain.of(settings), channel)
    server.run(sockets=on)
    return int(server.force_exit)
