"""Run schemathesis on the OpenAPI document and a gateway: no 5xx, no undocumented status or response.

The suite sends examples and the cases of the schema. `make fuzz` adds random requests, and sequences of requests that
use the ids in earlier responses.
"""

import asyncio
import hashlib
import random
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.chance import fuzzing
from tests.support.house import House, house
from tests.support.residents import resident
from wattgate.operations.catalogue import OPERATIONS
from wattgate.principal import AuthScheme

# Three checks contradict the design. REST ignores unknown members. A request that matches a schema may refer to a
# record that does not exist. A valid token is enough, even if a proxy changed the header Authorization.
EXCLUDED_CHECKS = "negative_data_rejection,positive_data_acceptance,ignored_auth"
BASIC_ONLY = sorted(
    {rest.path for operation in OPERATIONS for rest in operation.rest if rest.scheme is AuthScheme.BASIC}
)
ENDING_PATHS = {
    "/auth/deleteToken": "logs the caller out",
    "/auth/token/{tokenId}": "deletes tokens, with the ids that /auth/token lists",
    "/account/changepassword": "ends all other tokens of the account",
    "/account/{accountId}": "closes accounts",
    "/account/{accountId}/secondfactor": "ends tokens of the account",
    "/account/secondfactor": "changes the credential of the account",
    "/user/{userId}": "deletes users with their accounts",
}
"""Endpoints that can end the credential of the run itself, and how. Each has a run with an account of its own."""

LONG_RUN_SECONDS, SHORT_RUN_SECONDS = 120, 20
"""Seconds for which a run of `make fuzz` sends requests to many paths, and to one."""

SHARE = 9
"""The suite sends requests to one path of so many, which the hash of the path chooses. `make fuzz` sends to all."""


def chosen_paths() -> list[str]:
    """Return the paths of this run that need a token, without those that would end it."""
    paths = {rest.path for operation in OPERATIONS for rest in operation.rest}
    return share_of(sorted(paths - {*ENDING_PATHS, *BASIC_ONLY}))


def share_of(paths: list[str]) -> list[str]:
    """Return the paths to which this run sends requests."""
    return [path for path in paths if fuzzing() or hashlib.sha256(path.encode()).digest()[0] % SHARE == 0]


def run_options(seconds: int) -> tuple[str, ...]:
    """Return the options that say what a run sends, and how much. `seconds` is the length of a run of `make fuzz`."""
    if fuzzing():
        seed = str(random.getrandbits(31))  # pytest-randomly sets the state of the generator
        phases = ("--phases", "examples,coverage,fuzzing,stateful", "--max-time", str(seconds))
        return ("--seed", seed, "--max-examples", "5", *phases)
    return ("--seed", "1", "--max-examples", "2", "--phases", "examples,coverage")


async def fuzz(
    gateway: House, headers: dict[str, str], *options: str, seconds: int = LONG_RUN_SECONDS
) -> tuple[int | None, str]:
    """Run the schemathesis command and return its exit status and its output."""
    command = shutil.which("st", path=str(Path(sys.executable).parent))
    assert command is not None
    process = await asyncio.create_subprocess_exec(
        command,
        "run",
        f"{gateway.rest}/openapi.json",
        *("--url", gateway.rest, *run_options(seconds), "--generation-database", "none"),
        *("--checks", "all", "--exclude-checks", EXCLUDED_CHECKS, "--suppress-health-check", "all", "--no-color"),
        *(part for name, value in headers.items() for part in ("-H", f"{name}: {value}")),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


@pytest.mark.long("sends thousands of requests; every test of REST checks its responses against the document")
@pytest.mark.timeout(1_800)
async def test_fuzzed_requests_with_a_token_match_the_openapi_document(tmp_path: Path) -> None:
    paths = [part for path in chosen_paths() for part in ("--include-path", path)]
    async with house(f"sqlite:///{tmp_path / 'fuzz.sqlite3'}") as gateway:
        administrator = gateway.one.headers["administrator"]
        status, output = await fuzz(gateway, administrator, *paths)
        assert status == 0, output[-12000:]
        assert (await gateway.call("GET", "/auth", administrator)).status_code == 200, "the run has logged itself out"


@pytest.mark.skipif(not fuzzing(), reason="`make fuzz` alone starts a run for each of these paths")
@pytest.mark.timeout(1_800)
async def test_fuzzed_requests_that_end_credentials_match_the_openapi_document(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with house(f"sqlite:///{tmp_path / 'fuzz.sqlite3'}") as gateway:
        for path in ENDING_PATHS:
            with subtests.test(path):
                caller = await resident(gateway.one)
                options = ("--include-path", path)
                status, output = await fuzz(gateway, caller.headers["account"], *options, seconds=SHORT_RUN_SECONDS)
                assert status == 0, output[-12000:]


@pytest.mark.long("sends hundreds of requests; every test of REST checks its responses against the document")
@pytest.mark.timeout(1_800)
async def test_fuzzed_requests_with_basic_credentials_match_the_openapi_document(tmp_path: Path) -> None:
    paths = [part for path in share_of(BASIC_ONLY) for part in ("--include-path", path)]
    async with house(f"sqlite:///{tmp_path / 'fuzz.sqlite3'}") as gateway:
        status, output = await fuzz(gateway, gateway.one.headers["acting"], *paths)
    assert status == 0, output[-12000:]
