"""The bounds of a connection and what is closed when they are passed, on both wires."""

import pytest
from websockets.exceptions import InvalidStatus

from tests.realtime.connections.conftest import OpenHouse
from tests.support.live import NEVER, LiveHouse
from tests.support.socket import socket
from wattgate.realtime.connections.limits import Limits
from wattgate.realtime.connections.protocol import MEANINGS, Close


async def test_whoever_does_not_say_who_it_is_in_time_is_closed_with_4408(open_house: OpenHouse) -> None:
    async with open_house() as house, socket(house.url) as one, socket(house.url) as other:
        await one.say(type="ping")
        await one.hear()
        await other.init(**house.one.headers["account"])
        house.pass_time(9)
        assert await one.heard() == []
        house.pass_time(1.5)
        assert await one.closed() == (4408, "Connection initialisation timeout")
        assert await other.heard() == []


async def test_whoever_sends_too_many_messages_is_closed_with_4510(open_house: OpenHouse) -> None:
    limits = Limits(messages=5, messages_per_second=0.001, ping_seconds=NEVER)
    async with open_house(limits=limits) as house, house.socket() as one, house.socket() as other:
        for _ in range(4):
            await one.heard()
        house.pass_time(2_000)
        for _ in range(2):
            await one.heard()
        await one.say(type="ping")
        assert await one.closed() == (4510, MEANINGS[Close.TOO_MANY_MESSAGES][0])
        house.pass_time(1_000_000)
        for _ in range(5):  # no more are earned than may come at once
            await other.heard()
        await other.say(type="ping")
        assert (await other.closed())[0] == 4510


@pytest.mark.parametrize("init", ["says nothing", "empty", "forged token", "forged password", "no text", "anonymous"])
async def test_a_socket_without_good_credentials_is_closed_with_4403(live: LiveHouse, init: str) -> None:
    payload = {
        "says nothing": None,
        "empty": {},
        "forged token": {"token": "forged"},
        "forged password": {"authorization": "Basic Zm9yZ2VkOng="},
        "no text": {"token": 5},
        "anonymous": {"applicationId": live.one.application_id},
    }[init]
    async with socket(live.url) as one:
        await one.say(type="connection_init", payload=payload)
        assert await one.closed() == (4403, "Forbidden")


@pytest.mark.parametrize("caller", ["account", "account basic", "application", "acting", "oauth", "administrator"])
async def test_credentials_are_good_in_the_handshake_and_in_the_payload(live: LiveHouse, caller: str) -> None:
    headers = live.one.headers[caller]
    async with socket(live.url) as one, socket(live.url, headers=headers) as other:
        await one.init(**headers)
        await other.init()


async def test_credentials_of_the_payload_go_before_those_of_the_handshake(live: LiveHouse) -> None:
    good, bad = live.one.headers["account"], {"token": "forged"}
    async with socket(live.url, headers=bad) as one, socket(live.url, headers=good) as other:
        await one.init(**good)
        await other.say(type="connection_init", payload=bad)
        assert (await other.closed())[0] == 4403


@pytest.mark.parametrize(
    ("origin", "welcome"),
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
async def test_only_pages_of_the_gateway_and_of_allowed_origins_may_open_a_socket(
    open_house: OpenHouse, origin: str | None, welcome: bool
) -> None:
    async with open_house(allowed_origins=["https://app.example"]) as house:
        assert await opens(house, origin) is welcome
        assert await opens(house, house.url)  # its own pages


async def opens(house: LiveHouse, origin: str | None) -> bool:
    headers = {} if origin is None else {"Origin": origin}
    try:
        async with socket(house.url, headers=headers) as one:
            await one.init(**house.one.headers["account"])
            return True
    except InvalidStatus as refused:
        status = refused.response.status_code
    assert status == 403
    return False
