"""HAProxy in front of gateways. No wheel offers it; Debian's package is `haproxy`."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.server_program import start_server_program
from tests.support.system_programs import required_program

CONFIGURATION = """
global
  maxconn 4000
defaults
  mode http
  timeout connect 2s
  timeout client 65s
  timeout server 65s
  timeout tunnel 1h
  timeout check 5s
  option http-keep-alive
  option forwardfor
  option redispatch
frontend clients
  bind 127.0.0.1:{port}
  default_backend gateways
backend gateways
  balance leastconn
  option httpchk GET /readyz
  default-server inter 300ms fall 1 rise 1
"""


class HaProxy:
    """A proxy on a fixed port that tests can stop with all its connections, and start again."""

    def __init__(self, folder: Path, gateway_ports: Sequence[int]) -> None:
        self._file = folder / "haproxy.cfg"
        self._log = folder / "haproxy.log"
        self._gateway_ports = gateway_ports
        self._process: asyncio.subprocess.Process | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start the proxy unless it runs, and wait until it accepts connections."""
        if self._process is not None and self._process.returncode is None:
            return
        servers = (f"  server gateway{port} 127.0.0.1:{port} check\n" for port in self._gateway_ports)
        self._file.write_text(CONFIGURATION.format(port=self.port) + "".join(servers))
        command = [required_program("haproxy"), "-db", "-f", str(self._file)]
        self._process = await start_server_program(command, self.port, self._log)

    async def kill(self) -> None:
        """Kill the proxy. All connections through it are reset."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def haproxy(folder: Path, gateway_ports: Sequence[int]) -> AsyncIterator[HaProxy]:
    """Yield a running proxy in front of gateways, and kill it at the end."""
    proxy = HaProxy(folder, gateway_ports)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.kill()
