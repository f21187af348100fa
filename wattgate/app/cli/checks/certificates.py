"""Check the TLS certificates of Redis, the MQTT broker and the mail server: their authority, and the days left."""

import asyncio
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from wattgate.app.cli.checks.result import CheckResult, failed, passed, warning
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.delivery.channels.smtp import Security, SmtpServer
from wattgate.realtime.redis_url import SYSTEM_TLS, RedisServers, TlsFiles
from wattgate.realtime.server_address import ServerAddress

WARNING_DAYS = 21
"""Days before its end from which a certificate gives a warning."""

TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A server that is reached by TLS."""

    name: str
    host: str
    port: int
    uses_starttls: bool = False
    tls_files: TlsFiles = SYSTEM_TLS


def tls_servers(settings: Settings) -> list[TlsServer]:
    """Return the servers of the settings that are reached by TLS."""
    servers = []
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
            starttls = smtp.security is Security.STARTTLS
            tls_files = TlsFiles(settings.smtp_ca_file)
            servers.append(TlsServer("mail server", smtp.host, smtp.port, starttls, tls_files))
    return servers


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
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        return failed(subject, f"cannot be read: {error or type(error).__name__}. Check the address of the server")
    days = (end - utc_now()) // timedelta(days=1)
    text = f"ends in {days} days, on {end:%Y-%m-%d}"
    return passed(subject, text) if days >= WARNING_DAYS else warning(subject, f"{text}: renew it")


async def _certificate_end(server: TlsServer) -> datetime:
    """Return when the certificate ends. Raise SSLCertVerificationError if it is not trusted."""
    context = server.tls_files.create_context()
    if server.uses_starttls:
        reader, writer = await asyncio.open_connection(server.host, server.port)
    else:
        reader, writer = await asyncio.open_connection(server.host, server.port, ssl=context)
    try:
        if server.uses_starttls:
            await _request_starttls(reader, writer)
            await writer.start_tls(context, server_hostname=server.host)
        certificate = writer.get_extra_info("peercert")
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(certificate["notAfter"]), UTC)
    finally:
        writer.transport.abort()  # the server gets no request, so nothing can be lost


async def _request_starttls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let an SMTP server expect TLS (RFC 3207). Raise OSError if it refuses."""
    for command in (b"", b"EHLO wattgate\r\n", b"STARTTLS\r\n"):
        writer.write(command)
        while (line := await reader.readline())[3:4] == b"-":
            pass
        if not line.startswith(b"2"):
            raise OSError(f"the server answers {line.decode(errors='replace').strip()!r}")
