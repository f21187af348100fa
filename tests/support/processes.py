"""Gateways as processes of their own, with the settings and signals that an operator gives them."""

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
    """A command that runs: its address, its log, its workers, its end."""

    def __init__(self, process: Running, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def url(self) -> str:
        found = re.search(r"(?:Serving|workers) on (http://[^\s\"]+)", self.log)
        assert found is not None, self.log
        return found[1]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def workers(self) -> list[int]:
        """The process ids of all workers that have served, oldest first."""
        return [int(pid) for pid in re.findall(r"Worker (\d+) is serving", self.log)]

    async def logs(self, text: str, times: int = 1) -> None:
        """Wait until the log contains a text, `times` times at least."""
        async with asyncio.timeout(60):
            while self.log.count(text) < times:
                assert self._process.returncode in (None, -signal.SIGKILL) or text in self.log, self.log
                await asyncio.sleep(0.02)

    async def answers(self, path: str, status: int) -> None:
        """Wait until a request is answered with this status."""
        async with httpx.AsyncClient(base_url=self.url) as client, asyncio.timeout(60):
            while True:
                with suppress(httpx.TransportError):
                    if (await client.get(path)).status_code == status:
                        return
                await asyncio.sleep(0.02)

    def signal(self, sent: signal.Signals) -> None:
        self._process.send_signal(sent)

    async def ends(self) -> int:
        """Its exit code, once it has ended."""
        return await asyncio.wait_for(self._process.wait(), 20)


def process(*arguments: str, folder: Path, **settings: str) -> AbstractAsyncContextManager[Process]:
    """A command that runs in a folder with these settings (without their prefix); on any free port where it serves.

    It is forked from one that has loaded all modules.
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
    made = Process(started, log)
    try:
        yield made
    finally:
        if started.returncode is None:
            started.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(started.wait(), 40)
            except TimeoutError:
                started.send_signal(signal.SIGKILL)
                await started.wait()


def gateway(*arguments: str, folder: Path, **settings: str) -> AbstractAsyncContextManager[Process]:
    """A `wattgate serve` that is ready. It is forked, as any `process`."""
    return _gateway(arguments, folder, settings, anew=False)


def gateway_from_scratch(*arguments: str, folder: Path, **settings: str) -> AbstractAsyncContextManager[Process]:
    """A `wattgate serve` that is ready, and has loaded its modules itself."""
    return _gateway(arguments, folder, settings, anew=True)


@asynccontextmanager
async def _gateway(
    arguments: Sequence[str], folder: Path, settings: Mapping[str, str], *, anew: bool
) -> AsyncIterator[Process]:
    async with _process(("serve", *arguments), folder, settings, anew=anew) as made:
        await made.logs(" on http://")
        await made.answers("/readyz", 200)
        yield made
