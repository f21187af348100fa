"""The code samples of the REST reference run as they are, also with odd characters in values."""

import asyncio
import base64
import json
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support import people
from tests.support.house import PASSWORD, House, house
from tests.support.node import Node
from tests.support.servers import Databases
from tests.support.system_programs import required_program

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.parametrize("databases", ["sqlite"], indirect=True, scope="session")

ODD = 'O\'Brien "$HOME" `id` \\n \\ ü € 100% &a=b #x {y} [1-2] @file <z> !! +1'
"""A value with characters that shells, addresses, forms and string literals treat as special."""

ARROW = "application/vnd.apache.arrow.stream"
READINGS = {"field": "ENERGY", "at": "2026-01-06T00:00:00Z", "value": 0.5}


@dataclass
class Sample:
    """A request of the form, and what its response must contain. Keys of `parameters` are PLACE.NAME."""

    method: str
    path: str
    status: int
    expected: Any
    parameters: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    scheme: str | None = None
    accept: str = ""
    download: str = ""


@pytest.fixture(scope="module")
async def own(databases: Databases) -> AsyncIterator[House]:
    async with databases() as url, house(url) as opened:
        yield opened


def as_json(value: Any) -> dict[str, Any]:
    return {"kind": "json", "media": "application/json", "text": json.dumps(value, ensure_ascii=False, indent=2)}


async def samples_for(own: House, language: str) -> list[Sample]:
    ids = own.one.ids
    home = {"path.veId": ids["virtual_entity"]}
    exchange = await people.exchange(own.one)
    pairs = [[re.sub(r"([A-Z])", r"_\1", name).lower(), value] for name, value in exchange.items()]
    credentials = {"username": own.one.username, "password": PASSWORD}
    return [
        Sample(  # path, query, and the header of the token
            "GET",
            "/resource/{resourceId}/readings",
            200,
            {"resourceId": ids["resource"]},
            {
                "path.resourceId": ids["resource"],
                "query.from": "2026-01-05T00:00:00",
                "query.to": "2026-01-05T01:59:59",
            },
        ),
        Sample(  # a binary response
            "GET",
            "/resource/{resourceId}/readings",
            200,
            None,
            {
                "path.resourceId": ids["resource"],
                "query.from": "2026-01-05T00:00:00",
                "query.to": "2026-01-05T01:59:59",
            },
            accept=ARROW,
            download="response.arrows",
        ),
        Sample(  # a file as the body
            "POST",
            "/readings",
            200,
            {"recorded": 1},
            body={"kind": "file", "media": "application/x-ndjson", "name": "it's.ndjson"},
            scheme="basic",
        ),
        Sample(
            "GET", "/resource/{resourceId}", 404, {"error": f"No resource with ID {ODD}."}, {"path.resourceId": ODD}
        ),
        Sample("GET", "/user", 404, {"code": "NOT_FOUND"}, {"query.username": ODD}, scheme="basic"),
        Sample(  # a JSON body
            "PUT",
            "/virtualentity/{veId}",
            201,
            {"status": "OK"},
            home,
            as_json({"name": f"{language} {ODD}"}),
        ),
        Sample("GET", "/virtualentity/{veId}", 200, {"name": f"{language} {ODD}"}, home),
        Sample(  # a header, and no credential
            "POST",
            "/auth",
            200,
            {"valid": True},
            {"header.applicationId": own.one.application_id},
            as_json(credentials),
        ),
        Sample(  # a form
            "POST",
            "/auth/oauth/access",
            200,
            {"token_type": "bearer"},
            body={"kind": "form", "media": "application/x-www-form-urlencoded", "pairs": pairs},
        ),
    ]


async def write_code(own: House, node: Node, samples: list[Sample]) -> list[dict[str, str]]:
    """Return the code of each sample by language, as the page writes it."""
    document = (await own.http.get("/api/v0-1/openapi.json")).json()
    given = {
        "document": document,
        "address": f"{own.rest}/openapi.json",
        "samples": [{key: value for key, value in vars(sample).items() if value is not None} for sample in samples],
    }
    script = ROOT / "tests" / "javascript" / "write-code.mjs"
    process = await asyncio.create_subprocess_exec(
        node.executable, script, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate(json.dumps(given).encode())
    written: list[dict[str, str]] = json.loads(printed)
    return written


END = "--- end of a sample"
"""The line after the output of each sample."""

RUN_ALL = {
    "curl": f'for file in "$@"; do . "./$file"; printf "\\n%s\\n" "{END}"; done',
    "javascript": f'for (const file of process.argv.slice(1)) {{ await import(file); console.log("\\n{END}"); }}',
    "python": (
        "import sys\nfor file in sys.argv[1:]:\n"
        f"    exec(compile(open(file).read(), file, 'exec'), {{'__name__': '__main__'}})\n    print('\\n{END}')"
    ),
}
"""Programs that run the files of samples one after another."""


async def run_all(own: House, node: Node, language: str, codes: list[str], folder: Path) -> list[str]:
    """Run samples in a folder, each as a script or module of its own, and return what each prints."""
    suffix = {"curl": ".sh", "javascript": ".mjs", "python": ".py"}[language]
    files = [folder / f"sample-{number}{suffix}" for number in range(len(codes))]
    for file, code in zip(files, codes, strict=True):
        file.write_text(f"{code} --silent --show-error\n" if language == "curl" else code)
    command: dict[str, list[Any]] = {
        "curl": ["bash", "-ec", RUN_ALL["curl"], "bash", *(file.name for file in files)],
        "javascript": [node.executable, "--input-type=module", "--eval", RUN_ALL["javascript"], *files],
        "python": [sys.executable, "-c", RUN_ALL["python"], *files],
    }
    encoded = own.one.headers["application"]["Authorization"].removeprefix("Basic ")
    name, _, secret = base64.b64decode(encoded).decode().partition(":")
    process = await asyncio.create_subprocess_exec(
        *command[language],
        env={
            "PATH": "/usr/bin:/bin",
            "WATTGATE_TOKEN": own.one.headers["account"]["token"],
            "WATTGATE_USERNAME": name,
            "WATTGATE_PASSWORD": secret,
        },
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, errors = await process.communicate()
    parts = printed.decode().split(f"\n{END}\n")
    assert (process.returncode, len(parts)) == (0, len(codes) + 1), f"{language}: {errors.decode()}\n{codes}"
    return parts[:-1]


def status_and_body(language: str, printed: str) -> tuple[int | None, str]:
    """Return the status that a sample has printed, None for curl, and the text of the response."""
    if language == "curl":
        return None, printed
    status, _, body = printed.strip().partition(" ")
    return int(status), body


@pytest.mark.parametrize("language", ["curl", "javascript", "python"])
async def test_code_runs_as_it_is(own: House, node_scripts: Node, language: str, tmp_path: Path) -> None:
    if language == "curl":
        required_program("curl")
        required_program("bash")
    samples = await samples_for(own, language)
    written = await write_code(own, node_scripts, samples)
    (tmp_path / "it's.ndjson").write_text(json.dumps(READINGS | {"resourceId": own.one.ids["resource"]}))
    outputs = await run_all(own, node_scripts, language, [code[language] for code in written], tmp_path)
    for sample, printed in zip(samples, outputs, strict=True):
        status, text = status_and_body(language, printed)
        assert status in (None, sample.status), text
        if sample.download:
            assert (tmp_path / sample.download).read_bytes(), sample
            continue
        response = json.loads(text)
        assert response | sample.expected == response, sample
