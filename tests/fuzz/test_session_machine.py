"""Tokens of an account and sockets that use them, compared with a model after each step."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, invariant, precondition, rule

from tests.support.live import NEVER, LiveHouse, live_house, settled_in
from tests.support.machines import GatewayMachine, run_machine
from tests.support.socket import Socket, socket
from wattgate.realtime.connections.limits import ConnectionLimits

FORBIDDEN = 4403

LIMITS = replace(ConnectionLimits(), ping_seconds=NEVER)
"""Limits without pings, which a machine that only moves the clock does not answer."""

MAX_SOCKETS, MAX_TOKENS = 3, 5


@dataclass(eq=False)
class Token:
    """A token, as the model sees it. `expires_at` is a monotonic time in seconds."""

    secret: str
    expires_at: float
    is_deleted: bool = False

    def is_valid(self, now: float) -> bool:
        return not self.is_deleted and now < self.expires_at

    @property
    def headers(self) -> dict[str, str]:
        return {"token": self.secret}


@dataclass(eq=False)
class Connection:
    """A socket, as the model sees it. `deadline` is when its token expires, and then when its grace period ends."""

    client: Socket
    token: Token
    deadline: float
    has_expired: bool = False
    is_open: bool = True


class SessionMachine(GatewayMachine):
    """Tokens that are issued, expire and are deleted, and sockets that open, renew their token and close."""

    tokens = Bundle("tokens")

    def __init__(self, live: LiveHouse, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.live = live
        self.issued: list[Token] = []
        self.connections: list[Connection] = []
        self.stack = AsyncExitStack()

    @property
    def now(self) -> float:
        return self.live.clock.monotonic()

    @property
    def open_connections(self) -> list[Connection]:
        return [connection for connection in self.connections if connection.is_open]

    @precondition(lambda self: len(self.issued) < MAX_TOKENS)
    @rule(target=tokens, seconds=st.sampled_from([61, 601, 3_601]))
    def issue(self, seconds: int) -> Token:
        token = Token(self.wait_for(self.live.dying_token(seconds=seconds)), self.now + seconds)
        self.issued.append(token)
        return token

    @precondition(lambda self: len(self.open_connections) < MAX_SOCKETS)
    @rule(token=tokens)
    def connect(self, token: Token) -> None:
        self.wait_for(self.open(token))

    async def open(self, token: Token) -> None:
        """Open a socket with a token. It is refused unless the token is valid."""
        client = await self.stack.enter_async_context(socket(self.live.url))
        await client.say(type="connection_init", payload=token.headers)
        if token.is_valid(self.now):
            assert await client.hear() == {"type": "connection_ack"}
            self.connections.append(Connection(client, token, token.expires_at))
        else:
            assert (await client.closed())[0] == FORBIDDEN

    @precondition(lambda self: self.open_connections)
    @rule(token=tokens, number=st.integers(0, MAX_SOCKETS - 1))
    def renew(self, token: Token, number: int) -> None:
        """Send another token of the account on an open socket."""
        connection = self.open_connections[number % len(self.open_connections)]
        self.wait_for(connection.client.say(type="ping", payload=token.headers))
        if token.is_valid(self.now):
            answer = self.wait_for(connection.client.hear())
            assert answer["type"] == "pong"
            assert answer["payload"]["expiresAt"]
            connection.token, connection.deadline, connection.has_expired = token, token.expires_at, False
        else:
            connection.is_open = False

    @rule(token=tokens)
    def log_out(self, token: Token) -> None:
        answer = self.wait_for(self.live.call("DELETE", "/auth/deleteToken", token.headers))
        assert (answer.status_code == 200) is token.is_valid(self.now)
        if token.is_valid(self.now):
            token.is_deleted = True
            self.wait_for(self.live.gateway.connections.read_shared_events())
            for connection in self.open_connections:
                connection.is_open = connection.token is not token

    @rule(seconds=st.sampled_from([15, 20, 45, 400]))
    def pass_time(self, seconds: int) -> None:
        """Let time pass: no sum of these is near the lifetime of a token, or the grace period of 25 s."""

        async def advance() -> None:
            self.live.pass_time(seconds)

        self.wait_for(advance())
        for connection in self.open_connections:
            if self.now >= connection.deadline:
                connection.is_open = not connection.has_expired
                connection.deadline, connection.has_expired = self.now + LIMITS.token_grace_seconds, True

    @invariant()
    def tokens_and_sockets_are_those_of_the_model(self) -> None:
        self.wait_for(self.compare())

    async def compare(self) -> None:
        for token in self.issued:
            answer = await self.live.call("GET", "/auth", token.headers)
            assert (answer.status_code == 200) is token.is_valid(self.now)
        for connection in self.connections:
            if connection.is_open:
                assert await connection.client.heard() == []
            else:
                assert (await connection.client.closed())[0] == FORBIDDEN

    def teardown(self) -> None:
        self.wait_for(self.end())

    async def end(self) -> None:
        """Close all sockets, and delete the tokens, because an account has a maximum of them."""
        await self.stack.aclose()
        for token in self.issued:
            if token.is_valid(self.now):
                await self.live.call("DELETE", "/auth/deleteToken", token.headers)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[LiveHouse]:
    """A gateway of its own, because the machine moves its clock."""
    async with settled_in(tmp_path) as settled, live_house(settled, limits=LIMITS) as house:
        house.clock.stop()
        yield house


async def test_tokens_and_sockets_end_as_the_model_says(live: LiveHouse) -> None:
    await run_machine(partial(SessionMachine, live), runs=6, steps=20)
