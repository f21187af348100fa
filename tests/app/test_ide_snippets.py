"""The code that the IDE copies runs against a gateway, whatever the document and the variables contain."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.support.house import Tenant, settle_all
from tests.support.link import running
from tests.support.node import Node
from tests.support.servers import serving
from tests.support.system_programs import required_program
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.operations.types.homes.virtual_entities import VirtualEntityChange

SNIPPETS = Path(__file__).parents[2] / "wattgate" / "app" / "static" / "ide" / "panels" / "snippets.js"
PROGRAMS = ("fetch", "urql", "apollo")

HOSTILE = 'it\'s "quoted" `id` ${1 + 1} $HOME $(id) \\ \\n \n\t \U0001f600 </script> %s !x'
RENAME = """# it's a `comment` with $HOME, ${1} and "quotes" \\
mutation Rename($homeId: ID!, $name: String!) {
  updateHome(homeId: $homeId, input: {name: $name, description: "a \\"b\\" \\\\ \\u0060 ` ${x} $y 'z'"}) {
      ... on Home { homeId } }
}
"""
DESCRIPTION = "a \"b\" \\ ` ` ${x} $y 'z'"
WRITTEN = "query Written($homeId: ID!) { home(homeId: $homeId) { name description } }"
READINGS = "subscription Live($ids: [ID!]!, $since: String) { readings(resourceIds: $ids, since: $since) { value } }"

PRINT_SNIPPETS = f"""
import {{ SNIPPETS }} from {json.dumps(SNIPPETS.as_uri())};
const request = JSON.parse(process.argv[1]);
console.log(JSON.stringify(Object.fromEntries(SNIPPETS.map(({{ id, make }}) => [id, make(request)]))));
"""


class Copier:
    """Writes snippets for a tenant of a served gateway, and runs them. Tests share a home of the tenant."""

    def __init__(self, node: Node, url: str, tenant: Tenant, ve_id: str) -> None:
        self.node, self.tenant, self.ve_id, self._url = node, tenant, ve_id, url
        self._made: dict[str, dict[str, str]] = {}

    async def snippets(self, text: str, operation: str, name: str, variables: Any) -> dict[str, str]:
        """Return the code of each snippet for a request of the account. Its token replaces the placeholder."""
        request = {
            "url": f"{self._url}/graphql",
            "text": text,
            "operation": operation,
            "name": name,
            "isOnly": True,
            "variables": variables,
            "credentials": {"kind": "token"},
        }
        key = json.dumps(request)
        if key not in self._made:
            arguments = ("--input-type=module", "--eval", PRINT_SNIPPETS, key)
            self._made[key] = json.loads(await self._printed(self.node.executable, *arguments))
        return {name: code.replace('"TOKEN"', json.dumps(self.token)) for name, code in self._made[key].items()}

    @property
    def token(self) -> str:
        return self.tenant.headers["account"]["token"]

    async def run(self, name: str, code: str) -> Any:
        """Run a snippet of a query or mutation and return the JSON that it prints."""
        return json.loads(await self._printed(*self.command(name, code)))

    async def first_line(self, name: str, code: str) -> Any:
        """Run a snippet of a subscription until it prints JSON."""
        command = self.command(name, code)
        environment = {"TOKEN": self.token}
        process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE, stderr=PIPE)
        async with running(process):
            assert process.stdout is not None
            async with asyncio.timeout(60):
                while line := (await process.stdout.readline()).decode():
                    if "{" in line:
                        return json.loads(line.removeprefix("data: "))
        raise AssertionError(f"{name} printed nothing")

    def command(self, name: str, code: str) -> tuple[str | Path, ...]:
        if name == "curl":
            required_program("curl")
            return "/bin/sh", "-c", f"exec {code}"
        script = self.node.folder / f"snippet-{name}.mjs"
        script.write_text(code)
        return self.node.executable, script

    async def _printed(self, *command: str | Path) -> bytes:
        environment = {"TOKEN": self.token}
        process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE, stderr=PIPE)
        printed, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return printed


@pytest.fixture(scope="module")
async def copier(tmp_path_factory: pytest.TempPathFactory, guide_node: Node) -> AsyncIterator[Copier]:
    database = tmp_path_factory.mktemp("snippets") / "test.sqlite3"
    settings = Settings(_env_file=None, database_url=f"sqlite:///{database}")
    gateway = build_gateway(settings)
    try:
        (tenant,) = await settle_all(gateway, ["one"], is_shared=True)
        async with serving(create_app(settings)) as url:
            yield Copier(guide_node, url, tenant, await tenant.add_home())
    finally:
        await gateway.database.close()


@pytest.mark.parametrize("name", ["curl", *PROGRAMS])
async def test_snippet_sends_hostile_text_unchanged(copier: Copier, name: str) -> None:
    ve_id = copier.ve_id
    before = VirtualEntityChange(name="before", description="before")
    await copier.tenant.run("update_virtual_entity", ve_id=ve_id, input=before)
    code = (await copier.snippets(RENAME, "mutation", "Rename", {"homeId": ve_id, "name": HOSTILE}))[name]
    printed = await copier.run(name, code)
    assert printed.get("data", printed)["updateHome"]["homeId"] == ve_id
    code = (await copier.snippets(WRITTEN, "query", "Written", {"homeId": ve_id}))[name]
    printed = await copier.run(name, code)
    home = printed.get("data", printed)["home"]
    assert (home["name"], home["description"]) == (HOSTILE, DESCRIPTION)


@pytest.mark.parametrize("name", ["curl", *PROGRAMS])
async def test_snippet_of_subscription_receives_payloads(copier: Copier, name: str) -> None:
    ids = [copier.tenant.ids["resource"]]
    code = (await copier.snippets(READINGS, "subscription", "Live", {"ids": ids, "since": None}))[name]
    printed = await copier.first_line(name, code)
    data = printed.get("data", printed)
    assert "readings" in data, printed


async def test_gql_module_has_the_document(copier: Copier) -> None:
    module = (await copier.snippets(RENAME, "mutation", "Rename", {}))["gql"]
    module += f"""
import {{ parse, print }} from "graphql";
console.log(JSON.stringify([print(RenameDocument), print(parse({json.dumps(RENAME)}))]));
"""
    printed, expected = await copier.run("gql", module)
    assert printed == expected
