"""schemathesis against the OpenAPI document and a running gateway: no 5xx, no undocumented status or answer."""

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.house import House, house
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.principal import Scheme

# Three checks contradict what is decided: REST passes over what it does not know; what fits a schema may still refer
# to what does not exist; a good token is enough whatever a proxy in between made of Authorization. All others run.
LEFT_OUT = "negative_data_rejection,positive_data_acceptance,ignored_auth"
BASIC_ONLY = sorted({rest.path for operation in OPERATIONS for rest in operation.rest if rest.scheme is Scheme.BASIC})
LOG_OUT = ("/auth/deleteToken", "/auth/token/{tokenId}", "/account/changepassword")
"""What would end the token that the run itself uses."""


async def fuzz(house: House, headers: dict[str, str], *options: str) -> tuple[int | None, str]:
    """Run schemathesis as its users do; its exit status and what it printed."""
    command = shutil.which("st", path=str(Path(sys.executable).parent))
    assert command is not None
    process = await asyncio.create_subprocess_exec(
        command,
        "run",
        f"{house.rest}/openapi.json",
        *("--url", house.rest, "--seed", "1", "--max-examples", "2", "--phases", "examples,coverage"),
        *("--checks", "all", "--exclude-checks", LEFT_OUT, "--suppress-health-check", "all", "--no-color"),
        *(part for name, value in headers.items() for part in ("-H", f"{name}: {value}")),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()


@pytest.mark.timeout(240)
async def test_with_a_token_nothing_breaks(tmp_path: Path) -> None:
    paths = [part for path in LOG_OUT for part in ("--exclude-path", path)]
    async with house(f"sqlite:///{tmp_path / 'fuzz.sqlite3'}") as made:
        status, printed = await fuzz(made, made.one.headers["administrator"], *paths)
    assert status == 0, printed[-12000:]


@pytest.mark.timeout(240)
async def test_with_basic_credentials_nothing_breaks(tmp_path: Path) -> None:
    paths = [part for path in BASIC_ONLY for part in ("--include-path", path)]
    async with house(f"sqlite:///{tmp_path / 'fuzz.sqlite3'}") as made:
        status, printed = await fuzz(made, made.one.headers["acting"], *paths)
    assert status == 0, printed[-12000:]
