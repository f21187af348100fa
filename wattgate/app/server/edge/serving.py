"""The HTTP server: uvicorn with the settings of the gateway, and a shutdown that drains connections and requests."""

import asyncio
import gc
import logging
import socket
from collections.abc import Awaitable
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from wattgate.app.observability.logs import CANCELLED_TASK_FILTER
from wattgate.app.server.edge.connection_guard import DEFAULT_HTTP_LIMITS, HttpLimits
from wattgate.app.server.edge.drain import Drainable, DrainTimeouts, NoConnections, Readiness
from wattgate.app.server.edge.http_protocol import GuardedConfig, GuardedHttpProtocol, GuardedWire
from wattgate.app.settings import Settings
from wattgate.errors import Unavailable

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 * 1024
"""Maximum size of a WebSocket message from a client, in bytes."""

KEEP_ALIVE_SECONDS = 75
"""Seconds for which an idle HTTP connection stays open.

It is longer than the idle timeout of load balancers (usually 60 seconds). So a load balancer does not send a request on
a connection that the gateway is closing.
"""

SHUTDOWN_RESERVE_SECONDS = 2.0
"""Seconds at the end of a drain that are reserved for the shutdown of the application."""

CONNECTION_CLOSE_SECONDS = 3.0
"""Seconds for the close handshake of the last connections, after the time over which the closing is spread."""

GARBAGE_COLLECTION_THRESHOLDS = (20_000, 20, 20)
"""The thresholds of the garbage collector: new objects, and collections of a generation before the next one."""

DRAIN_COMMAND, SKIP_DRAIN_COMMAND, SERVING_SIGNAL = b"d", b"s", b"r"
"""Bytes on the socket to the launcher: two commands to the worker, and its report that it serves."""


def build_uvicorn_config(application: ASGIApp, limits: HttpLimits = DEFAULT_HTTP_LIMITS) -> GuardedConfig:
    """Return the uvicorn configuration of `wattgate serve`, the demonstration and the tests."""
    logging.getLogger("uvicorn.error").addFilter(CANCELLED_TASK_FILTER)  # adding the same filter again has no effect
    return GuardedConfig(
        application,
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        http=GuardedHttpProtocol,
        http_limits=limits,
        proxy_headers=False,  # ClientMiddleware decides which proxies are trusted
        ws=GuardedWire,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
    )


def bind_sockets(host: str, port: int, *, shared: bool = False) -> list[socket.socket]:
    """Bind a socket for each address of the host, all on the same port. Port 0 means any free port.

    The sockets do not listen yet. If they are `shared`, other processes may listen on the same port, and the kernel
    spreads the connections over them. Raise Unavailable if the port cannot be bound.
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
        raise Unavailable(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Stop the program that listens there, or set "
            "WATTGATE_PORT to a free port."
        ) from None
    return sockets


def bound_port(sockets: list[socket.socket]) -> int:
    """Return the port of bound sockets, or 0 if the first one is not bound yet."""
    port: int = sockets[0].getsockname()[1]
    return port


def bound_url(sockets: list[socket.socket]) -> str:
    """Return the URL of the gateway at the first of its bound sockets."""
    host: str = sockets[0].getsockname()[0]
    return f"http://[{host}]:{bound_port(sockets)}" if ":" in host else f"http://{host}:{bound_port(sockets)}"


class DrainingServer(uvicorn.Server):
    """A uvicorn server whose shutdown is a drain.

    The drain has these steps: report not ready, pause, stop listening, close WebSocket connections and event streams,
    finish running requests, shut down the application.

    A second signal skips the rest of the drain. A terminal or service manager may send a signal to the launcher and all
    workers at the same time. Therefore a worker ignores the second signal, and only the launcher sends the command to
    skip, on `channel`. If the launcher dies, its workers drain.
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
        if self._channel is None and self.started and sockets:
            log.info("Serving on %s", bound_url(sockets))
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
        log.info("Draining: %d WebSocket connections and event streams are open", self._connections.count)
        await self._run_drain_step("pause", asyncio.sleep(self._drain.pause_seconds), deadline)
        self._close_listeners(sockets or [])
        close_deadline = min(
            loop.time() + self._drain.close_seconds + CONNECTION_CLOSE_SECONDS, deadline - SHUTDOWN_RESERVE_SECONDS
        )
        await self._run_drain_step(
            "close connections", self._connections.drain(self._drain.close_seconds), close_deadline
        )
        self.config.timeout_graceful_shutdown = max(1, int(deadline - loop.time() - SHUTDOWN_RESERVE_SECONDS))
        await self._run_drain_step("finish requests", super().shutdown(sockets), deadline)
        if self.force_exit:
            log.warning("A second signal arrived: the rest of the drain is skipped")
            await self._cancel_requests()
        else:
            log.info("Drain finished")

    async def _cancel_requests(self) -> None:
        """Cancel the running requests, and shut the application down within SHUTDOWN_RESERVE_SECONDS."""
        for task in self.server_state.tasks:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_RESERVE_SECONDS):
                await self.lifespan.shutdown()

    def _close_listeners(self, sockets: list[socket.socket]) -> None:
        """Stop listening. Close idle HTTP connections now, and the others after their response."""
        for server in self.servers:
            server.close()
        for listener in sockets:
            listener.close()
        for connection in list(self.server_state.connections):
            if isinstance(connection, self.config.http_protocol_class):
                connection.shutdown()

    async def _run_drain_step(self, step: str, work: Awaitable[None], deadline: float) -> None:
        """Run a step of the drain until it ends, until `deadline` (time of the event loop) or until a second signal."""
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        while not task.done() and not self.force_exit and loop.time() < deadline:
            await asyncio.wait({task}, timeout=0.05)
        if task.done():
            if error := task.exception():
                log.error("Drain step '%s' failed", step, exc_info=error)
            return
        if not self.force_exit:
            log.warning("Drain step '%s' exceeded its time limit and was cancelled", step)
        task.cancel()
        await asyncio.wait({task}, timeout=1)


def tune_garbage_collection() -> None:
    """Let the garbage collector run less often in this process, which serves the application from now on.

    The objects of the application live until exit, so they are not visited again. A response has some hundred objects
    and no cycles. With Python's threshold of 700 objects, the collector would run several times for a large one.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_COLLECTION_THRESHOLDS)


def serve(
    application: Starlette, settings: Settings, sockets: list[socket.socket], channel: socket.socket | None = None
) -> int:
    """Serve until a signal arrives. Return the exit code: 0, or 1 if a second signal cut the drain short."""
    config = build_uvicorn_config(application, HttpLimits.from_settings(settings))
    server = DrainingServer(config, DrainTimeouts.from_settings(settings), channel)
    tune_garbage_collection()
    server.run(sockets=sockets)
    return int(server.force_exit)
