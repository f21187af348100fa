"""Mail to a server that takes it, by SMTP (RFC 5321)."""

import asyncio
import logging
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)

from wattgate.delivery.channels.channel import Outcome, Outgoing, Refused, Retry, Sent
from wattgate.delivery.channels.mail import Letter, Letterhead, write

log = logging.getLogger(__name__)

CONNECTIONS = 4
"""How many connections to the server one channel has at once, at most."""

MAILS_OF_A_CONNECTION = 100
"""After how many mails a connection is closed: servers put bounds to that too."""

LONGEST_IDLE = 30.0
"""Seconds after which a connection that nobody used is not used again."""

LONGEST_GOOD_BYE = 1.0
"""Seconds that a server has to answer a good-bye."""

LONGEST_TOLD = 300
"""Characters of a server's answer that are kept."""

SUPPRESS = "suppress"
"""The fact of a refusal that the address itself is at fault, so that nothing should be sent to it again."""

CLOSING = 421
"""What a server says before it hangs up."""


class Security(Enum):
    """How a connection is protected; with STARTTLS nothing is sent to a server that does not offer it."""

    NONE = "smtp"
    STARTTLS = "smtp+starttls"
    TLS = "smtps"


PORTS: Mapping[Security, int] = MappingProxyType({Security.NONE: 25, Security.STARTTLS: 587, Security.TLS: 465})
"""The usual port of each."""


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where a mail server is, and who the gateway is to it."""

    host: str
    port: int
    security: Security = Security.NONE
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def at(cls, url: str) -> "SmtpServer":
        """The server of a URL such as smtps://user:password@host:465. ValueError where it is none."""
        parts = urlsplit(url)
        schemes = {one.value: one for one in Security}
        if parts.scheme not in schemes or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("is not an address such as smtp+starttls://user:password@host:587")
        security = schemes[parts.scheme]
        name, password = (None if one is None else unquote(one) for one in (parts.username, parts.password))
        if name is not None and security is Security.NONE and not _is_this_machine(parts.hostname):
            raise ValueError("would send a password that anybody can read: use smtps:// or smtp+starttls://")
        return cls(parts.hostname, parts.port or PORTS[security], security, name, password)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(slots=True)
class _Connection:
    client: SMTP
    mails: int = 0
    used_at: float = 0.0


class SmtpChannel:
    """Hands mails to a server, over connections that it uses again. A mail has `time_limit` seconds in all."""

    def __init__(
        self,
        server: SmtpServer,
        head: Letterhead,
        *,
        trust: ssl.SSLContext | None = None,
        connections: int = CONNECTIONS,
        time_limit: float = 30.0,
    ) -> None:
        self._server = server
        self._head = head
        self._trust = trust or ssl.create_default_context()
        self._time_limit = time_limit
        self._places = asyncio.Semaphore(connections)
        self._idle: list[_Connection] = []

    async def send(self, outgoing: Outgoing) -> Outcome:
        """Send a mail to the one address of `outgoing`."""
        made = write(outgoing, self._head)
        if isinstance(made, Refused):
            return made
        letter, written = made
        try:
            async with asyncio.timeout(self._time_limit), self._places:
                return await self._hand_over(letter, written)
        except TimeoutError:
            reason = f"the mail server did not take it within {self._time_limit:g} seconds"
        except SMTPResponseException as error:
            reason = _told(error)
        except (SMTPException, OSError) as error:
            reason = str(error)[:LONGEST_TOLD]
        log.warning("mail server %s: %s", self._server, reason)
        return Retry(reason)

    async def check(self) -> None:
        """Connect and log in. SMTPException or OSError where the server does not let the gateway in."""
        async with asyncio.timeout(self._time_limit):
            self._idle.append(await self._connected())
        await self.close()

    async def close(self) -> None:
        """Say good-bye on the connections that wait for a mail."""
        while self._idle:
            client = self._idle.pop().client
            with suppress(SMTPException, OSError):
                await client.quit(timeout=LONGEST_GOOD_BYE)
            client.close()

    async def _hand_over(self, letter: Letter, written: bytes) -> Outcome:
        connection = await self._begun(letter)
        with _closed_on_fault(connection):
            outcome, goes_on = await _finish(connection.client, letter, written)
        if goes_on:
            connection.mails += 1
            connection.used_at = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.client.close()
        return outcome

    async def _begun(self, letter: Letter) -> _Connection:
        """A connection on which a mail has begun. The server may have ended one that waited; then it is a new one."""
        waiting = self._usable()
        if waiting is not None:
            with suppress(SMTPServerDisconnected, _HungUp), _closed_on_fault(waiting):
                await _begin(waiting.client, letter)
                return waiting
        connection = await self._connected()
        with _closed_on_fault(connection):
            await _begin(connection.client, letter)
        return connection

    def _usable(self) -> _Connection | None:
        """The connection that was used last, unless it is too old; then so are the others."""
        since = asyncio.get_running_loop().time() - LONGEST_IDLE
        while self._idle:
            connection = self._idle.pop()
            if (
                connection.client.is_connected
                and connection.used_at > since
                and connection.mails < MAILS_OF_A_CONNECTION
            ):
                return connection
            connection.client.close()
        return None

    async def _connected(self) -> _Connection:
        """A new connection, protected and logged in as the server's address says."""
        client = SMTP(
            hostname=self._server.host,
            port=self._server.port,
            username=self._server.username,
            password=self._server.password,
            use_tls=self._server.security is Security.TLS,
            start_tls=self._server.security is Security.STARTTLS,
            tls_context=self._trust,
            local_hostname=self._head.sender.domain,
            timeout=self._time_limit,
        )
        await client.connect()
        connection = _Connection(client, used_at=asyncio.get_running_loop().time())
        with _closed_on_fault(connection):
            if client.is_ehlo_or_helo_needed:
                await client.ehlo()
        return connection


class _HungUp(SMTPSenderRefused):
    """What a server says in answer to a mail when it has already decided to hang up."""


@contextmanager
def _closed_on_fault(connection: _Connection) -> Iterator[None]:
    """Nobody knows in what state a connection is on which something has gone wrong."""
    try:
        yield
    except BaseException:
        connection.client.close()
        raise


async def _begin(client: SMTP, letter: Letter) -> None:
    """MAIL FROM. What is wrong here is wrong between the server and the gateway, whoever the letter is to."""
    try:
        await client.mail(letter.sender.address, **_options(client, letter))
    except SMTPSenderRefused as error:
        if error.code == CLOSING:
            raise _HungUp(error.code, error.message, error.sender) from None
        raise


async def _finish(client: SMTP, letter: Letter, written: bytes) -> tuple[Outcome, bool]:
    """RCPT TO and DATA; and whether the connection can be used again."""
    if letter.international and not client.supports_extension("smtputf8"):
        refused = Refused("address.not_supported", "the mail server does not take addresses that are not ASCII")
        return refused, await _reset(client)
    try:
        await client.rcpt(letter.recipient.address, encoding="utf-8")
        answer = await client.data(written)
    except (SMTPRecipientRefused, SMTPDataError) as error:
        if error.code == CLOSING:
            return Retry(_told(error)), False
        refused_address = isinstance(error, SMTPRecipientRefused)
        return refusal(error.code, error.message, of_address=refused_address), await _reset(client)
    return Sent(answer.message[:LONGEST_TOLD]), True


async def _reset(client: SMTP) -> bool:
    """Make a connection ready for the next mail; False where it is not."""
    try:
        await client.rset()
    except (SMTPException, OSError):
        return False
    return True


def refusal(code: int, message: str, *, of_address: bool) -> Outcome:
    """What it means that a server refuses an address, or else a mail, with some code (RFC 5321, 4.2; RFC 3463).

    A refusal of a mail is about its address only where the server says so.
    """
    told = f"{code} {' '.join(message.split())}"[:LONGEST_TOLD]
    if not 500 <= code < 600:
        return Retry(told)
    said = _ENHANCED.match(message)
    gone = said["detail"] in _NO_SUCH_ADDRESS if said else of_address and code in _NO_SUCH_ADDRESS_CODES
    return Refused("address.refused" if gone else "message.refused", told, {SUPPRESS: True} if gone else {})


_ENHANCED = re.compile(r"5\.(?P<detail>\d{1,3}\.\d{1,3})\b")
_NO_SUCH_ADDRESS = frozenset({"1.0", "1.1", "1.2", "1.3", "1.6", "1.10", "2.0", "2.1"})
_NO_SUCH_ADDRESS_CODES = frozenset({550, 551, 553, 556})
"""By what servers say that nobody has an address, in the codes of RFC 3463 and, where they give none, of RFC 5321."""


def _options(client: SMTP, letter: Letter) -> dict[str, Any]:
    if letter.international and client.supports_extension("smtputf8"):
        return {"options": ["SMTPUTF8"], "encoding": "utf-8"}
    return {}


def _told(error: SMTPResponseException) -> str:
    return f"{error.code} {' '.join(error.message.split())}"[:LONGEST_TOLD]
