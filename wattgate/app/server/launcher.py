"""`wattgate serve --workers N`: as many processes on one port, started again when they die, drained together.

uvicorn's own supervisor runs servers of its own class, which know no drain, and has its workers share one listening
socket, on which connections spread unevenly. Here each worker has a socket of its own on the port (SO_REUSEPORT).
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

from wattgate.app.observability.http_metrics import open_metrics_port
from wattgate.app.server.serving import DRAIN, SERVES, SKIP, address, listeners, port_of
from wattgate.app.settings import Settings, environment_with
from wattgate.realtime.backoff import Backoff

log = logging.getLogger(__name__)

BEYOND = 1.5
"""Seconds that a worker has beyond the limit of its drain, before it is killed."""

STEADY = 10.0
"""Seconds after which a worker that dies has not died of its start: the next one is started at once."""

BACKOFF = Backoff(shortest=1.0, longest=30.0)


class Worker:
    """A process that serves, and the line on which it is told things."""

    def __init__(self, process: asyncio.subprocess.Process, line: socket.socket) -> None:
        self.process = process
        self.serves = False
        self._line = line

    def tell(self, word: bytes) -> None:
        """Tell it something, if it still lives."""
        try:
            self._line.send(word)
        except OSError:
            log.debug("worker %d is gone already", self.process.pid)

    async def ends(self) -> int:
        """Wait until it has ended; its exit code. Meanwhile it may say that it serves."""
        loop = asyncio.get_running_loop()
        try:
            self.serves = await loop.sock_recv(self._line, 1) == SERVES
        except ConnectionError:
            log.debug("worker %d ended without a word", self.process.pid)
        if self.serves:
            log.info("worker %d serves", self.process.pid)
        return await self.process.wait()


class Launcher:
    """Keeps as many workers as it was told, until it gets a signal."""

    def __init__(self, settings: Settings, count: int, port: int, folder: str) -> None:
        self._settings = settings
        self._count = count
        self._variables = environment_with(WATTGATE_PORT=str(port), PROMETHEUS_MULTIPROC_DIR=folder)
        self._folder = folder
        self._workers: set[Worker] = set()
        self._stopping = asyncio.Event()
        self._have_served = False
        self._failed = False

    async def run(self) -> int:
        """Serve until a signal comes; the exit code, which is 0 if all workers have ended as they should."""
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, self._stop)
        places = [asyncio.create_task(self._keep(place)) for place in range(self._count)]
        await self._stopping.wait()
        _, late = await asyncio.wait(places, timeout=self._settings.drain_limit + BEYOND)
        if late:
            for worker in self._workers:
                log.error("worker %d did not end in time and is killed", worker.process.pid)
                worker.process.kill()
        await asyncio.gather(*places)
        return int(self._failed)

    def _stop(self) -> None:
        """The first signal lets the workers drain, the second has them skip the rest."""
        word = SKIP if self._stopping.is_set() else DRAIN
        self._stopping.set()
        for worker in self._workers:
            worker.tell(word)

    async def _keep(self, place: int) -> None:
        """Have a worker in a place: start one, and the next when it has ended."""
        loop = asyncio.get_running_loop()
        deaths = 0
        while not self._stopping.is_set():
            begun = loop.time()
            async with self._worker(place) as worker:
                code = await worker.ends()
            self._have_served = self._have_served or worker.serves
            if self._stopping.is_set():
                self._failed = self._failed or code != 0
            elif not self._have_served:
                log.error("worker %d could not start (%s): the gateway ends", worker.process.pid, told(code))
                self._failed = True
                self._stop()
            else:
                deaths = 0 if loop.time() - begun > STEADY else deaths + 1
                pause = BACKOFF.seconds(deaths - 1) if deaths else 0.0
                log.error("worker %d has ended (%s); the next in %.1f s", worker.process.pid, told(code), pause)
                await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not beyond a signal."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    @asynccontextmanager
    async def _worker(self, place: int) -> AsyncIterator[Worker]:
        """A new process for a place."""
        ours, its = socket.socketpair()
        with ours, its:
            ours.setblocking(False)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "wattgate", "serve-one", str(its.fileno()), str(place)),
                env=self._variables,
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=[its.fileno()],
            )
            its.close()
            worker = Worker(process, ours)
            self._workers.add(worker)
            if self._stopping.is_set():
                worker.tell(DRAIN)
            try:
                yield worker
            finally:
                self._workers.discard(worker)
                mark_process_dead(process.pid, self._folder)  # type: ignore[no-untyped-call]


def told(code: int) -> str:
    """How a process has ended, in words."""
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def launch(settings: Settings, count: int) -> int:
    """Serve with so many processes until a signal comes; the exit code. Unavailable where the port cannot be had."""
    held = listeners(settings.host, settings.port, shared=True)  # they never listen: the port stays ours meanwhile
    with TemporaryDirectory(prefix="wattgate-metrics-") as folder:
        open_metrics_port(settings, folder)
        log.info("%d workers on %s", count, address(held))
        try:
            return asyncio.run(Launcher(settings, count, port_of(held), folder).run())
        finally:
            for one in held:
                one.close()
