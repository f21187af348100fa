"""PgBouncer in front of the PostgreSQL server of the tests. No wheel offers it; Debian's package is `pgbouncer`."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy.engine import URL, make_url

from tests.support.ports import free_port
from tests.support.redis_server import TlsCertificates
from tests.support.server_program import start_server_program
from tests.support.system_programs import required_program

CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {pool_size}
max_client_conn = 400
ignore_startup_parameters = extra_float_digits
query_wait_timeout = 30
server_login_retry = 1
log_connections = 0
log_disconnections = 0
{tls}
"""


class PgBouncer:
    """A running pooler. Each database has `pool_size` connections to the server."""

    def __init__(
        self, folder: Path, server_url: str, mode: str, pool_size: int, tls: TlsCertificates | None = None
    ) -> None:
        self._folder = folder
        self._tls = tls
        self._process: asyncio.subprocess.Process | None = None
        self._server = make_url(server_url)
        self._mode, self._pool_size = mode, pool_size
        self.port = free_port()

    def url_of(self, database_url: str) -> str:
        """Return the URL of a database of the server by way of the pooler."""
        url: URL = make_url(database_url).set(host="127.0.0.1", port=self.port, query={})
        return url.render_as_string(hide_password=False)

    async def start(self) -> None:
        """Start the process, and wait until it accepts connections."""
        file = self._folder / "pgbouncer.ini"
        values = {"server": self._target(), "port": self.port, "mode": self._mode, "pool_size": self._pool_size}
        file.write_text(CONFIGURATION.format(**values, tls=self._tls_options()))
        self._process = await start_server_program(
            [required_program("pgbouncer"), str(file)],
            self.port,
            self._folder / "log",
            user=self._socket_owner() if os.geteuid() == 0 else None,  # PgBouncer refuses to run as root
        )

    async def stop(self) -> None:
        """Stop the process at once, with all its connections."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            await self._process.wait()

    def _socket_folder(self) -> str | None:
        folder = self._server.query.get("host")
        return folder if isinstance(folder, str) else None

    def _target(self) -> str:
        """Return the server as PgBouncer's configuration names it."""
        values = {
            "host": self._socket_folder() or self._server.host or "127.0.0.1",
            "port": self._server.port or 5432,
            "user": self._server.username,
            "password": self._server.password,
        }
        return " ".join(f"{name}={value}" for name, value in values.items() if value)

    def _tls_options(self) -> str:
        """Return the options of TLS. The files are copied to where the user of PgBouncer can read them."""
        if self._tls is None:
            return ""
        options = ["client_tls_sslmode = require"]
        for name, file in (("key", self._tls.key_file), ("cert", self._tls.certificate_file)):
            copy = self._folder / f"{name}.pem"
            shutil.copyfile(file, copy)
            copy.chmod(0o644)
            options.append(f"client_tls_{name}_file = {copy}")
        return "\n".join(options)

    def _socket_owner(self) -> int:
        """Return the user that may reach the socket of the server."""
        folder = self._socket_folder()
        return (Path(folder).stat().st_uid if folder else 0) or 65534


@asynccontextmanager
async def pgbouncer(
    server_url: str, *, mode: str = "transaction", pool_size: int = 2, tls: TlsCertificates | None = None
) -> AsyncIterator[PgBouncer]:
    """Yield a running PgBouncer in front of a server. With `tls`, it accepts only TLS."""
    with tempfile.TemporaryDirectory(prefix="wattgate-") as name:
        folder = Path(name)
        await asyncio.to_thread(folder.chmod, 0o755)  # PgBouncer runs as another user
        pooler = PgBouncer(folder, server_url, mode, pool_size, tls)
        await pooler.start()
        try:
            yield pooler
        finally:
            await pooler.stop()
