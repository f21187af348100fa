"""`wattgate serve --workers N`: start N worker processes on one port, restart those that die, and drain them together.

uvicorn has its own supervisor, but its workers do not use our DrainingServer, and they share one listening socket, so
that the connections spread unevenly. Here each worker has its own listening socket on the port (SO_REUSEPORT).
"""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from tempfile import TemporaryDirectory

from prometheus_client.multiprocess import mark_process_dead

from wattgate.app.observability.http_metrics import start_metrics_server
from wattgate.app.server.edge.serving import (
    DRAIN_COMMAND,
    SERVING_SIGNAL,
    SKIP_DRAIN_COMMAND,
    bind_sockets,
    bound_port,
    bound_url,
)
from wattgate.app.setting_sources import build_environment
from wattgate.app.settings import Settings
from wattgate.realtime.backoff import Backoff

log = logging.getLogger(__name__)

KILL_GRACE_SECONDS = 1.5
"""Seconds after WATTGATE_DRAIN_LIMIT until a worker that still runs is killed."""

STABLE_AFTER_SECONDS = 10.0
"""A worker that ran longer than this is restarted immediately. A shorter run counts as a failed start and backs off."""

BACKOFF = Backoff(min_seconds=1.0, max_seconds=30.0)


class WorkerProcess:
    """A worker process, and the socket on which the launcher sends it commands."""

    def __init__(self, process: asyncio.subprocess.Process, channel: socket.socket) -> None:
        self.process = process
        self.is_serving = False
        self._channel = channel

    def send_command(self, command: bytes) -> None:
        """Send a command. Do nothing if the worker has exited."""
        try:
            self._channel.send(command)
        except OSError:
            log.debug("Worker %d has already exited", self.process.pid)

    async def wait_for_exit(self) -> int:
        """Wait until the worker exits and return its exit code. Set `is_serving` when it reports that it serves."""
        loop = asyncio.get_running_loop()
        try:
            self.is_serving = await loop.sock_recv(self._channel, 1) == SERVING_SIGNAL
        except ConnectionError:
            log.debug("Worker %d exited before it served", self.process.pid)
        if self.is_serving:
            log.info("Worker %d is serving", self.process.pid)
        return await self.process.wait()


class Launcher:
    """Supervisor that keeps a number of workers running until SIGTERM or SIGINT."""

    def __init__(self, settings: Settings, count: int, port: int, folder: str) -> None:
        self._settings = settings
        self._count = count
        self._environment = build_environment(WATTGATE_PORT=str(port), PROMETHEUS_MULTIPROC_DIR=folder)
        self._metrics_directory = folder
        self._workers: set[WorkerProcess] = set()
        self._stopping = asyncio.Event()
        self._has_served = False
        self._has_failed = False

    async def run(self) -> int:
        """Serve until a signal arrives. Return 0 if all workers then exited with 0, else 1."""
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signal_number, self._stop)
        tasks = [asyncio.create_task(self._supervise(index)) for index in range(self._count)]
        await self._stopping.wait()
        _, unfinished = await asyncio.wait(tasks, timeout=self._settings.drain_limit + KILL_GRACE_SECONDS)
        if unfinished:
            for worker in self._workers:
                log.error("Worker %d did not exit within the drain limit and is killed", worker.process.pid)
                worker.process.kill()
        await asyncio.gather(*tasks)
        return int(self._has_failed)

    def _stop(self) -> None:
        """Handle a signal: the first one starts the drain, the second one skips the rest of it."""
        command = SKIP_DRAIN_COMMAND if self._stopping.is_set() else DRAIN_COMMAND
        self._stopping.set()
        for worker in self._workers:
            worker.send_command(command)

    async def _supervise(self, index: int) -> None:
        """Run the worker with this index, and restart it whenever it exits, until the launcher stops."""
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._stopping.is_set():
            started_at = loop.time()
            async with self._start_worker(index) as worker:
                code = await worker.wait_for_exit()
            self._has_served = self._has_served or worker.is_serving
            if self._stopping.is_set():
                self._has_failed = self._has_failed or code != 0
            elif not self._has_served:
                log.error("Worker %d could not start (%s); the gateway exits", worker.process.pid, describe_exit(code))
                self._has_failed = True
                self._stop()
            else:
                failures = 0 if loop.time() - started_at > STABLE_AFTER_SECONDS else failures + 1
                pause = BACKOFF.delay_seconds(failures - 1) if failures else 0.0
                log.error("Worker %d exited (%s); restarting in %.1f s", worker.process.pid, describe_exit(code), pause)
                await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds, or until a signal arrives."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    @asynccontextmanager
    async def _start_worker(self, index: int) -> AsyncIterator[WorkerProcess]:
        """Start the process of a worker, and remove the worker when the context exits."""
        launcher_socket, worker_socket = socket.socketpair()
        with launcher_socket, worker_socket:
            launcher_socket.setblocking(False)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "wattgate", "serve-one", str(worker_socket.fileno()), str(index)),
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=[worker_socket.fileno()],
            )
            worker_socket.close()
            worker = WorkerProcess(process, launcher_socket)
            self._workers.add(worker)
            if self._stopping.is_set():
                worker.send_command(DRAIN_COMMAND)
            try:
                yield worker
            finally:
                self._workers.discard(worker)
                mark_process_dead(process.pid, self._metrics_directory)  # type: ignore[no-untyped-call]


def describe_exit(code: int) -> str:
    """Return the exit code or the name of the signal that ended a process, as text."""
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def launch(settings: Settings, count: int) -> int:
    """Serve with `count` processes until a signal arrives, and return the exit code.

    Raise Unavailable if the port cannot be bound.
    """
    # these sockets never listen: they only reserve the port while workers restart
    sockets = bind_sockets(settings.host, settings.port, shared=True)
    with TemporaryDirectory(prefix="wattgate-metrics-") as folder:
        start_metrics_server(settings, folder)
        log.info("Serving with %d workers on %s", count, bound_url(sockets))
        try:
            return asyncio.run(Launcher(settings, count, bound_port(sockets), folder).run())
        finally:
            for bound_socket in sockets:
                bound_socket.close()
