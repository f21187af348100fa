"""Generators of clients and linters read the served OpenAPI document. The clients compile, and call a gateway."""

import asyncio
import json
import os
import shutil
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support import node, python_tools
from tests.support.house import PASSWORD, House, house
from wattgate.enums import TariffKind

SOURCES = Path(__file__).parents[1] / "openapi_clients"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}
START = datetime(2026, 1, 5, tzinfo=UTC)
VALUES = ["0.25", "0.5", "0.75", "1"]

pytestmark = pytest.mark.timeout(240)


@dataclass(frozen=True)
class Workplace:
    """A folder with the served document and the sources of the clients, beside the installed packages."""

    javascript: node.Node
    gateway: House

    @property
    def folder(self) -> Path:
        return self.javascript.folder

    @property
    def arguments(self) -> tuple[str, ...]:
        """The address and the credentials, as the clients read them."""
        tenant = self.gateway.one
        return (f"{self.gateway.url}/api/v0-1", tenant.username, PASSWORD, tenant.application_id)

    async def run_package(self, package: str, *arguments: str) -> str:
        """Run the script of an installed package."""
        return await self.run(str(self.javascript.executable), str(self.javascript.packages / package), *arguments)

    async def run(self, *command: str) -> str:
        """Run a command in the folder and return what it prints. Fail if it fails."""
        process = await asyncio.create_subprocess_exec(
            *command, cwd=self.folder, stdout=PIPE, stderr=STDOUT, env={**os.environ, **QUIET}
        )
        printed, _ = await process.communicate()
        assert process.returncode == 0, printed.decode()[-6000:]
        return printed.decode()


@pytest.fixture(scope="module")
def javascript() -> Iterator[node.Node]:
    """Node with the generators."""
    with node.required_node(SOURCES) as running:
        yield running


@pytest.fixture(scope="module")
async def workplace(javascript: node.Node, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workplace]:
    """Serve a gateway whose account has a home with readings and a tariff, and save its document."""
    folder = tmp_path_factory.mktemp("openapi-clients")
    for source in SOURCES.iterdir():
        shutil.copy(source, javascript.folder)
    async with house(f"sqlite:///{folder / 'gateway.sqlite3'}") as gateway:
        tenant = gateway.one
        resource_id = tenant.ids["resource"]
        times = [START + timedelta(minutes=30 * number) for number in range(len(VALUES))]
        await tenant.record(resource_id, *zip(times, VALUES, strict=True))
        await tenant.set_tariff(
            resource_id, kind=TariffKind.FLAT, rate=Decimal("24.5"), standing_charge=Decimal("53.8")
        )
        document = await gateway.call("GET", "/openapi.json", {})
        (javascript.folder / "openapi.json").write_bytes(document.content)
        yield Workplace(javascript, gateway)


def assert_results(printed: str) -> None:
    """Assert that a client has read and written the data of the gateway."""
    results = json.loads(printed.splitlines()[-1])
    assert results == results | {
        "readings": [0.25, 0.5, 0.75, 1],
        "units": "kWh",
        "written": True,
        "status": 404,
        "code": "NOT_FOUND",
        "operation": "viewer.homes",
    }
    assert results["home"]
    assert results["resources"] >= 1
    assert results["standing"] > 53


@pytest.mark.long("generates clients with other tools; the OpenAPI document has its own tests")
async def test_clients_in_typescript_compile_and_call_the_gateway(workplace: Workplace) -> None:
    await workplace.run_package("openapi-typescript/bin/cli.js", "openapi.json", "--output", "schema.d.ts")
    await workplace.run_package("@hey-api/openapi-ts/bin/run.js", "--file", "openapi-ts.config.mjs")
    await workplace.run_package("typescript/bin/tsc", "--project", "tsconfig.json")
    for name in ("openapi-fetch", "hey-api"):
        script = str(workplace.folder / "compiled" / f"{name}.js")
        printed = await workplace.run(str(workplace.javascript.executable), script, *workplace.arguments)
        assert_results(printed)


@pytest.mark.long("generates clients with other tools; the OpenAPI document has its own tests")
async def test_client_in_python_has_every_operation_and_calls_the_gateway(workplace: Workplace) -> None:
    executables = python_tools.python_tools(SOURCES / "requirements.lock")
    options = ("--path", "openapi.json", "--config", "python-client.yaml", "--meta", "none", "--fail-on-warning")
    generator = str(executables / "openapi-python-client")
    await workplace.run(generator, "generate", *options, "--output-path", "wattgate_client")
    assert_results(await workplace.run(str(executables / "python"), "client.py", *workplace.arguments))


@pytest.mark.long("generates clients with other tools; the OpenAPI document has its own tests")
async def test_linters_find_no_problem(workplace: Workplace) -> None:
    await workplace.run_package("@redocly/cli/bin/cli.js", "lint", "openapi.json", "--config", "redocly.yaml")
    spectral = "@stoplight/spectral-cli/dist/index.js"
    await workplace.run_package(
        spectral, "lint", "openapi.json", "--ruleset", "spectral.yaml", "--fail-severity", "hint"
    )
