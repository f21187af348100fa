"""Look-ups of host names: bounded for each owner, so that names that hang delay nobody else."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from tests.support.sinks import HERE, sink
from wattgate.delivery.outbound_http import (
    FAILURE_SECONDS,
    LOOKUP_THREADS,
    MAX_OWNER_LOOKUPS,
    HostResolver,
    NotLookedUp,
    OutboundHttpClient,
    OutboundRequestFailed,
    RequestNotTried,
)


class NameServer:
    """Names that are resolved in the calling thread. Names that begin with `hang` wait for `released`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.released = threading.Event()

    def look_up(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if host.startswith("hang"):
            self.released.wait(60)
        if host.startswith("missing"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return ["127.0.0.1"]


@pytest.fixture
def names() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.released.set()


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def test_hanging_names_of_one_application_do_not_delay_the_requests_of_another(names: NameServer) -> None:
    client = OutboundHttpClient(HERE, resolve=HostResolver(names.look_up).resolve, timeout_seconds=60)
    hanging = [
        asyncio.create_task(client.send("POST", f"http://hang{n}.test/", headers={}, body=b"", owner="hostile"))
        for n in range(4 * LOOKUP_THREADS)
    ]
    async with sink() as receiver:
        url = f"http://works.test:{receiver.port}/"
        response = await client.send("POST", url, headers={}, body=b"{}", owner="other")
    assert response.status == 204
    assert [host for host in names.asked if host.startswith("hang")] == [
        f"hang{n}.test" for n in range(MAX_OWNER_LOOKUPS)
    ]
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def give_up(names: NameServer, resolver: HostResolver, host: str, owner: str) -> None:
    """Look up a name that hangs or fails, and cancel it, as a timeout does, when its look-up runs in a thread."""
    task = asyncio.create_task(resolver.resolve(host, owner))
    async with asyncio.timeout(60):
        while host not in names.asked:  # noqa: ASYNC110 (the look-up runs in a thread)
            await asyncio.sleep(0.01)
    if host.startswith("hang"):
        task.cancel()
    with pytest.raises((asyncio.CancelledError, OSError)):
        await task


async def test_timeout_of_the_caller_does_not_free_the_place_of_a_running_lookup(names: NameServer) -> None:
    resolver = HostResolver(names.look_up)
    for number in range(MAX_OWNER_LOOKUPS):
        await give_up(names, resolver, f"hang{number}.test", "hostile")
    waiting = asyncio.create_task(resolver.resolve("works.test", "hostile"))
    assert await resolver.resolve("works.test", "other") == ["127.0.0.1"]
    assert not waiting.done()
    names.released.set()
    assert await waiting == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["hang.test", "missing.test"])
async def test_name_that_failed_is_not_looked_up_again_for_a_while(names: NameServer, host: str) -> None:
    clock = Clock()
    resolver = HostResolver(names.look_up, clock=clock)
    await give_up(names, resolver, host, "one")
    clock.now += FAILURE_SECONDS - 1
    with pytest.raises(NotLookedUp, match="a short time ago"):
        await resolver.resolve(host, "one")
    assert names.asked == [host]
    clock.now += 2
    names.released.set()
    with contextlib.suppress(OSError):
        await resolver.resolve(host, "one")
    assert names.asked == [host, host]


@pytest.mark.parametrize("host", ["hang.test", "missing.test"])
async def test_failure_of_one_application_is_not_remembered_for_another(names: NameServer, host: str) -> None:
    """An application can let look-ups of any name fail, because it can cancel them."""
    resolver = HostResolver(names.look_up)
    await give_up(names, resolver, host, "hostile")
    names.released.set()
    with contextlib.suppress(socket.gaierror):
        assert await resolver.resolve(host, "other") == ["127.0.0.1"]
    assert names.asked == [host, host]


async def test_lookup_without_a_place_of_its_owner_is_no_failure_of_the_name(names: NameServer) -> None:
    resolver = HostResolver(names.look_up, max_place_seconds=0.01)
    for number in range(MAX_OWNER_LOOKUPS):
        await give_up(names, resolver, f"hang{number}.test", "hostile")
    client = OutboundHttpClient(HERE, resolve=resolver.resolve, timeout_seconds=60)
    with pytest.raises(RequestNotTried, match="take long"):
        await client.send("POST", "http://works.test/", headers={}, body=b"", owner="hostile")
    assert await resolver.resolve("works.test", "other") == ["127.0.0.1"]
    names.released.set()
    assert await resolver.resolve("works.test", "hostile") == ["127.0.0.1"]


async def test_failed_name_is_reported_as_a_failed_request(names: NameServer) -> None:
    client = OutboundHttpClient(HERE, resolve=HostResolver(names.look_up).resolve)
    for _ in range(2):
        with pytest.raises(OutboundRequestFailed) as failed:
            await client.send("POST", "http://missing.test/", headers={}, body=b"", owner="one")
        assert failed.value.syscall == "getaddrinfo"
    assert names.asked == ["missing.test"]


async def test_owners_are_forgotten_when_their_lookups_end(names: NameServer) -> None:
    resolver = HostResolver(names.look_up)
    await asyncio.gather(*(resolver.resolve("works.test", f"owner {number}") for number in range(100)))
    async with asyncio.timeout(60):
        while resolver.owner_count:  # noqa: ASYNC110 (places are freed by callbacks of threads)
            await asyncio.sleep(0.01)
