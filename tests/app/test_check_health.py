"""`wattgate check-health`: asks a running gateway, and prints why one is not healthy."""

import asyncio
from pathlib import Path

import pytest

from tests.app.test_command_imports import DATABASE, LIBRARIES, OPERATIONS, REDIS, SCHEMA, SERVER, imported_by
from tests.support.command import wattgate_in
from tests.support.ports import free_port
from tests.support.processes import gateway


@pytest.mark.long("starts a gateway process and five commands; the imports of the command stay in the short form")
async def test_the_command_asks_the_gateway_of_its_settings(tmp_path: Path) -> None:
    assert wattgate_in(tmp_path, "db", "upgrade").returncode == 0
    async with gateway(folder=tmp_path) as process:
        port = process.url.rpartition(":")[2]
        for arguments, settings in (
            (("check-health",), {"PORT": port}),
            (("check-health",), {"PORT": port, "HOST": "0.0.0.0"}),
            (("check-health", "--ready"), {"PORT": port}),
            (("check-health", "--url", process.url), {"PORT": "1"}),
        ):
            healthy = await asyncio.to_thread(wattgate_in, tmp_path, *arguments, **settings)
            assert (healthy.returncode, healthy.stdout.strip()) == (0, '{"status":"OK"}'), healthy.stderr
        other = await asyncio.to_thread(wattgate_in, tmp_path, "check-health", "--url", f"{process.url}/other")
        assert (other.returncode, "/other/healthz answers with status 404" in other.stderr) == (1, True)
        (tmp_path / ".env").write_text(f"WATTGATE_PORT={port}\n")
        assert (await asyncio.to_thread(wattgate_in, tmp_path, "check-health")).returncode == 0


def test_a_gateway_that_does_not_run_is_not_healthy(tmp_path: Path) -> None:
    port = free_port()
    refused = wattgate_in(tmp_path, "check-health", PORT=str(port))
    assert refused.returncode == 1
    assert f"http://127.0.0.1:{port}/healthz does not answer: " in refused.stderr
    assert "Traceback" not in refused.stderr


async def test_a_server_that_never_answers_is_not_healthy(tmp_path: Path) -> None:
    async def read_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(read_only, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        arguments = ("check-health", "--timeout", "0.2")
        silent = await asyncio.to_thread(wattgate_in, tmp_path, *arguments, PORT=str(port))
        assert (silent.returncode, "does not answer: timed out" in silent.stderr) == (1, True)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x", "http://a b"])
def test_an_address_of_the_wrong_form_is_named(tmp_path: Path, url: str) -> None:
    refused = wattgate_in(tmp_path, "check-health", "--url", url)
    assert refused.returncode == 2, refused.stderr
    assert "--url" in refused.stderr


def test_any_free_port_needs_an_address(tmp_path: Path) -> None:
    refused = wattgate_in(tmp_path, "check-health", PORT="0")
    assert (refused.returncode, "Pass --url" in refused.stderr) == (2, True)


def test_the_command_imports_no_settings_and_no_large_library(tmp_path: Path) -> None:
    ((status, modules),) = imported_by(tmp_path, f"check-health --url http://127.0.0.1:{free_port()}").values()
    assert status == 1
    unwanted = {*SCHEMA, *SERVER, *DATABASE, *REDIS, *LIBRARIES, *OPERATIONS, "wattgate.app.settings"}
    assert modules.isdisjoint(unwanted), modules & unwanted
    assert "http.client" in modules  # so the report is complete
