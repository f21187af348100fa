"""Run schemathesis on the OpenAPI document and a gateway: no 5xx, no undocumented status or response."""

import asyncio
import hashlib
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.chance import fuzzing
from tests.support.house import House, house
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.principal import AuthScheme

# Three checks contradict the design. REST ignores unknown members. A request that matches a schema may refer to a
# record that does not exist. A valid token is enough, even if a proxy changed the header Authorization.
EXCLUDED_CHECKS = "negative_data_rejection,positive_data_acceptance,ignored_auth"
BASIC_ONLY = sorted(
    {rest.path for operation in OPERATIONS for rest in operation.rest if rest.scheme is AuthScheme.BASIC}
)
TOKEN_REVOKING_PATHS = ("/auth/deleteToken", "/auth/token/{tokenId}", "/account/changepassword")
"""Endpoints that would revoke the token of the run itself."""

SHARE = 3
"""The suite sends requests to one path of so many, which the hash of the path chooses. `make fuzz` sends to all."""


def chosen_paths() -> list[str]:
    """Return the paths of this run that need a token, without those that would end it."""
    paths = {rest.path for operation in OPERATIONS for rest in operation.rest}
    others = sorted(paths - {*TOKEN_REVOKING_PATHS, *BASIC_ONLY})
    return [path for path in others if fuzzing() or hashlib.sha256(path.encode()).digest()[0] % SHARE == 0]


async def fuzz(gateway: House, headers: dict[str, str], *options: str) -> tuple[int | None, str]:
    """Run the schemathesis command and return its exit status and its output."""
    command = shutil.which("st", path=str(Path(sys.executable).parent))
    assert command is not None
    process = await asyncio.create_subprocess_exec(
        command,
        "run",
        f"{gateway.rest}/openapi.json",
        *("--url", gateway.rest, "--seed", "1", "--max-examples", "2", "--phases", "examples,coverage"),
        *("--checks", "all", "--exclude-checks", EXCLUDED_CHECKS, "--suppress-health-check", "all", "--no-color"),
        *(part for name, value in headers.items() for part in ("-H", f"{name}: {value}")),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


@pytest.mark.long("sends thousands of requests; every test of REST checks its responses against the document")
@pytest.mark.timeout(600)
async def test_fuzzed_requests_with_a_token_match_the_openapi_document(tmp_path: Path) -> None:
    paths = [part for path in chosen_paths() for part in ("--include-path", path)]
    async with house(f"sqlite:///{tmp_path / 'fuzz.sqlite3'}") as gateway:
        status, output = await fuzz(gateway, gateway.one.headers["administrator"], *paths)
    assert status == 0, output[-12000:]


@pytest.mark.long("sends hundreds of requests; every test of REST checks its responses against the document")
@pytest.mark.timeout(600)
async def test_fuzzed_requests_with_basic_credentials_match_the_openapi_document(tmp_path: Path) -> None:
    paths = [part for path in BASIC_ONLY for part in ("--include-path", path)]
    async with house(f"sqlite:///{tmp_path / 'fuzz.sqlite3'}") as gateway:
        status, output = await fuzz(gateway, gateway.one.headers["acting"], *paths)
    assert status == 0, output[-12000:]
