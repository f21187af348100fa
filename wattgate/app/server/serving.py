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

from wattgate.app.server.drain import Drainable, DrainTimeouts, NoConnections, Readiness
from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.realtime.connections.direct_wire import DirectWire

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 * 1024
"""The largest message that a socket takes, in bytes."""

KEEP_ALIVE_SECONDS = 75
"""Seconds that a connection waits for a further request: longer than load balancers let theirs wait (60 is usual), so
that none sends one just when the gateway closes."""

SHUTDOWN_RESERVE_SECONDS = 2.0
"""Seconds that a drain keeps for what the application itself has to close."""

CONNECTION_CLOSE_SECONDS = 3.0
"""Seconds that closed sockets have to go, beyond those over which they are closed."""

DRAIN_COMMAND, SKIP_DRAIN_COMMAND, SERVING_SIGNAL = b"d", b"s", b"r"
"""What a launcher tells a worker (drain; skip the rest of it), and a worker its launcher (it serves)."""


class CancelledRequestFilter(logging.Filter):
    """Leaves out what uvicorn tells of requests that a drain has cut: that is no fault of theirs."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


CANCELLED_REQUEST_FILTER = CancelledRequestFilter()


def build_uvicorn_config(application: ASGIApp) -> uvicorn.Config:
    """How every gateway is served: by `wattgate serve`, in the demonstration and in tests."""
    logging.getLogger("uvicorn.error").addFilter(CANCELLED_REQUEST_FILTER)  # once, however often it is added
    return uvicorn.Config(
        application,
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        http="httptools",
        ws=DirectWire,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
    )


def bind_sockets(host: str, port: int, *, shared: bool = False) -> list[socket.socket]:
    """A socket for each address of the host, all on one port, which is any free one for 0.

    They do not listen yet. Where they are `shared`, other processes may listen on the same port, and the kernel
    spreads connections over those that do. Unavailable where the port cannot be had.
    """
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            sockets.append(socket.socket(family, kind, protocol))
            sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                sockets[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sockets[-1].bind((address[0], port or bound_port(sockets[:1])))
    except OSError as error:
        for opened in sockets:
            opened.close()
        raise Unavailable(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return sockets


def bound_port(sockets: list[socket.socket]) -> int:
    """The port of bound sockets; 0 for one that is not bound yet."""
    port: int = sockets[0].getsockname()[1]
    return port


def bound_url(sockets: list[socket.socket]) -> str:
    """Where to look at the gateway."""
    host: str = sockets[0].getsockname()[0]
    return f"http://[{host}]:{bound_port(sockets)}" if ":" in host else f"http://{host}:{bound_port(sockets)}"


class DrainingServer(uvicorn.Server):
    """A server whose shutdown is a drain: not ready, a pause, no more connections, sockets, requests, the end.

    The second signal skips what is left of it. Under a launcher, signals come to all processes at once (from a
    terminal or a service manager), so that there only the launcher says when to skip, on `channel`; if it dies, its
    workers drain.
    """

    def __init__(
        self, uvicorn_config: uvicorn.Config, drain: DrainTimeouts, channel: socket.socket | None = None
    ) -> None:
        super().__init__(uvicorn_config)
        self._drain = drain
        self._channel = channel
        gateway = getattr(getattr(uvicorn_config.app, "state", None), "gateway", None)
        self._readiness: Readiness = gateway.readiness if gateway else Readiness()
        self._connections: Drainable = gateway.connections if gateway else NoConnections()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and self._channel is None:
            self.force_exit = True
        self._begin_drain()

    def _begin_drain(self) -> None:
        self.should_exit = self._readiness.draining = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._channel is not None:
            asyncio.get_running_loop().add_reader(self._channel, self._on_launcher_command)
            self._channel.send(SERVING_SIGNAL)

    def _on_launcher_command(self) -> None:
        assert self._channel is not None
        commands = self._channel.recv(64)
        self._begin_drain()
        if SKIP_DRAIN_COMMAND in commands:
            self.force_exit = True
        if not commands:  # the launcher is gone
            asyncio.get_running_loop().remove_reader(self._channel)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._drain.total_seconds
        self._begin_drain()
        log.info("draining: %d sockets and event streams are open", self._connections.count)
        await self._run_drain_step("the pause", asyncio.sleep(self._drain.pause_seconds), deadline)
        self._close_listeners(sockets or [])
        close_deadline = min(
            loop.time() + self._drain.close_seconds + CONNECTION_CLOSE_SECONDS, deadline - SHUTDOWN_RESERVE_SECONDS
        )
        await self._run_drain_step(
            "closing sockets", self._connections.drain(self._drain.close_seconds), close_deadline
        )
        self.config.timeout_graceful_shutdown = max(1, int(deadline - loop.time() - SHUTDOWN_RESERVE_SECONDS))
        await self._run_drain_step("the end of requests", super().shutdown(sockets), deadline)
        if self.force_exit:
            log.warning("the rest of the drain is skipped")
            await self._cancel_requests()
        else:
            log.info("drained")

    async def _cancel_requests(self) -> None:
        """Cut what still runs, and let the application close what it has opened, so far as that is quick."""
        for task in self.server_state.tasks:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_RESERVE_SECONDS):
                await self.lifespan.shutdown()

    def _close_listeners(self, sockets: list[socket.socket]) -> None:
        """No more connections; those that wait for a further request are closed, the others after their answer."""
        for server in self.servers:
            server.close()
        for listener in sockets:
            listener.close()
        for connection in list(self.server_state.connections):
            if isinstance(connection, self.config.http_protocol_class):
                connection.shutdown()

    async def _run_drain_step(self, step: str, work: Awaitable[None], deadline: float) -> None:
        """Wait for a step of the drain until an instant of the loop's clock, or until the second signal."""
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        while not task.done() and not self.force_exit and loop.time() < deadline:
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
    application: Starlette, settings: Settings, sockets: list[socket.socket], channel: socket.socket | None = None
) -> int:
    """Serve until a signal comes; the exit code, which is 0 unless a second one has cut the drain short."""
    if channel is None:
        log.info("serving on %s", bound_url(sockets))
    server = DrainingServer(build_uvicorn_config(application), DrainTimeouts.from_settings(settings), channel)
    server.run(sockets=sockets)
    return int(server.force_exit)
