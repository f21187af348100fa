"""`wattgate watch` in a process of its own: readings, reconnects and errors."""

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
from websockets.exceptions import ConnectionClosedError
from websockets.frames import Close

from tests.app.test_cli import wattgate
from tests.support.house import PASSWORD
from tests.support.link import Link, link, running, values_until
from wattgate.app.cli.watch import (
    Credentials,
    FatalError,
    Watcher,
    describe_error,
    format_age,
    format_reading,
    websocket_url,
)


@pytest.fixture
async def gateway_link(tmp_path: Path) -> AsyncIterator[Link]:
    async with link(tmp_path) as gateway_link:
        yield gateway_link


async def start_watch(gateway_link: Link, *arguments: str, **environment: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wattgate", "watch", "--url", gateway_link.relay.url, *arguments),
        env={**os.environ, "COLUMNS": "200", **environment},
        stdout=PIPE,
        stderr=PIPE,
    )


def token(gateway_link: Link) -> str:
    return gateway_link.tenant.headers["account"]["token"]


async def read_status_until(process: Process, text: str) -> str:
    """Read standard error up to and including a line with this text."""
    assert process.stderr is not None
    output = ""
    async with asyncio.timeout(60):
        while text not in output:
            line = await process.stderr.readline()
            assert line, output
            output += line.decode()
    return output


async def test_watch_resumes_after_lost_connection(gateway_link: Link) -> None:
    resource_id = await gateway_link.tenant.add_resource()
    process = await start_watch(gateway_link, resource_id, "--json", WATTGATE_TOKEN=token(gateway_link))
    async with running(process) as output:
        await read_status_until(process, "connected to ws://127.0.0.1")
        await gateway_link.post(resource_id, 3)
        assert await values_until(output, until=2) == [0, 1, 2]
        await gateway_link.relay.cut()
        await gateway_link.post(resource_id, 3)
        status = await read_status_until(process, "next attempt in")
        await gateway_link.relay.open()
        status += await read_status_until(process, "resumed: no readings were missed")
        await gateway_link.post(resource_id, 3)
        assert await values_until(output, until=8) == [3, 4, 5, 6, 7, 8]
        assert re.search(r"^connection lost: .+; next attempt in \d+\.\d s$", status, re.MULTILINE)
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 60) == 0


@pytest.mark.long("starts a command and a gateway of its own; the resumption of `watch` stays in the short form")
async def test_watch_reads_password_from_environment_and_prints_age(gateway_link: Link) -> None:
    resource_id = await gateway_link.tenant.add_resource()
    names = ("--user", gateway_link.tenant.username, "--application", gateway_link.tenant.application_id)
    process = await start_watch(gateway_link, resource_id, *names, WATTGATE_PASSWORD=PASSWORD, TZ="UTC")
    async with running(process):
        await read_status_until(process, "connected")
        await gateway_link.post(resource_id)
        assert process.stdout is not None
        printed = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
        assert re.fullmatch(rf"{gateway_link.begun:%Y-%m-%d %H:%M:%S}  {resource_id}  POWER +0 W +1 h\n", printed), (
            printed
        )
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 60) == 0


@pytest.mark.long("waits for the end of a command; the resumption of `watch` stays in the short form")
async def test_watch_stops_with_message_on_fatal_error(gateway_link: Link, tmp_path: Path) -> None:
    resource_id = gateway_link.tenant.ids["resource"]
    for arguments, message in (
        ([resource_id, "--token", "forged"], "the gateway does not accept these credentials"),
        (["unknown", "--token", token(gateway_link)], "No resource with ID unknown."),
        ([resource_id, "--token", "x", "--url", f"{gateway_link.gateway}/healthz"], "the gateway answers with status"),
        ([resource_id, "--token", "x", "--url", "nowhere"], "nowhere is not an address such as http://127.0.0.1:8000"),
        ([resource_id, "--token", "x", "--user", "both"], "pass either --token or --user"),
    ):
        result = await asyncio.to_thread(wattgate, "watch", "--url", gateway_link.gateway, *arguments, folder=tmp_path)
        assert result.returncode in (1, 2), result.stderr
        assert message in " ".join(result.stderr.split())
        assert "Traceback" not in result.stderr


def test_watch_waits_as_long_as_the_reason_of_a_close_says() -> None:
    client = Watcher(
        "http://gateway", Credentials(), [], on_reading=lambda reading: None, on_status=lambda status: None
    )
    for code, reason, pause in ((4511, "Retry in 12 s.", 12), (4511, "Retry later.", 0), (4510, "too many", 30)):
        assert client._handle_close(ConnectionClosedError(Close(code, reason), None))[0] == pause
    with pytest.raises(FatalError):
        client._handle_close(ConnectionClosedError(Close(4403, "Forbidden"), None))


def test_websocket_url_of_gateway_address() -> None:
    assert websocket_url("http://127.0.0.1:8000") == "ws://127.0.0.1:8000/graphql"
    assert websocket_url("https://energy.example/") == "wss://energy.example/graphql"
    assert websocket_url("wss://energy.example/gateway/graphql") == "wss://energy.example/gateway/graphql"
    with pytest.raises(FatalError):
        websocket_url("energy.example:8000")


def test_format_reading_is_one_line_with_age() -> None:
    at = datetime(2026, 11, 1, 12, tzinfo=UTC)
    reading: dict[str, Any] = {"resourceId": "r", "field": "POWER", "at": at.isoformat(), "value": 250.0, "unit": "W"}
    assert format_reading(reading, at + timedelta(seconds=90)).endswith("r  POWER              250 W      1 min")
    assert [format_age(timedelta(seconds=n)) for n in (0, 59, 3600, 200_000)] == ["0 s", "59 s", "1 h", "2 d"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            {"message": "No", "extensions": {"code": "NOT_FOUND", "traceId": "4b1c"}},
            "No (code NOT_FOUND, trace ID 4b1c)",
        ),
        ({"message": "No", "extensions": {"code": "NOT_FOUND"}}, "No (code NOT_FOUND)"),
        ({"message": "No"}, "No"),
    ],
)
def test_error_names_its_code_and_its_trace_id(error: dict[str, Any], text: str) -> None:
    assert describe_error(error) == text
