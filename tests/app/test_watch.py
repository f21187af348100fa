"""`wattgate watch`, run as a person runs it."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.app.test_cli import wattgate
from tests.support.house import PASSWORD
from tests.support.link import Link, link, running, values_until
from wattgate.app.cli.watch import FatalError, format_age, format_reading, websocket_url


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Link]:
    async with link(tmp_path) as made:
        yield made


async def watching(there: Link, *arguments: str, **environment: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wattgate", "watch", "--url", there.relay.url, *arguments),
        env={**os.environ, "COLUMNS": "200", **environment},
        stdout=PIPE,
        stderr=PIPE,
    )


def token(there: Link) -> str:
    return there.tenant.headers["account"]["token"]


async def until_said(process: Process, words: str) -> str:
    """What is said on the standard error up to a line with these words."""
    assert process.stderr is not None
    heard = ""
    async with asyncio.timeout(30):
        while words not in heard:
            said = await process.stderr.readline()
            assert said, heard
            heard += said.decode()
    return heard


async def test_it_goes_on_where_it_was_after_a_lost_link_and_says_so(there: Link) -> None:
    resource_id = await there.tenant.add_resource()
    process = await watching(there, resource_id, "--json", WATTGATE_TOKEN=token(there))
    async with running(process) as shown:
        await until_said(process, "connected to ws://127.0.0.1")
        await there.post(resource_id, 3)
        assert await values_until(shown, until=2) == [0, 1, 2]
        await there.relay.cut()
        await there.post(resource_id, 3)
        said = await until_said(process, "again in")
        await there.relay.open()
        said += await until_said(process, "recovered: nothing was missed")
        await there.post(resource_id, 3)
        assert await values_until(shown, until=8) == [3, 4, 5, 6, 7, 8]
        assert re.search(r"^lost: .+; again in \d+\.\d s$", said, re.MULTILINE)
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_a_user_gives_a_password_by_the_environment_and_reads_times_and_ages(there: Link) -> None:
    resource_id = await there.tenant.add_resource()
    names = ("--user", there.tenant.username, "--application", there.tenant.application_id)
    process = await watching(there, resource_id, *names, WATTGATE_PASSWORD=PASSWORD, TZ="UTC")
    async with running(process):
        await until_said(process, "connected")
        await there.post(resource_id)
        assert process.stdout is not None
        printed = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        assert re.fullmatch(rf"{there.begun:%Y-%m-%d %H:%M:%S}  {resource_id}  POWER +0 W +1 h\n", printed), printed
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_it_says_in_a_sentence_why_it_is_of_no_use_to_go_on(there: Link, tmp_path: Path) -> None:
    own = there.tenant.ids["resource"]
    for words, said in (
        ([own, "--token", "forged"], "the gateway does not accept these credentials"),
        (["unknown", "--token", token(there)], "no resource with id unknown"),
        ([own, "--token", "x", "--url", f"{there.gateway}/healthz"], "the gateway answers with status"),
        ([own, "--token", "x", "--url", "nowhere"], "nowhere is not an address such as http://127.0.0.1:8000"),
        ([own, "--token", "x", "--user", "both"], "give either a token or a user"),
    ):
        done = await asyncio.to_thread(wattgate, "watch", "--url", there.gateway, *words, folder=tmp_path)
        assert done.returncode in (1, 2), done.stderr
        assert said in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr


def test_addresses_of_gateways_lead_to_their_sockets() -> None:
    assert websocket_url("http://127.0.0.1:8000") == "ws://127.0.0.1:8000/graphql"
    assert websocket_url("https://energy.example/") == "wss://energy.example/graphql"
    assert websocket_url("wss://energy.example/gateway/graphql") == "wss://energy.example/gateway/graphql"
    with pytest.raises(FatalError):
        websocket_url("energy.example:8000")


def test_a_reading_is_one_line_with_its_age() -> None:
    at = datetime(2026, 11, 1, 12, tzinfo=UTC)
    reading: dict[str, Any] = {"resourceId": "r", "field": "POWER", "at": at.isoformat(), "value": 250.0, "unit": "W"}
    assert format_reading(reading, at + timedelta(seconds=90)).endswith("r  POWER              250 W      1 min")
    assert [format_age(timedelta(seconds=n)) for n in (0, 59, 3600, 200_000)] == ["0 s", "59 s", "1 h", "2 d"]
