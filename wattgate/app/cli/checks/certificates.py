"""Check the TLS certificates of PostgreSQL, Redis, the MQTT broker and the mail server: authority, and days left."""

import asyncio
import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from pathlib import Path

from cryptography.x509 import load_der_x509_certificate
from sqlalchemy.engine import URL, make_url

from wattgate.app.cli.checks.result import CheckResult, failed, passed, warning
from wattgate.app.setting_sources import read_variable
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.delivery.channels.smtp import Security, SmtpServer, is_this_machine
from wattgate.realtime.redis_url import SYSTEM_TLS, RedisServers, TlsFiles
from wattgate.realtime.server_address import ServerAddress

WARNING_DAYS = 21
"""Days before its end from which a certificate gives a warning."""

TIMEOUT_SECONDS = 5.0

_POSTGRESQL_TLS_REQUEST = bytes.fromhex("00000008 04d2162f")
"""The message SSLRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html"""


class TlsStart(Enum):
    """How a connection begins TLS: immediately, or after a request in the protocol of the server."""

    IMMEDIATE = auto()
    SMTP = auto()
    POSTGRESQL = auto()


class TlsUnavailableError(OSError):
    """The server has no TLS."""


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A server that is reached by TLS."""

    name: str
    host: str
    port: int
    start: TlsStart = TlsStart.IMMEDIATE
    tls_files: TlsFiles = SYSTEM_TLS
    verifies_authority: bool = True
    verifies_host: bool = True

    def create_context(self) -> ssl.SSLContext:
        """Return the context that verifies as much as the connections of the gateway do."""
        context = self.tls_files.create_context()
        context.check_hostname = self.verifies_authority and self.verifies_host
        if not self.verifies_authority:
            context.verify_mode = ssl.CERT_NONE
        return context


def tls_servers(settings: Settings) -> list[TlsServer]:
    """Return the servers of the settings that are reached by TLS."""
    urls = {"database": settings.database_url, "read replica": settings.database_replica_url}
    servers = [server for name, url in urls.items() if url and (server := _postgresql_server(name, make_url(url)))]
    if settings.redis_url is not None:
        redis = RedisServers.from_url(settings.redis_url)
        names = [f"Redis at {seed}" for seed in redis.seeds] if len(redis.seeds) > 1 else ["Redis"]
        servers += [
            TlsServer(name, seed.host, seed.port, tls_files=settings.redis_tls_files)
            for name, seed in zip(names, redis.seeds, strict=True)
            if seed.tls
        ]
    if settings.mqtt_url is not None:
        broker = ServerAddress.from_mqtt_url(settings.mqtt_url)
        if broker.tls:
            servers.append(TlsServer("MQTT broker", broker.host, broker.port))
    if settings.smtp_url is not None:
        smtp = SmtpServer.from_url(settings.smtp_url)
        if smtp.security is not Security.NONE:
            start = TlsStart.SMTP if smtp.security is Security.STARTTLS else TlsStart.IMMEDIATE
            tls_files = TlsFiles(settings.smtp_ca_file)
            servers.append(TlsServer("mail server", smtp.host, smtp.port, start, tls_files))
    return servers


def _postgresql_server(name: str, url: URL) -> TlsServer | None:
    """Return the server of a URL if its connections may use TLS. The mode and the authority are those of asyncpg."""
    mode = url.query.get("ssl") or read_variable("PGSSLMODE", "prefer")
    if not url.host or mode == "disable":  # SQLite, or a Unix socket
        return None
    verifies = mode in {"verify-ca", "verify-full"}
    authority = Path(read_variable("PGSSLROOTCERT", str(Path.home() / ".postgresql" / "root.crt")))
    return TlsServer(
        name,
        url.host,
        url.port or 5432,
        TlsStart.POSTGRESQL,
        TlsFiles(authority) if verifies else SYSTEM_TLS,
        verifies_authority=verifies,
        verifies_host=mode == "verify-full",
    )


async def check_certificate(server: TlsServer) -> CheckResult:
    """Check the certificate of a server."""
    subject = f"certificate of the {server.name}"
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            end = await _certificate_end(server)
    except ssl.SSLCertVerificationError as error:
        return failed(
            subject,
            f"is not valid: {error.verify_message}. Renew it, or add its authority to the trusted ones of the system",
        )
    except TlsUnavailableError as error:
        if is_this_machine(server.host):
            return passed(subject, f"{error}. The connection stays on this machine")
        return warning(subject, f"{error}, so the connection is not encrypted. Set up TLS on the server")
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        return failed(subject, f"cannot be read: {error or type(error).__name__}. Check the address of the server")
    days = (end - utc_now()) // timedelta(days=1)
    if days < 0:
        return failed(subject, f"ended on {end:%Y-%m-%d}: renew it")
    text = f"ends in {days} days, on {end:%Y-%m-%d}"
    return passed(subject, text) if days >= WARNING_DAYS else warning(subject, f"{text}: renew it")


async def _certificate_end(server: TlsServer) -> datetime:
    """Return when the certificate ends.

    Raise SSLCertVerificationError if it is not trusted, and TlsUnavailableError if the server has none.
    """
    context = server.create_context()
    is_immediate = server.start is TlsStart.IMMEDIATE
    reader, writer = await asyncio.open_connection(server.host, server.port, ssl=context if is_immediate else None)
    try:
        if not is_immediate:
            request = _request_starttls if server.start is TlsStart.SMTP else _request_postgresql_tls
            await request(reader, writer)
            await writer.start_tls(context, server_hostname=server.host)
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return load_der_x509_certificate(certificate).not_valid_after_utc
    finally:
        writer.transport.abort()  # the server gets no request, so nothing can be lost


async def _request_postgresql_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let a PostgreSQL server expect TLS. Raise TlsUnavailableError if it has none."""
    writer.write(_POSTGRESQL_TLS_REQUEST)
    if await reader.readexactly(1) != b"S":
        raise TlsUnavailableError("the server has no TLS")


async def _request_starttls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let an SMTP server expect TLS (RFC 3207). Raise OSError if it refuses."""
    for command in (b"", b"EHLO wattgate\r\n", b"STARTTLS\r\n"):
        writer.write(command)
        while (line := await reader.readline())[3:4] == b"-":
            pass
        if not line.startswith(b"2"):
            raise OSError(f"the server answers {line.decode(errors='replace').strip()!r}")
