"""Limits of a connection and the close codes for exceeding them."""

from contextlib import AsyncExitStack, closing
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.protocol import SERVER, Protocol

from tests.fuzz.event_loop import MemoryTransport, SteppedLoop
from tests.fuzz.socket_frames import Recorder
from tests.realtime.connections.conftest import OpenHouse
from tests.support.house import PASSWORD, basic
from tests.support.live import NEVER, LiveHouse
from tests.support.pairing import Interface
from tests.support.socket import Socket, socket
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.protocol import CLOSE_CODE_MEANINGS, CloseCode
from wattgate.realtime.connections.reconnection import waiting_seconds
from wattgate.realtime.connections.wires.frame_wire import FrameWire
from wattgate.requests.fair_share import NO_OWNER

REQUESTS = 20
"""Unknown tokens in a minute from one address, in tests that use this limit up."""


async def test_connection_without_init_in_time_is_closed_with_4408(open_house: OpenHouse) -> None:
    # the clock runs, so that a busy machine uses up some seconds of the margin
    limits = ConnectionLimits(init_timeout_seconds=600, ping_seconds=NEVER)
    async with open_house(limits=limits) as house, socket(house.url) as client, socket(house.url) as authenticated:
        await client.say(type="ping")
        await client.hear()
        await authenticated.init(**house.one.headers["account"])
        house.pass_time(540)
        assert await client.heard() == []
        house.pass_time(60.5)
        assert await client.closed() == (4408, "Connection initialisation timeout")
        assert await authenticated.heard() == []


async def test_client_that_sends_too_many_messages_is_closed_with_4510(open_house: OpenHouse) -> None:
    limits = ConnectionLimits(max_message_burst=5, max_messages_per_second=0.001, ping_seconds=NEVER)
    async with open_house(limits=limits) as house, house.socket() as client, house.socket() as second:
        for _ in range(4):
            await client.heard()
        house.pass_time(2_000)
        for _ in range(2):
            await client.heard()
        await client.say(type="ping")
        assert await client.closed() == (4510, CLOSE_CODE_MEANINGS[CloseCode.TOO_MANY_MESSAGES][0])
        house.pass_time(1_000_000)
        for _ in range(5):  # the burst limits the earned messages
            await second.heard()
        await second.say(type="ping")
        assert (await second.closed())[0] == 4510


async def test_frames_that_are_no_messages_are_counted(live: LiveHouse, subtests: pytest.Subtests) -> None:
    """A client that has not logged in sends empty pings, pongs and fragments, and goes on after it is closed."""
    mask = bytes(4)
    for name, start, frame, expected in (
        ("pings", b"", b"\x89\x80" + mask, 4510),
        ("pongs", b"", b"\x8a\x80" + mask, 4510),
        ("fragments", b"\x01\x80" + mask, b"\x00\x80" + mask, 4510),
        ("messages after the close", b"\x81\x81" + mask + b"x", b"\x81\x80" + mask, 4400),
    ):
        with subtests.test(name):
            async with socket(live.url) as client:
                client.connection.transport.write(start + frame * 50_000)
                assert (await client.closed())[0] == expected


@pytest.mark.parametrize("size", [1, 7, 31, 32, 1_400])
def test_small_parts_of_frames_are_counted(size: int) -> None:
    """A message arrives in parts of one size. Large parts are not counted."""
    data = Frame(Opcode.TEXT, b"x" * 60_000).serialize(mask=True)
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    with closing(SteppedLoop()) as loop:
        transport = MemoryTransport(loop)
        wire = FrameWire(Protocol(SERVER, max_size=65_536), transport, set(), lambda _: None)
        session = CountingSession(wire)
        wire.attach(session)
        for part in parts:
            wire.data_received(part)
    assert len(session.messages) == 1
    assert session.counted == (len(parts) - 1 if size < 32 else 0)


class CountingSession(Recorder):
    """A session that counts frames and closes nothing."""

    counted = 0

    def take_frames(self, count: int) -> bool:
        self.counted += count
        return True


async def test_few_frames_are_accepted_before_the_log_in_and_more_after_it(
    live: LiveHouse, subtests: pytest.Subtests
) -> None:
    """A hundred frames are more than the burst before the log-in, and less than the one after it."""
    mask = bytes(4)
    text, fragment, ping, pong = (bytes((first, 0x80)) + mask for first in (0x01, 0x00, 0x89, 0x8A))
    end = b"\x80\x8f" + mask + b'{"type":"ping"}'
    for name, frames in {"pings": ping * 100, "pongs": pong * 100, "fragments": text + fragment * 100 + end}.items():
        with subtests.test(name):
            async with socket(live.url) as unknown, socket(live.url) as known:
                await known.init(**live.one.headers["account"])
                for client in (unknown, known):
                    client.connection.transport.write(frames)
                assert (await unknown.closed())[0] == 4510
                if name == "fragments":
                    assert (await known.hear())["type"] == "pong"
                assert await known.heard() == []


@pytest.mark.parametrize("init", ["says nothing", "empty", "forged token", "forged password", "no token", "anonymous"])
async def test_connection_without_valid_credentials_is_closed_with_4403(live: LiveHouse, init: str) -> None:
    payload = {
        "says nothing": None,
        "empty": {},
        "forged token": {"token": "forged"},
        "forged password": {"authorization": "Basic Zm9yZ2VkOng="},
        "no token": {"token": None},
        "anonymous": {"applicationId": live.one.application_id},
    }[init]
    async with socket(live.url) as client:
        await client.say(type="connection_init", payload=payload)
        assert await client.closed() == (4403, "Forbidden")


async def test_application_that_names_no_user_of_its_own_is_refused(live: LiveHouse) -> None:
    """A client that reconnects with the same payload would be refused for ever, so the code is none of those."""
    async with socket(live.url) as client:
        await client.say(type="connection_init", payload={**live.one.headers["application"], "userId": "made up"})
        code, reason = await client.closed()
        assert code == 4403
        assert "userId names no user of the application" in (reason or "")


async def exhaust_address(house: LiveHouse) -> None:
    """Send unknown tokens until the gateway looks up no more for this address."""
    for number in range(REQUESTS + 1):
        await house.http.get("/api/v0-1/resource", headers={"token": f"unknown {number}"})


async def test_valid_credentials_that_have_to_wait_are_not_refused(
    open_house: OpenHouse, subtests: pytest.Subtests
) -> None:
    """A neighbour behind the same address spends its limit. Software of displays forgets a credential after 4403."""
    async with open_house(address_requests=REQUESTS) as house:
        house.clock.stop()
        display = await Interface(house, is_rest=False).pair(house.one, house.one.ids["virtual_entity"])
        cases = {
            "account": {"token": await house.one.add_token()},
            "application": {"authorization": house.one.headers["application"]["Authorization"]},
            "display": display.headers,
        }
        await exhaust_address(house)
        for name, credentials in cases.items():
            with subtests.test(name):
                refused = await house.http.get("/api/v0-1/resource", headers=credentials)
                assert refused.status_code == 429
                async with socket(house.url) as client:
                    await client.say(type="connection_init", payload=credentials)
                    assert await client.closed() == (4511, f"Retry in {refused.headers['retry-after']} s.")
        house.clock.move(float(refused.headers["retry-after"]))
        async with house.socket(**cases["display"]):
            pass


async def test_valid_password_that_has_to_wait_is_not_refused(open_house: OpenHouse) -> None:
    async with open_house(address_logins=1) as house:
        house.clock.stop()
        username = f"waiting-{uuid4()}@example.org"  # an address from which it has never logged in
        await house.one.add_account(username)
        for _ in range(2):
            await house.http.get("/api/v0-1/resource", headers=basic("nobody", "wrong"))
        async with socket(house.url) as client:
            credentials = {**basic(username, PASSWORD), "applicationId": house.one.application_id}
            await client.say(type="connection_init", payload=credentials)
            code, reason = await client.closed()
            assert code == 4511
            assert waiting_seconds(reason or "") > 0


async def test_new_credentials_that_have_to_wait_leave_the_connection_open(open_house: OpenHouse) -> None:
    async with open_house(address_requests=REQUESTS) as house:
        house.clock.stop()
        old, new = await house.dying_token(seconds=60), await house.one.add_token()
        async with house.socket(token=old) as client:
            await exhaust_address(house)
            await client.say(type="ping", payload={"token": new})
            pong = await client.hear()
            (error,) = pong["payload"]["errors"]
            assert pong["type"] == "pong"
            assert datetime.fromisoformat(pong["payload"]["expiresAt"]) - house.clock.utc() <= timedelta(seconds=60)
            assert error["extensions"]["code"] == "RATE_LIMITED"
            await client.subscribe("{ __typename }")
            assert (await client.payload())["data"]["__typename"] == "Query"
            assert (await client.hear())["type"] == "complete"
            house.clock.move(error["extensions"]["retryAfter"])
            await client.say(type="ping", payload={"token": new})
            renewed = (await client.hear())["payload"]
            assert renewed.keys() == {"expiresAt"}
            assert datetime.fromisoformat(renewed["expiresAt"]) - house.clock.utc() > timedelta(seconds=60)


async def test_new_credentials_that_have_to_wait_beyond_the_grace_period_are_not_refused(open_house: OpenHouse) -> None:
    async with open_house(address_requests=REQUESTS, limits=ConnectionLimits(ping_seconds=NEVER)) as house:
        house.clock.stop()
        old, new = await house.dying_token(seconds=60), await house.one.add_token()
        async with house.socket(token=old) as client:
            house.pass_time(60)
            assert (await client.hear(pings=True))["payload"]["expired"] is True
            await exhaust_address(house)
            await client.say(type="ping", payload={"token": new})
            assert (await client.hear())["payload"]["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
            house.pass_time(25.5)
            code, reason = await client.closed()
            assert code == 4511
            assert waiting_seconds(reason or "") > 0


@pytest.mark.every_case("each case is another kind of credential")
@pytest.mark.parametrize("caller", ["account", "account basic", "application", "acting", "oauth", "administrator"])
async def test_credentials_are_accepted_in_the_handshake_and_in_the_payload(live: LiveHouse, caller: str) -> None:
    headers = live.one.headers[caller]
    async with socket(live.url) as by_payload, socket(live.url, headers=headers) as by_handshake:
        await by_payload.init(**headers)
        await by_handshake.init()


async def test_credentials_of_the_payload_override_those_of_the_handshake(live: LiveHouse) -> None:
    valid, forged = live.one.headers["account"], {"token": "forged"}
    async with socket(live.url, headers=forged) as valid_payload, socket(live.url, headers=valid) as forged_payload:
        await valid_payload.init(**valid)
        await forged_payload.say(type="connection_init", payload=forged)
        assert (await forged_payload.closed())[0] == 4403


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("https://app.example", True),
        ("https://app.example:8443", False),
        ("http://app.example", False),
        ("https://evil.example", False),
        ("https://evil.example/https://app.example", False),
        ("null", False),
        ("", False),
    ],
)
async def test_only_allowed_origins_can_open_a_socket(open_house: OpenHouse, origin: str | None, allowed: bool) -> None:
    async with open_house(allowed_origins=["https://app.example"]) as house:
        assert await can_open_socket(house, origin) is allowed
        assert await can_open_socket(house, house.url)  # the pages of the gateway itself


async def can_open_socket(house: LiveHouse, origin: str | None) -> bool:
    headers = {} if origin is None else {"Origin": origin}
    try:
        async with socket(house.url, headers=headers) as client:
            await client.init(**house.one.headers["account"])
            return True
    except InvalidStatus as error:
        status = error.response.status_code
    assert status == 403
    return False


async def test_log_ins_above_the_queue_are_closed_with_4503_and_the_others_run_in_order(open_house: OpenHouse) -> None:
    limits = ConnectionLimits(max_concurrent_logins=1, max_waiting_logins=2, ping_seconds=NEVER)
    init = {"type": "connection_init"}
    async with open_house(limits=limits) as house, AsyncExitStack() as stack:
        queue, payload = house.gateway.realtime.login_queue.slots, house.one.headers["account"]
        first, second, surplus, third = [await stack.enter_async_context(socket(house.url)) for _ in range(4)]
        async with queue.slot(NO_OWNER):
            for number, client in enumerate((first, second), start=1):
                await client.say(**init, payload=payload)
                await house.until(lambda number=number: queue.waiting_count == number)  # type: ignore[misc]
            await surplus.say(**init, payload=payload)
            assert await surplus.closed() == (4503, "Too many connections log in at the moment. Try again.")
            await first.connection.close()
            await house.until(lambda: queue.waiting_count == 1)  # a client that leaves frees its place
            await third.say(**init, payload=payload)
            await house.until(lambda: queue.waiting_count == 2)
            assert await second.heard() == []
            with_password = await stack.enter_async_context(socket(house.url))
            await with_password.init(**house.one.headers["account basic"])  # has a queue of its own
        assert await second.hear() == {"type": "connection_ack"}
        assert await third.hear() == {"type": "connection_ack"}
        assert queue.waiting_count == 0


async def test_log_ins_of_one_address_leave_places_in_the_queue_to_others(open_house: OpenHouse) -> None:
    limits = ConnectionLimits(max_concurrent_logins=1, max_waiting_logins=2, ping_seconds=NEVER)
    async with open_house(limits=limits, trusted_proxies=["127.0.0.1"]) as house, AsyncExitStack() as stack:
        queue = house.gateway.realtime.login_queue.slots

        async def log_in(address: str) -> Socket:
            headers = {"X-Forwarded-For": address}
            client = await stack.enter_async_context(socket(house.url, headers=headers))
            await client.say(type="connection_init", payload=house.one.headers["account"])
            return client

        for addresses in (["203.0.113.1"] * 2, ["2001:db8:1:1::1", "2001:db8:1:2::1"]):  # the second is an IPv6 site
            async with queue.slot(NO_OWNER):
                first = await log_in(addresses[0])
                await house.until(lambda: queue.waiting_count == 1)
                second = await log_in(addresses[1])
                await house.until(lambda: queue.waiting_count == 2)
                other = await log_in("203.0.113.2")
                assert (await second.closed())[0] == CloseCode.GOING_AWAY
                assert queue.waiting_count == 2
            for client in (first, other):
                assert await client.hear() == {"type": "connection_ack"}
