"""The program of docs/how-to/display-of-your-own.md, run by CPython."""

import asyncio
import json
import re
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate
from graphql import build_schema, parse, validate

from tests.support.display_homes import ELECTRICITY, add_display_home
from tests.support.markdown import code_blocks
from tests.support.timed import Timed
from wattgate.energy.display.frame import FRAME_VERSION, LINK_TIMEOUT_SECONDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "display-of-your-own.md").read_text()
(PROGRAM,) = code_blocks(PAGE, "python")
SETTINGS = '"gateway.example", 443, "TOKEN", "VE_ID", "ca.der"'
SLEEP = "time.sleep(2 ** state"
QUERY = re.findall(r'QUERY = """(.*?)"""', PROGRAM, re.DOTALL)[0]
LINE_SECONDS = 60
"""How long a test waits for a line. It takes at most a few seconds."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FRAME: dict[str, Any] = {
    "frameVersion": 1,
    "at": "2026-06-01T23:59:59Z",
    "utcOffsetMinutes": 60,
    "linkTimeoutSeconds": 35,
    "power": {"net": {"value": -512.0}, "validUntil": "2026-06-02T00:01:59Z"},
    "ambient": {"level": "LOW"},
    "today": {"electricity": {"energy": {"value": "1.250"}}},
}
SHOWN = "-512 W LOW 1.250 kWh"


class Running:
    """A running program."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdout is not None
        self._output = process.stdout
        self.lines: list[str] = []

    async def line(self) -> str:
        printed = await asyncio.wait_for(self._output.readline(), LINE_SECONDS)
        assert printed, "the program has ended"
        self.lines.append(printed.decode().rstrip())
        return self.lines[-1]

    async def until(self, text: str) -> str:
        """Return the next line that contains a text."""
        while text not in (line := await self.line()):
            continue
        return line

    async def end(self) -> str:
        """Wait until the program has ended, and return the rest of what it has printed."""
        return (await asyncio.wait_for(self._output.read(), LINE_SECONDS)).decode()


@asynccontextmanager
async def running(
    folder: Path, url: str, token: str, ve_id: str, *changes: tuple[str, str], authority: str = ""
) -> AsyncIterator[Running]:
    """Run the program with its settings. `changes` are further replacements in it. `authority` is a file, for TLS."""
    host, port = url.removeprefix("http://").split(":")
    program = PROGRAM
    for old, new in ((SETTINGS, f'"{host}", {port}, "{token}", "{ve_id}", "{authority}"'), *changes):
        assert program.count(old) == 1
        program = program.replace(old, new)
    (folder / "display.py").write_text(program)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-u",
        "display.py",
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_program_follows_a_home_until_its_token_ends(timed: Timed, tmp_path: Path) -> None:
    home = await add_display_home(timed, ELECTRICITY)
    await home.record_half_hours(ELECTRICITY, timed.clock.now.replace(hour=8, minute=0), [0.25, 1])
    await home.send_power(640)
    login = """mutation ($application: ID!, $username: String!) {
      authenticate(applicationId: $application, username: $username, password: "correct horse") {
          ... on Login { token } } }"""
    variables = {"application": home.tenant.application_id, "username": home.username}
    token = (await timed.house.graphql(login, {}, **variables))["data"]["authenticate"]["token"]
    async with running(tmp_path, timed.house.url, token, home.ve_id) as program:
        assert await program.until("W") == "13:10 640 W - 1.250 kWh"
        timed.clock.now = timed.clock.now.replace(minute=11)
        await home.send_power(-1200)
        assert await program.until("-1200") == "13:11 -1200 W - 1.250 kWh"
        logout = "mutation { deleteToken { __typename } }"
        answer = await timed.house.graphql(logout, {"token": token})
        assert "errors" not in answer, answer
        assert "- W - 1.250 kWh no connection" in await program.until("no connection")
        assert "pair this screen again" in await program.end()


def chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def event(**changes: Any) -> bytes:
    payload = json.dumps({"data": {"display": {**FRAME, **changes}}})
    return f"event: next\ndata: {payload}\n\n".encode()


Script = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def stay(writer: asyncio.StreamWriter) -> None:
    """Keep the connection open until the client closes it."""
    await writer.drain()
    await asyncio.Event().wait()


def sends(*parts: bytes, stays: bool = False) -> Script:
    """Return a script that sends these bytes, each in a packet of its own, and then closes the connection or stays."""

    async def send(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        if stays:
            await stay(writer)

    return send


@asynccontextmanager
async def other_gateway(
    scripts: Sequence[Script], context: ssl.SSLContext | None = None, heads: list[bytes] | None = None
) -> AsyncIterator[str]:
    """Serve a gateway of another version: each connection follows the next script, and the last one repeats.

    With a context it speaks TLS. `heads` gets the heads of its requests.
    """
    remaining = list(scripts)
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        try:
            with suppress(ConnectionError):
                head = await reader.readuntil(b"\r\n\r\n")
                if heads is not None:
                    heads.append(head)
                await script(writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def test_program_ignores_what_it_does_not_know(tmp_path: Path) -> None:
    """Frames of other versions, divided and damaged streams, and responses without a stream."""
    whole = HEAD + chunks(event(power=None, today={"electricity": None, "water": 3}, mood={"tired": [1]}))
    divided = HEAD + chunks(b":\n\n", *(event()[start : start + 7] for start in range(0, len(event()), 7)))
    long_line = HEAD + chunks(b"data: " + b"x" * 9000, b"y" * 9000 + b"\n\n", event(ambient={"level": "VERY_HIGH"}))
    scripts = [
        sends(whole),
        sends(*(divided[start : start + 5] for start in range(0, len(divided), 5))),
        sends(long_line),
        sends(HEAD + chunks(b'data: {"errors": [{"message": "no"}]}\n\n')),
        sends(HEAD + chunks(b'data: {"data": {"display": null}}\n\n')),
        sends(HEAD + chunks(b"data: {]\n\n")),
        sends(HEAD + b"zz\r\n"),
        sends(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n\r\n"),
        sends(b""),
        sends(HEAD + chunks(event(frameVersion=2, power="not as before", today=[])), stays=True),
    ]
    waits = (
        (SLEEP, "wait(2 ** state"),
        ("while True:\n    link", "def wait(s): print('wait', s)\nwhile True:\n    link"),
    )
    async with (
        other_gateway(scripts) as url,
        running(tmp_path, url, "token", "home", *waits) as program,
    ):
        assert await program.until("W") == "00:59 - W LOW - kWh"
        await program.until(SHOWN)
        await program.until("-512 W VERY_HIGH 1.250 kWh")
        before = len(program.lines)
        assert await program.until("update") == "update this screen"
        assert all("- W - 1.250 kWh no connection" in line for line in program.lines[before:] if "W" in line)
        waited = [float(line.removeprefix("wait ")) for line in program.lines if line.startswith("wait")]
    assert len(waited) == len(scripts) - 1
    first, *failing = waited[2:]
    assert 1 <= first <= 2
    for number, seconds in enumerate(failing, start=2):
        longest = min(2**number, 64)
        assert longest / 2 <= seconds <= longest


@pytest.mark.long("waits until a reading is stale; the program's other cases stay in the short form")
async def test_program_blanks_the_power_by_itself(tmp_path: Path) -> None:
    """The announced instant passes beside heartbeats, and then the link is silent."""

    async def beat(writer: asyncio.StreamWriter) -> None:
        at, until = "2026-06-01T23:59:59Z", "2026-06-02T00:00:01Z"
        power = {"net": {"value": 512}, "validUntil": until}
        writer.write(HEAD + chunks(event(at=at, power=power, linkTimeoutSeconds=2 * LINE_SECONDS)))
        while not blanked.is_set():
            writer.write(chunks(b":\n\n"))
            await writer.drain()
            await asyncio.sleep(0.5)
        writer.write(chunks(event(at=at, power=None, linkTimeoutSeconds=2)))
        await stay(writer)

    blanked = asyncio.Event()
    scripts = [beat, sends(HEAD + chunks(event()), stays=True)]
    async with other_gateway(scripts) as url, running(tmp_path, url, "token", "home") as program:
        assert "512 W LOW" in await program.until("W")
        blank = await program.until("- W - 1.250 kWh")
        assert "connection" not in blank
        blanked.set()
        assert "- W - 1.250 kWh no connection" in await program.until("no connection")
        assert SHOWN in await program.until(SHOWN)


@pytest.fixture(scope="module")
def authorities() -> dict[str, trustme.CA]:
    """Return the authority of the gateway and another one."""
    return {"own.der": trustme.CA(), "other.der": trustme.CA()}


async def test_program_sends_its_token_only_to_a_server_with_the_right_certificate(
    authorities: dict[str, trustme.CA], tmp_path: Path
) -> None:
    for name, authority in authorities.items():
        certificate = load_pem_x509_certificate(authority.cert_pem.bytes())
        (tmp_path / name).write_bytes(certificate.public_bytes(Encoding.DER))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authorities["own.der"].issue_cert("localhost").configure_cert(context)
    whole = HEAD + chunks(*(event()[start : start + 7] for start in range(0, len(event()), 7)))
    script = sends(*(whole[start : start + 50] for start in range(0, len(whole), 50)), stays=True)
    heads: list[bytes] = []
    async with other_gateway([script], context, heads) as url:
        by_name = url.replace("127.0.0.1", "localhost")
        for address, file in ((by_name, "other.der"), (url, "own.der")):
            async with running(tmp_path, address, "secret", "home", authority=file) as program:
                assert await program.line() == "no connection"
        assert heads == []
        async with running(tmp_path, by_name, "secret", "home", authority="own.der") as program:
            assert SHOWN in await program.until(SHOWN)
            assert SHOWN in await program.line()  # a second without data
    assert len(heads) == 1
    assert b"\r\ntoken: secret\r\n" in heads[0]


def test_program_is_short_and_names_fields_and_numbers_of_the_gateway() -> None:
    assert len([line for line in PROGRAM.splitlines() if line.strip()]) <= 60
    schema = build_schema((ROOT / "docs" / "reference" / "schema.graphql").read_text())
    assert validate(schema, parse(QUERY)) == []
    assert f'frame["frameVersion"] > {FRAME_VERSION}' in PROGRAM
    assert f'"timeout": {LINK_TIMEOUT_SECONDS}' in PROGRAM
    imported = re.findall(r"^import (.+)$", PROGRAM, re.MULTILINE)
    assert imported == ["json, random, socket, ssl, time"]
