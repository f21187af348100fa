"""The example proxies of deploy/proxies, as real processes in front of gateways of a test."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.files import DEPLOY
from tests.support.ports import free_port
from tests.support.redis_server import TlsCertificates
from tests.support.server_program import start_server_program
from tests.support.system_programs import required_program

EXAMPLE_GATEWAYS = ("127.0.0.1:8000", "127.0.0.1:8001")
"""The addresses of the gateways in the examples."""


@dataclass(frozen=True)
class Example:
    """An example: its file, its program, and how the program checks and runs it.

    `changes` are the texts of the file that a test replaces, besides the addresses of the gateways.
    """

    file: str
    program: str
    check: tuple[str, ...]
    run: tuple[str, ...]
    changes: Mapping[str, str]


EXAMPLES = {
    "nginx": Example(
        "nginx.conf",
        "nginx",
        ("-t", "-c", "{file}"),
        ("-g", "daemon off;", "-c", "{file}"),
        {
            "listen 443": "listen 127.0.0.1:{port}",
            "/run/nginx.pid": "{folder}/nginx.pid",
            "/etc/wattgate/tls": "{folder}",
            "http {": "http {{\n  access_log off;",
            "worker_rlimit_nofile 200000;": "",
            "worker_connections 65536": "worker_connections 2000",
            "worker_processes auto;": "worker_processes 1;\nerror_log {folder}/error.log;",
        },
    ),
    "HAProxy": Example(
        "haproxy.cfg",
        "haproxy",
        ("-c", "-f", "{file}"),
        ("-db", "-f", "{file}"),
        {"bind :443": "bind 127.0.0.1:{port}", "/etc/wattgate/tls": "{folder}", "maxconn 200000": "maxconn 2000"},
    ),
    "Caddy": Example(
        "Caddyfile",
        "caddy",
        ("validate", "--adapter", "caddyfile", "--config", "{file}"),
        ("run", "--adapter", "caddyfile", "--config", "{file}"),
        {
            "https://energy.example": "https://127.0.0.1:{port}",
            "/etc/wattgate/tls": "{folder}",
            "grace_period 30s": "grace_period 1s\n\tadmin off",
        },
    ),
}


class Proxy:
    """A proxy on a fixed port that a test can kill with all its connections, and start again."""

    def __init__(self, name: str, folder: Path, gateway_ports: Sequence[int], certificates: TlsCertificates) -> None:
        self.example = EXAMPLES[name]
        self.port = free_port()
        self._folder = folder
        self._log = folder / f"{name}.log"
        self._ca_file = certificates.ca_file
        self._file = folder / self.example.file
        self._process: asyncio.subprocess.Process | None = None
        self._write_files(gateway_ports, certificates)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def tls_context(self) -> ssl.SSLContext:
        """The TLS context of a client that trusts the proxy."""
        return ssl.create_default_context(cafile=self._ca_file)

    async def check(self) -> tuple[int, str]:
        """Let the program check the file. Return its exit status and its output."""
        process = await asyncio.create_subprocess_exec(
            *self._command(self.example.check),
            env=self._environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    async def start(self) -> None:
        """Start the proxy unless it runs, and wait until it accepts connections."""
        if self._process is not None and self._process.returncode is None:
            return
        command = self._command(self.example.run)
        self._process = await start_server_program(command, self.port, self._log, environment=self._environment())

    async def kill(self) -> None:
        """End the proxy at once. All connections through it end. Raise an error if it has ended by itself."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is not None:
            log = await asyncio.to_thread(self._log.read_text)
            raise AssertionError(f"{self.example.program} has ended by itself, with {process.returncode}: {log}")
        process.terminate()
        await process.wait()

    def _write_files(self, gateway_ports: Sequence[int], certificates: TlsCertificates) -> None:
        certificate, key = (file.read_text() for file in (certificates.certificate_file, certificates.key_file))
        (self._folder / "certificate.pem").write_text(certificate)
        (self._folder / "key.pem").write_text(key)
        (self._folder / "both.pem").write_text(certificate + key)
        text = (DEPLOY / "proxies" / self.example.file).read_text()
        gateways = (f"127.0.0.1:{port}" for port in gateway_ports)
        changes = {old: new.format(port=self.port, folder=self._folder) for old, new in self.example.changes.items()}
        for old, new in [*changes.items(), *zip(EXAMPLE_GATEWAYS, gateways, strict=True)]:
            assert old in text, f"{self.example.file} has no {old!r}"
            text = text.replace(old, new)
        self._file.write_text(text)

    def _command(self, arguments: Sequence[str]) -> list[str]:
        program = required_program(self.example.program)
        return [program, *(argument.replace("{file}", str(self._file)) for argument in arguments)]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self._folder), "XDG_DATA_HOME": str(self._folder)}


@asynccontextmanager
async def running_proxy(
    name: str, folder: Path, gateway_ports: Sequence[int], certificates: TlsCertificates
) -> AsyncIterator[Proxy]:
    """Yield a running example proxy, and end it at the end."""
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    proxy = Proxy(name, folder, gateway_ports, certificates)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.kill()
