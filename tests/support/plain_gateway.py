"""A gateway with a small schema and tokens in memory, and connections to its protocol without a network.

It needs no database and no thread, so that a test decides what arrives when.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import strawberry
from starlette.applications import Starlette
from uvicorn.server import ServerState

from wattgate.app.server.edge.http_protocol import GuardedConfig, GuardedHttpProtocol
from wattgate.app.server.edge.serving import build_uvicorn_config
from wattgate.app.server.factory import build_gateway, serve_gateway
from wattgate.app.server.gate.auth import Authenticator
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.scope.row_scope import Scope
from wattgate.enums import TRACE_ID
from wattgate.errors import NotFound
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.graphql.execution.schema import build_schema
from wattgate.metrics import HTTP_SECONDS
from wattgate.operations.core.operation import OWN_ACCOUNT_ONLY, Call, OperationKind, operation
from wattgate.operations.core.runner import Runner
from wattgate.principal import AuthScheme, Permission, Principal, Role
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.requests.client import current_client
from wattgate.requests.request_context import CURRENT_PRINCIPAL

TRACE = "0af7651916cd43dd8448eb211c80319c"
TOKEN, FAILING_TOKEN = "known", "failing"
PEER = ("198.51.100.7", 50_000)
MAX_BODY_BYTES = 3_000
SETTLED_STEPS = 25
"""The steps of the event loop after which a request that waits for its body has done what it can."""

HELD_ANSWERS: dict[str, asyncio.Event] = {}
"""The events for which the operation `held` waits, by name."""


@operation(OperationKind.QUERY, returns=str, needs=Permission.ANYONE)
async def circumstances(call: Call) -> str:
    """Return what the gateway knows about the request."""
    client, principal = current_client(), CURRENT_PRINCIPAL.get()
    known = [client.host, client.address, client.device, client.keeps_devices, client.purpose, client.origin]
    return repr([*known, principal and principal.role, TRACE_ID.get() == TRACE])


@operation(OperationKind.QUERY, returns=str, needs=Permission.ANYONE)
async def echo(call: Call, *, text: str, times: int = 1) -> str:
    """Return a text, repeated."""
    return text * times


@operation(OperationKind.QUERY, returns=str, needs=Permission.ANYONE)
async def held(call: Call, *, name: str) -> str:
    """Return the name when the test lets it go."""
    await HELD_ANSWERS[name].wait()
    return name


@operation(OperationKind.QUERY, returns=str, needs=Permission.ANYONE)
async def missing(call: Call) -> str:
    """Fail with an error of the gateway."""
    raise NotFound("There is none.")


@strawberry.type
class Device:
    """The device of a client. It is an object, because results of mutations are unions."""

    name: str


@operation(OperationKind.MUTATION, returns=Device, needs=Permission.ANYONE, audit=OWN_ACCOUNT_ONLY)
async def remember(call: Call) -> Device:
    """Give the client a device, as a login does."""
    current_client().new_device = "new-device"
    return Device(name="new-device")


@operation(OperationKind.SUBSCRIPTION, returns=bool, needs=Permission.ANYONE)
async def never(call: Call) -> None:
    """Publish nothing. A schema needs a subscription."""


OPERATIONS = (circumstances, echo, held, missing, remember, never)


class TokensInMemory(CredentialLookup):
    """One token, and one whose lookup fails unexpectedly."""

    async def principal_by_token(self, token: str, now: datetime) -> Principal | None:
        if token == FAILING_TOKEN:
            raise RuntimeError("no tokens can be looked up")
        known = Principal(Role.ACCOUNT, AuthScheme.TOKEN, application_id="one", user_id="one", account_id="one")
        return known if token == TOKEN else None


class NoDatabase(Database):
    """A database without a server. Its readers are None: no operation uses them."""

    def __init__(self) -> None:
        super().__init__("sqlite:///nothing.sqlite3")  # never opened

    @asynccontextmanager
    async def reader(self, scope: Scope) -> AsyncIterator[Any]:
        yield None


def plain_gateway(**settings: Any) -> Starlette:
    """Return a gateway without a database."""
    given: dict[str, Any] = {"max_body_bytes": MAX_BODY_BYTES, "trusted_proxies": ["192.0.2.0/24"]}
    given |= {"caller_budget": 0, "application_budget": 0}
    chosen = Settings(_env_file=None, **given | settings)
    gateway, database = build_gateway(chosen), NoDatabase()
    pipeline = GraphQLPipeline(build_schema(OPERATIONS), Runner(database, MemoryBus()), budgets=gateway.budgets)
    authenticator = Authenticator(TokensInMemory(database))
    return serve_gateway(chosen, replace(gateway, pipeline=pipeline, authenticator=authenticator))


def protocol_config(app: Any, *, is_direct: bool) -> GuardedConfig:
    """Return the configuration of a server that answers plain requests directly, or none."""
    config = build_uvicorn_config(app)
    if not is_direct:
        config.direct_graphql = None
    config.load()
    return config


class WireInMemory(asyncio.Transport):
    """A transport that keeps the written bytes."""

    def __init__(self, peer: tuple[str, int]) -> None:
        super().__init__({"peername": peer, "sockname": ("127.0.0.1", 8000)})
        self.written = bytearray()
        self.writes = 0
        self.closed = asyncio.Event()
        self._protocol: Any = None
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_closing:
            self.written += data
            self.writes += 1

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self.closed.set()
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """Close: the client closes its direction when it reads the end of the stream."""
        self.close()

    def pause_reading(self) -> None:
        """Do nothing: the test decides what arrives."""

    def resume_reading(self) -> None:
        """Do nothing: the test decides what arrives."""

    def get_write_buffer_size(self) -> int:
        return 0

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol


@dataclass
class Connection:
    """A connection to the protocol of a gateway."""

    config: GuardedConfig
    peer: tuple[str, int] = PEER
    state: ServerState = field(default_factory=ServerState)

    def __post_init__(self) -> None:
        self.state.default_headers = [(b"date", b"now"), (b"server", b"uvicorn")]
        self.wire = WireInMemory(self.peer)
        self.protocol = GuardedHttpProtocol(self.config, self.state, {})
        self.wire.set_protocol(self.protocol)
        self.protocol.connection_made(self.wire)

    async def send(self, *pieces: bytes) -> bytes:
        """Receive the pieces one by one, each after the answers to those before it. Return all that was written."""
        for piece in pieces:
            if not self.wire.is_closing():
                self.protocol.data_received(piece)
            await self.settle()
        return bytes(self.wire.written)

    async def settle(self) -> None:
        """Wait until every request is answered, or waits for the rest of its body."""
        while True:
            await self.proceed()
            if not self.state.tasks or self._waits_for_client():
                return
            async with asyncio.timeout(60):
                await asyncio.wait(set(self.state.tasks), return_when=asyncio.FIRST_COMPLETED)

    async def proceed(self) -> None:
        """Let the gateway do what it can without a thread or a timer."""
        for _ in range(SETTLED_STEPS):
            await asyncio.sleep(0)

    def _waits_for_client(self) -> bool:
        """Return whether the oldest unanswered request waits for its body."""
        cycle = self.protocol.cycle
        return cycle.more_body and not self.protocol.pipeline

    async def close(self) -> None:
        """End the connection, and wait for its requests."""
        if not self.wire.is_closing():
            self.protocol.eof_received()
            self.wire.close()
        await asyncio.sleep(0)
        await asyncio.gather(*self.state.tasks, return_exceptions=True)


_GZIP_TIME = re.compile(rb"\x1f\x8b\x08\x00.{4}", re.DOTALL)
_TRACE_IDS = re.compile(rb'(x-trace-id: |"traceId":")[0-9a-f]{32}')


def repeatable(answers: bytes) -> bytes:
    """Return answers without the times of compression, and without trace ids except for the one of a client."""
    answers = _GZIP_TIME.sub(b"", answers)
    return _TRACE_IDS.sub(lambda found: found[0] if TRACE.encode() in found[0] else found[1], answers)


def measured_requests() -> Counter[tuple[str, ...]]:
    """Return the number of measured requests by method, route and status."""
    (metric,) = HTTP_SECONDS.collect()
    counts = {
        tuple(sample.labels.values()): int(sample.value) for sample in metric.samples if sample.name.endswith("_count")
    }
    return Counter(counts)


def head_of(target: str = "/graphql", method: str = "POST", headers: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return the head of a request."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")
