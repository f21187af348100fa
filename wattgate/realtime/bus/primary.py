"""Find the Redis server that accepts changes: a single server, or the primary of Redis Sentinel or Redis Cluster.

After a failover, another server is the primary. The old primary may hang and then answer again, or a network fault may
separate it from its replicas. A gateway that stays connected to it receives no events and learns of no loss. Therefore:

1. Each new connection first asks for the primary. With Sentinel, it queries all sentinels. The answer with the highest
   epoch counts, because a separated sentinel keeps the old one. The server itself must say that it is the primary.
2. While a connection is open, `RedisClient` asks again every CHECK_SECONDS.
3. When the primary has changed, all listeners are called, and each closes its connection to another server. So the
   connection for commands and the one for events never stay on different servers.

An answer is certain if a majority of the sentinels agree, or if a node of the cluster gives it. No failover was
complete before a certain answer. A gateway that connects to the new primary later reads the contents of the database,
which have all events from before. Only events of after that answer can be missing on the new primary.
`EventPublisher` resets their streams.
"""

import asyncio
import ssl
from abc import ABC, abstractmethod
from binascii import crc_hqx
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from wattgate.realtime.bus.command_connection import Command, CommandConnection, raise_on_error
from wattgate.realtime.redis_url import SYSTEM_TLS, RedisMode, RedisServers, TlsFiles
from wattgate.realtime.server_address import ServerAddress

CHECK_SECONDS = 2.0
"""Seconds between two questions for the primary while a connection is open."""

HASH_TAG = "wattgate"
"""The part in braces with which all keys begin. In a cluster, one primary therefore has all keys of the gateways."""

KEY_SLOT = crc_hqx(HASH_TAG.encode(), 0) % 16384
"""The hash slot of all keys in a cluster."""


class PrimaryFinder(ABC):
    """Find the primary, and call listeners when it has changed."""

    is_fixed = False
    """Whether the primary never changes."""

    def __init__(self, servers: RedisServers, tls_files: TlsFiles = SYSTEM_TLS) -> None:
        self.servers = servers
        self.tls_files = tls_files
        self.current: ServerAddress | None = None
        """The primary by the last answer. None before the first one."""
        self.certain_answers = 0
        """The number of answers that were certain: at their time, no other server had become the primary."""
        self._listeners: list[Callable[[], None]] = []
        self._asking = asyncio.Lock()
        """Held during a question, so that no late answer replaces that to a later question."""

    @cached_property
    def tls_context(self) -> ssl.SSLContext | None:
        """The TLS context of all connections, or None without TLS. Loading it reads certificates."""
        return self.tls_files.create_context() if self.servers.login.tls else None

    def add_listener(self, on_change: Callable[[], None]) -> None:
        """Call `on_change` each time another server has become the primary."""
        self._listeners.append(on_change)

    async def find(self) -> ServerAddress:
        """Return the address of the primary. Raise RedisError if it cannot be found."""
        async with self._asking:
            found, is_certain = await self._ask()
            self.certain_answers += is_certain
            previous, self.current = self.current, found
            if previous not in (None, found):
                for on_change in self._listeners:
                    on_change()
            return found

    async def connect(self, setup: Sequence[Command] = ()) -> tuple[CommandConnection, ServerAddress]:
        """Connect to the primary, and run the commands of `setup`. Raise RedisError if anything fails."""
        address = await self.find()
        connection = await CommandConnection.connect(address, self.tls_context, setup)
        try:
            await self._verify(connection, address)
            self.require_current(address)
        except BaseException:
            connection.abort(RedisConnectionError("the server is not the primary"))
            raise
        return connection, address

    def require_current(self, address: ServerAddress) -> None:
        """Raise RedisError if another server has become the primary since `address` was found."""
        if self.current != address:
            raise RedisConnectionError(f"{self.current} is the primary, no longer {address}")

    @abstractmethod
    async def _ask(self) -> tuple[ServerAddress, bool]:
        """Return the address of the primary, and whether the answer is certain."""

    async def _verify(self, connection: CommandConnection, address: ServerAddress) -> None:
        """Raise RedisError if the connected server is not the primary."""
        return

    async def _ask_server(self, seed: ServerAddress, commands: Sequence[Command]) -> list[Any]:
        """Return the replies of a server to commands. Raise RedisError if it does not reply or replies an error."""
        connection = await CommandConnection.connect(seed, self.tls_context, ())
        try:
            return raise_on_error(await connection.send(commands))
        finally:
            connection.abort(RedisConnectionError("the question is answered"))


class SinglePrimary(PrimaryFinder):
    """The only server of a URL."""

    is_fixed = True

    async def _ask(self) -> tuple[ServerAddress, bool]:
        return self.servers.login, True


class SentinelPrimary(PrimaryFinder):
    """The primary that the sentinels of a URL monitor."""

    async def _ask(self) -> tuple[ServerAddress, bool]:
        replies = await asyncio.gather(*map(self._ask_sentinel, self.servers.seeds), return_exceptions=True)
        answers, errors = [], set()
        for reply in replies:
            if isinstance(reply, RedisError):
                errors.add(str(reply))
            elif isinstance(reply, BaseException):
                raise reply
            else:
                answers.append(reply)
        if not answers:
            raise RedisConnectionError(f"no sentinel names the primary: {'; '.join(sorted(errors))}")
        newest = max(answers, key=lambda answer: answer[0])
        return newest[1], answers.count(newest) > len(replies) // 2

    async def _ask_sentinel(self, seed: ServerAddress) -> tuple[int, ServerAddress]:
        """Return the epoch and the primary that a sentinel knows."""
        name = self.servers.primary_name
        try:
            state, address = await self._ask_server(
                seed, [("SENTINEL", "MASTER", name), ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)]
            )
        except RedisError as error:
            raise RedisConnectionError(f"{seed}: {error}") from error
        if address is None:
            raise RedisConnectionError(f"{seed} knows no primary {name!r}")
        fields = dict(zip(state[::2], state[1::2], strict=True))
        host, port = address
        return int(fields[b"config-epoch"]), replace(self.servers.login, host=host.decode(), port=int(port))

    async def _verify(self, connection: CommandConnection, address: ServerAddress) -> None:
        (role,) = await connection.send([("ROLE",)])
        if isinstance(role, RedisError):
            raise role
        if role[0] != b"master":
            raise RedisConnectionError(f"{address} is not the primary yet: its role is {role[0].decode()}")


class ClusterPrimary(PrimaryFinder):
    """The primary of the hash slot that has all keys of the gateways."""

    async def _ask(self) -> tuple[ServerAddress, bool]:
        seeds = self.servers.seeds if self.current is None else (self.current, *self.servers.seeds)
        errors = []
        for seed in dict.fromkeys(seeds):
            try:
                (slots,) = await self._ask_server(seed, [("CLUSTER", "SLOTS")])
            except RedisError as error:
                errors.append(f"{seed}: {error}")
                continue
            for first, last, (host, port, *_), *_ in slots:
                if first <= KEY_SLOT <= last:  # a node that does not know its own name replies an empty one
                    return replace(self.servers.login, host=host.decode() if host else seed.host, port=port), True
            errors.append(f"{seed}: no node has the hash slot {KEY_SLOT}")
        raise RedisConnectionError(f"no node of the cluster names the primary: {'; '.join(errors)}")


_FINDERS: dict[RedisMode, type[PrimaryFinder]] = {
    RedisMode.SINGLE: SinglePrimary,
    RedisMode.SENTINEL: SentinelPrimary,
    RedisMode.CLUSTER: ClusterPrimary,
}


def create_finder(url: str, tls_files: TlsFiles = SYSTEM_TLS) -> PrimaryFinder:
    """Create the finder for a URL. Raise ValueError if the URL is invalid."""
    servers = RedisServers.from_url(url)
    return _FINDERS[servers.mode](servers, tls_files)
