"""Gateways as separate processes, with settings and signals."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

import httpx

from tests.support.forked import Running, start


class Process:
    """A running command, with its address, log, workers and exit code."""

    def __init__(self, process: Running, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def url(self) -> str:
        address = re.search(r"(?:Serving|workers) on (http://[^\s\"]+)", self.log)
        assert address is not None, self.log
        return address[1]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def workers(self) -> list[int]:
        """The process IDs of all workers that have served, oldest first."""
        return [int(pid) for pid in re.findall(r"Worker (\d+) is serving", self.log)]

    async def logs(self, text: str, times: int = 1) -> None:
        """Wait until the log contains a text, `times` times at least."""
        async with asyncio.timeout(60):
            while self.log.count(text) < times:
                assert self._process.returncode in (None, -signal.SIGKILL) or text in self.log, self.log
                await asyncio.sleep(0.02)

    async def answers(self, path: str, status: int) -> None:
        """Wait until a GET request returns this status."""
        async with httpx.AsyncClient(base_url=self.url) as client, asyncio.timeout(60):
            while True:
                with suppress(httpx.TransportError):
                    if (await client.get(path)).status_code == status:
                        return
                await asyncio.sleep(0.02)

    def signal(self, sent: signal.Signals) -> None:
        self._process.send_signal(sent)

    async def ends(self) -> int:
        """Wait at most 60 s for the end of the process and return its exit code."""
        return await asyncio.wait_for(self._process.wait(), 60)


def process(*arguments: str, folder: Path, **settings: str) -> AbstractAsyncContextManager[Process]:
    """Run a command in a folder with these settings, named without their prefix. A server uses any free port.

    The process is forked from one that has loaded all modules.
    """
    return _process(arguments, folder, settings, anew=False)


@asynccontextmanager
async def _process(
    arguments: Sequence[str], folder: Path, settings: Mapping[str, str], *, anew: bool
) -> AsyncIterator[Process]:
    environment = {**os.environ, "COLUMNS": "200", "WATTGATE_PORT": "0"}
    environment |= {f"WATTGATE_{name}": value for name, value in settings.items()}
    log = folder / f"log-{uuid4().hex}"
    started = await start(arguments, folder=folder, environment=environment, log=log, anew=anew)
    running = Process(started, log)
    try:
        yield running
    finally:
        if started.returncode is None:
            started.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(started.wait(), 60)
            except TimeoutError:
                started.send_signal(signal.SIGKILL)
                await started.wait()


def gateway(*arguments: str, folder: Path, **settings: str) -> AbstractAsyncContextManager[Process]:
    """Run `wattgate serve` and wait until it is ready. The process is forked, see `process`."""
    return _gateway(arguments, folder, settings, anew=False)


def gateway_from_scratch(*arguments: str, folder: Path, **settings: str) -> AbstractAsyncContextManager[Process]:
    """Run `wattgate serve` with a new Python interpreter and wait until it is ready."""
    return _gateway(arguments, folder, settings, anew=True)


@asynccontextmanager
async def _gateway(
    arguments: Sequence[str], folder: Path, settings: Mapping[str, str], *, anew: bool
) -> AsyncIterator[Process]:
    async with _process(("serve", *arguments), folder, settings, anew=anew) as running:
        await running.logs(" on http://")
        await running.answers("/readyz", 200)
        yield running
