"""Bodies are paid for before they are read, and the memory for those that are kept has a bound and fair shares."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.types import Message

from tests.support.plain_gateway import PEER, TOKEN, Connection, head_of, plain_gateway, protocol_config
from wattgate.app.cli.checks.hardening import check_bounds
from wattgate.app.cli.checks.result import CheckState
from wattgate.app.settings import Settings
from wattgate.errors import Unavailable
from wattgate.principal import AuthScheme, Principal, Role
from wattgate.requests.bodies import STEP_BYTES, BodyMemory, BodyReader, announced_length
from wattgate.requests.client import CURRENT_CLIENT, Client
from wattgate.requests.request_limits import ADDRESS_PART, BODY_MEMORY_BYTES, OWNER_PART, size_cost

CONTINUE = b"HTTP/1.1 100 Continue"
MEMORY = 2**20
MAX_BODY = MEMORY // ADDRESS_PART
LARGE = MAX_BODY - 2**14
"""A body of which an address may keep one at a time."""

OTHER_PEER, THIRD_PEER = ("198.51.100.8", 50_000), ("198.51.100.9", 50_000)
DAY = 86_400
EVENTS = ("accept", "text/event-stream")
CHUNKED = ("transfer-encoding", "chunked")


def body_of(size: int) -> bytes:
    """Return a request of this many bytes."""
    begin = b'{"query": "{ circumstances }", "extensions": {"x": "'
    return begin + b"y" * (size - len(begin) - 3) + b'"}}'


def head(*headers: tuple[str, str], token: str | None = TOKEN) -> bytes:
    known = [("token", token)] if token else []
    return head_of(headers=[("host", "gateway"), ("content-type", "application/json"), *known, *headers])


def announced(size: int, *headers: tuple[str, str], token: str | None = TOKEN) -> bytes:
    """Return the head of a request whose client waits before it sends the body."""
    return head(("content-length", str(size)), ("expect", "100-continue"), *headers, token=token)


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


STEP = chunk(b"y" * STEP_BYTES)


def limited(**settings: Any) -> Starlette:
    given: dict[str, Any] = {"max_body_bytes": MAX_BODY, "kept_body_bytes": MEMORY}
    return plain_gateway(**given | settings)


def memory_of(app: Starlette) -> BodyMemory:
    memory: BodyMemory = app.state.gateway.bodies.memory
    return memory


def connect(app: Starlette, peer: tuple[str, int] = PEER, *, is_direct: bool = True) -> Connection:
    return Connection(protocol_config(app, is_direct=is_direct), peer)


async def begun(connection: Connection, head: bytes) -> bool:
    """Send a head. Return whether the client may send the body."""
    connection.protocol.data_received(head)
    await connection.proceed()
    return CONTINUE in connection.wire.written


FACES: Mapping[str, tuple[tuple[tuple[str, str], ...], bool]] = {
    "direct": ((), True),
    "ASGI": ((), False),
    "SSE": ((EVENTS,), True),
}


@pytest.mark.parametrize(("headers", "is_direct"), FACES.values(), ids=FACES)
async def test_announced_body_is_charged_before_the_client_may_send_it(
    headers: tuple[tuple[str, str], ...], is_direct: bool
) -> None:
    app = limited(caller_budget=size_cost(LARGE) * 3 // 2, caller_budget_seconds=DAY)
    first, second = connect(app, is_direct=is_direct), connect(app, is_direct=is_direct)
    assert await begun(first, announced(LARGE, *headers))
    await first.close()
    assert not await begun(second, announced(LARGE, *headers))
    assert b"RATE_LIMITED" in second.wire.written
    await second.close()
    assert memory_of(app).is_free


@pytest.mark.parametrize(("headers", "is_direct"), FACES.values(), ids=FACES)
async def test_body_above_the_whole_budget_is_not_read(headers: tuple[tuple[str, str], ...], is_direct: bool) -> None:
    app = limited(caller_budget=size_cost(LARGE) - 1, caller_budget_seconds=DAY)
    connection = connect(app, is_direct=is_direct)
    assert not await begun(connection, announced(LARGE, *headers))
    assert b"COST_TOO_HIGH" in connection.wire.written
    await connection.close()


@pytest.mark.parametrize("is_direct", [True, False])
async def test_body_of_a_stranger_above_the_maximum_is_not_read(is_direct: bool) -> None:
    connection = connect(limited(), is_direct=is_direct)
    assert not await begun(connection, announced(70_000, token=None))
    assert b"TOO_LARGE" in connection.wire.written
    await connection.close()


@pytest.mark.parametrize("is_direct", [True, False])
async def test_address_keeps_a_part_of_the_memory_and_others_go_on(is_direct: bool) -> None:
    app = limited()
    first, second, small = (connect(app, is_direct=is_direct) for _ in range(3))
    other = connect(app, OTHER_PEER, is_direct=is_direct)
    assert await begun(first, announced(LARGE))
    assert not await begun(second, announced(LARGE))
    assert await begun(other, announced(LARGE))
    assert await begun(small, announced(100))
    assert b"one" in await first.send(body_of(LARGE))
    await second.proceed()
    assert CONTINUE in second.wire.written
    assert b'"data"' in await second.send(body_of(LARGE))
    assert not memory_of(app).is_free
    for connection in (first, second, other, small):
        await connection.close()
    assert memory_of(app).is_free


async def test_application_keeps_a_half_of_the_memory_and_strangers_another() -> None:
    app = limited()
    connections = [connect(app, peer) for peer in (PEER, OTHER_PEER, THIRD_PEER)]
    assert [await begun(connection, announced(LARGE)) for connection in connections] == [True, True, False]
    stranger = connect(app, ("198.51.100.10", 50_000))
    assert await begun(stranger, announced(60_000, token=None))
    for connection in (*connections, stranger):
        await connection.close()
    assert memory_of(app).is_free


ENDS: Mapping[str, tuple[bytes, ...]] = {
    "an invalid body": (announced(LARGE), b"[" + b" " * (LARGE - 1)),
    "a client that goes in the middle": (announced(LARGE), b"{"),
    "an event stream": (announced(60_000, EVENTS), body_of(60_000)),
    "chunks": (head(CHUNKED), chunk(body_of(70_000)), b"0\r\n\r\n"),
    "chunks of a client that goes": (head(CHUNKED), STEP),
    "chunks above the maximum": (head(CHUNKED), *[STEP] * 5),
}


@pytest.mark.parametrize("pieces", ENDS.values(), ids=ENDS)
async def test_memory_is_given_back_whatever_ends_the_request(pieces: tuple[bytes, ...]) -> None:
    app = limited()
    connection = connect(app)
    await connection.send(*pieces)
    await connection.close()
    assert memory_of(app).is_free


async def test_chunks_are_charged_as_they_arrive_and_not_read_further_without_a_budget() -> None:
    app = limited(caller_budget=size_cost(150_000), caller_budget_seconds=DAY)
    connection = connect(app)
    assert not await connection.send(head(CHUNKED), STEP, STEP)
    assert b"COST_TOO_HIGH" in await connection.send(STEP)  # the sum is above a full budget
    await connection.close()
    again = connect(app)
    assert not await begun(again, head(CHUNKED, ("expect", "100-continue")))
    assert b"RATE_LIMITED" in again.wire.written  # the bytes that were read are a debt
    await again.close()


async def test_chunks_that_the_rest_of_the_budget_does_not_cover_are_a_debt() -> None:
    app = limited(caller_budget=1_000, caller_budget_seconds=1_000)
    first = connect(app)
    assert await begun(first, announced(4_096 + 256 * 900))
    await first.close()
    waits = []
    for _ in range(2):
        connection = connect(app)
        answer = await connection.send(head(CHUNKED), STEP, STEP)
        assert b"RATE_LIMITED" in answer
        waits.append(int(answer.split(b"retry-after: ")[1].split(b"\r\n")[0]))
        await connection.close()
    assert waits[0] > size_cost(STEP_BYTES)
    assert waits[1] > 0


CALLER = Principal(Role.ACCOUNT, AuthScheme.TOKEN, application_id="one", user_id="one", account_id="one")


class PaidBytes:
    """A charge that counts the bytes that are paid."""

    def __init__(self) -> None:
        self.size = 0

    async def add_size(self, size: int) -> None:
        self.size += size

    async def begin_parts(self) -> None:
        """Charge nothing."""

    async def add_part(self, size: int, whole: int) -> None:
        self.size += size

    async def refund_size(self, size: int) -> None:
        self.size -= size


def at_address(address: str) -> None:
    CURRENT_CLIENT.set(Client(host=address, address=address))


@pytest.mark.parametrize("length", [LARGE, None])
async def test_body_without_memory_is_refused_after_a_bounded_wait_and_not_charged(length: int | None) -> None:
    reader = BodyReader(memory=BodyMemory(MEMORY, max_wait_seconds=0.01))
    at_address("203.0.113.30")
    held = reader.memory.open_hold(CALLER)
    await held.take(MAX_BODY)
    paid, reads = PaidBytes(), list[int]()

    async def receive() -> Message:
        reads.append(1)
        return {"type": "http.request", "body": b"{}"}

    with pytest.raises(Unavailable) as refused:
        await reader.read(receive, CALLER, paid, length)
    assert refused.value.retry_after
    assert (paid.size, reads) == (0, [])
    held.release()
    assert reader.memory.is_free


async def test_chunks_that_find_no_further_memory_are_refused_at_once_and_pay_for_the_bytes_that_arrived() -> None:
    """A body with a part of the memory does not wait for more: bodies that wait for each other would end none."""
    reader = BodyReader(memory=BodyMemory(MEMORY))
    held = []
    for number in range(OWNER_PART):
        at_address(f"203.0.113.{40 + number}")
        held.append(reader.memory.open_hold(CALLER))
        await held[-1].take(MAX_BODY - STEP_BYTES)
    paid = PaidBytes()

    async def parts() -> AsyncIterator[Message]:
        while True:
            yield {"type": "http.request", "body": b"y" * STEP_BYTES, "more_body": True}

    at_address("203.0.113.50")
    with pytest.raises(Unavailable):
        await reader.read(aiter(parts()).__anext__, CALLER, paid, None)
    assert paid.size == 3 * STEP_BYTES
    for hold in held:
        hold.release()
    assert reader.memory.is_free


def test_memory_covers_the_largest_body_of_an_address() -> None:
    usual = Settings(_env_file=None)
    assert usual.body_memory == BODY_MEMORY_BYTES
    assert Settings(_env_file=None, max_body_bytes=2**23).body_memory == 2 * BODY_MEMORY_BYTES
    assert limited().state.gateway.bodies.memory.is_free
    with pytest.raises(ValidationError, match="at least 4 times WATTGATE_MAX_BODY_BYTES, which is 16777216"):
        Settings(_env_file=None, kept_body_bytes=2**24 - 1)
    assert check_bounds(usual).state is CheckState.OK
    opened = check_bounds(Settings(_env_file=None, kept_body_bytes=2**40))
    assert "WATTGATE_KEPT_BODY_BYTES is 1,099,511,627,776" in opened.text


@pytest.mark.parametrize("length", ["", "a", "-1", "9" * 5_000, "1e3"])
def test_length_in_the_first_message_of_a_socket_may_be_any_text(length: str) -> None:
    """Nobody has checked it, and such a message has no body."""
    announced = announced_length({"content-length": length})
    assert announced is not None
    assert announced <= 0


async def test_wait_for_memory_that_is_cancelled_keeps_none() -> None:
    memory = BodyMemory(MEMORY)
    held = memory.open_hold(CALLER)
    await held.take(MAX_BODY)
    waiting = asyncio.create_task(memory.open_hold(CALLER).take(1))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    held.release()
    assert memory.is_free


async def test_bodies_that_wait_for_the_share_of_their_application_keep_no_memory_of_others() -> None:
    """Eight waiters would keep all memory of all addresses, and a refusal gives back what they paid."""
    memory = BodyMemory(MEMORY)
    held = []
    for number in range(OWNER_PART):
        at_address(f"203.0.113.{60 + number}")
        held.append(memory.open_hold(CALLER))
        await held[-1].take(MAX_BODY)
    waiting = []
    for number in range(8):
        at_address(f"203.0.113.{70 + number}")
        waiting.append(asyncio.create_task(memory.open_hold(CALLER).take(MAX_BODY)))
        await asyncio.sleep(0)
    at_address("203.0.113.90")
    other = memory.open_hold(replace(CALLER, application_id="other"))
    async with asyncio.timeout(1):
        await other.take(MAX_BODY)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for hold in (*held, other):
        hold.release()
    assert memory.is_free


async def test_both_shares_are_waited_for_in_one_maximum_time() -> None:
    memory = BodyMemory(MEMORY, max_wait_seconds=0.05)
    at_address("203.0.113.91")
    of_address = memory.open_hold(replace(CALLER, application_id="other"))
    await of_address.take(MAX_BODY)
    of_owner = []
    for number in range(OWNER_PART):
        at_address(f"203.0.113.{92 + number}")
        of_owner.append(memory.open_hold(CALLER))
        await of_owner[-1].take(MAX_BODY)
    at_address("203.0.113.91")
    last = asyncio.create_task(memory.open_hold(CALLER).take(MAX_BODY))
    await asyncio.sleep(0)
    of_address.release()  # it goes on to wait for the share of its application, and gives that of the address back
    with pytest.raises(Unavailable):
        await last
    again = memory.open_hold(replace(CALLER, application_id="other"))
    await again.take(MAX_BODY)
    for hold in (*of_owner, again):
        hold.release()
    assert memory.is_free


async def test_chunks_fill_the_share_of_their_address_to_the_last_byte() -> None:
    """Memory grows in steps, and the last step may be larger than the rest of the share."""
    memory = BodyMemory(MEMORY - 3 * STEP_BYTES)  # an address has a quarter, which is no number of whole steps
    share = (MEMORY - 3 * STEP_BYTES) // ADDRESS_PART
    assert share % STEP_BYTES
    body = body_of(share)

    async def parts() -> AsyncIterator[Message]:
        for start in range(0, share, STEP_BYTES):
            part = body[start : start + STEP_BYTES]
            yield {"type": "http.request", "body": part, "more_body": start + STEP_BYTES < share}

    at_address("203.0.113.99")
    read, hold = await BodyReader(memory=memory).read(aiter(parts()).__anext__, CALLER, PaidBytes(), None)
    assert read == body
    assert hold is not None
    hold.release()
    assert memory.is_free
