"""A gateway as a process that a test can kill and restart."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import httpx

from tests.support.encryption import TEST_KEYS
from tests.support.forked import Running, start
from tests.support.ports import free_port

PORTS = ("WATTGATE_PORT", "WATTGATE_METRICS_PORT")
START_SECONDS = 60
LOG_CHARACTERS = 8_000
"""Characters of a log in the report of a failed test."""


class GatewayProcess:
    """`python -m wattgate serve` on a fixed port. All its runs write to one log."""

    def __init__(self, name: str, folder: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self.name = name
        self._folder = folder
        self._settings = settings
        self._log = folder / f"{name}.log"
        self._process: Running | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """The end of the log."""
        return self._log.read_text(errors="replace")[-LOG_CHARACTERS:] if self._log.exists() else ""

    @property
    def memory(self) -> int:
        """Resident memory in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) * 1024

    async def start(self) -> None:
        """Start the process if it does not run, and wait until it is ready."""
        if self.running:
            return await self.wait_until_ready()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WATTGATE_")}
        settings = {f"WATTGATE_{name}": value for name, value in self._settings.items()}
        environment["WATTGATE_SECRET_KEYS"] = TEST_KEYS
        environment |= {**settings, **dict.fromkeys(PORTS, str(self.port))}
        self._process = await start(["serve"], folder=self._folder, environment=environment, log=self._log)
        return await self.wait_until_ready()

    async def wait_until_ready(self) -> None:
        """Wait until it accepts requests and its database replies."""
        async with asyncio.timeout(START_SECONDS), httpx.AsyncClient() as http:
            while True:
                assert self.running, f"gateway {self.name} ended:\n{self.log}"
                try:
                    if (await http.get(f"{self.url}/readyz")).status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.05)

    async def wait_for_metric(self, metric: str, minimum: float) -> None:
        """Wait until one of its metrics has at least this value."""
        async with asyncio.timeout(START_SECONDS), httpx.AsyncClient() as http:
            while True:
                lines = (await http.get(f"{self.url}/metrics")).text.splitlines()
                samples = [line for line in lines if line.startswith(f"{metric} ")]
                if samples and float(samples[0].rpartition(" ")[2]) >= minimum:
                    return
                await asyncio.sleep(0.1)

    async def kill(self) -> None:
        """Kill the process, as a failure of the machine does."""
        if self._process is not None:
            if self.running:
                self._process.send_signal(signal.SIGKILL)
            await self._process.wait()

    def terminate(self) -> None:
        """Send SIGTERM, as a deployment does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    async def wait_until_ended(self) -> int:
        """Wait until the process has ended, and return its exit status."""
        assert self._process is not None
        return await self._process.wait()
