"""Processes under measurement. Each runs on one core; its load generator runs on the other cores."""

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
"""The timeout for a server to listen on its port."""


@dataclass(frozen=True)
class PinnedProcess:
    """A server process that listens on a port."""

    process: Process
    port: int

    @property
    def cpu_seconds(self) -> float:
        """The processor time that the process has used, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory_kib(self) -> float:
        """The resident memory of the process, in KiB."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1024


_FIRST, *_OTHERS = sorted(os.sched_getaffinity(0))


def cores() -> tuple[set[int], set[int]]:
    """Return the core of the measured process, and the cores of all other processes. A single core is in both.

    They are the cores that this process had at its start, even if its affinity has changed since.
    """
    return {_FIRST}, set(_OTHERS) or {_FIRST}


@asynccontextmanager
async def pinned_process(*command: str | Path, **environment: str) -> AsyncIterator[PinnedProcess]:
    """Start a server on its core and wait until it listens. The environment names its port; kill it at the end."""
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
            raise RuntimeError(f"The server ended with status {process.returncode} before it listened.")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise RuntimeError(f"The server did not listen on port {port} within {START_TIMEOUT_SECONDS:g} seconds.")
