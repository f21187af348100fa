"""Processes under measurement: each has one core, whoever loads it has the others."""

import asyncio
import os
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import create_server

TICKS = os.sysconf("SC_CLK_TCK")
START_TIMEOUT_SECONDS = 60.0
"""How many seconds a server may take to listen."""


@dataclass(frozen=True)
class PinnedProcess:
    """A server in a process of its own, that listens on a port."""

    process: Process
    port: int

    @property
    def cpu_seconds(self) -> float:
        """Seconds of processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory_kib(self) -> float:
        """How much memory it holds, in KiB."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1024


_FIRST, *_OTHERS = sorted(os.sched_getaffinity(0))


def cores() -> tuple[set[int], set[int]]:
    """The core of what is measured, and those of everything else; the same where there is only one.

    They are what this process had when it began, wherever it has moved since.
    """
    return {_FIRST}, set(_OTHERS) or {_FIRST}


@asynccontextmanager
async def pinned_process(*command: str | Path, **environment: str) -> AsyncIterator[PinnedProcess]:
    """A running server that finds its port in the environment."""
    with create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    own_cores, _ = cores()
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        env={**os.environ, "PORT": str(port), "WATTGATE_PORT": str(port), **environment},
        preexec_fn=lambda: os.sched_setaffinity(0, own_cores),
    )
    try:
        await _wait_until_listening(process, port)
        yield PinnedProcess(process, port)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _wait_until_listening(process: Process, port: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.returncode is not None:
            raise RuntimeError(f"the server has ended with status {process.returncode}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise RuntimeError("the server does not listen")
