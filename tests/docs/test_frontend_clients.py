"""The files of docs/how-to/graphql-clients.md: assembled, given generated types, and run against a gateway."""

import asyncio
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.command import wattgate
from tests.support.house import PASSWORD, Tenant, settle
from tests.support.link import Client, running
from tests.support.node import Node
from tests.support.schema import bring_up
from tests.support.servers import serving
from wattgate import errors
from wattgate.app.server.factory import assemble, create_app
from wattgate.app.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "graphql-clients.md").read_text()
FILES = {
    name: text for text, name in re.findall(r"^```\w+\n((?://|#) ([\w./-]+)\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
}
"""The files of the page, by their names, which their first lines tell."""

CLIENTS = {"Apollo Client": "show-apollo.ts", "urql": "show-urql.ts", "gql": "show.py"}
each_client = pytest.mark.parametrize("script", CLIENTS.values(), ids=CLIENTS)
NUMBERS = count()
JANUARY = ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z")
"""A day of which the tenant has readings."""


@dataclass
class Project:
    """The files of the page in a folder, with what codegen has made of them."""

    node: Node
    folder: Path

    async def tool(self, name: str, *arguments: str) -> tuple[int | None, str]:
        """Run a program of the packages; its exit status and what it printed."""
        path = str(self.node.folder.parent / "node_modules" / ".bin" / name)
        process = await self.node.start(
            path, *arguments, cwd=self.folder, stdout=PIPE, stderr=asyncio.subprocess.STDOUT
        )
        printed, _ = await process.communicate()
        return process.returncode, printed.decode()

    def changed(self, script: str, old: str, new: str) -> str:
        """The name of a script that is like one of the page, but for what stands once in it and is replaced."""
        written = self.folder / ("src" if script.endswith(".ts") else "") / script
        assert written.read_text().count(old) == 1
        other = written.with_stem(f"{written.stem}-{next(NUMBERS)}")
        other.write_text(written.read_text().replace(old, new))
        return other.name

    @asynccontextmanager
    async def shown(self, script: str, url: str, *arguments: str) -> AsyncIterator[Client]:
        """A script of the page that runs."""
        given = [f"{url}/graphql", *arguments]
        if script.endswith(".py"):
            start = asyncio.create_subprocess_exec(
                sys.executable, "-u", script, *given, cwd=self.folder, stdout=PIPE, stderr=PIPE
            )
        else:
            start = self.node.start(str(self.folder / "src" / script), *given, stdout=PIPE, stderr=PIPE)
        async with running(await start) as client:
            yield client


@asynccontextmanager
async def project_in(node: Node, name: str, **changed: str) -> AsyncIterator[Project]:
    folder = node.folder / name
    for path, text in (FILES | changed).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    shutil.copy(DOCS / "reference" / "schema.graphql", folder)
    yield Project(node, folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
async def project(node_scripts: Node) -> AsyncIterator[Project]:
    async with project_in(node_scripts, "project") as made:
        status, printed = await made.tool("graphql-codegen")
        assert status == 0, printed
        yield made


@dataclass
class Asked:
    """A request and the status of its answer."""

    method: str
    body: dict[str, Any]
    status: int

    @property
    def text(self) -> bool:
        return "query" in self.body

    def dry(self) -> dict[str, Any]:
        """The body of a request that asks what this one costs."""
        return {**self.body, "extensions": {**(self.body.get("extensions") or {}), "dryRun": True}}

    @property
    def logs_in(self) -> bool:
        return "mutation" in self.body.get("query", "")


def from_address(address: str) -> dict[str, Any]:
    """The body that a request by GET stands for."""
    given = dict(httpx.QueryParams(address))
    return {name: json.loads(one) if name in ("variables", "extensions") else one for name, one in given.items()}


@dataclass
class Noted:
    """An ASGI application that notes what it is asked."""

    app: ASGIApp
    asked: list[Asked] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = b""

        async def heard() -> Message:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = json.loads(body) if body else from_address(scope["query_string"].decode())
                self.asked.append(Asked(scope["method"], given, message["status"]))
            await send(message)

        await self.app(scope, heard, told)


@dataclass
class Place:
    """A gateway with a tenant, whose requests are noted."""

    settings: Settings
    tenant: Tenant
    url: str
    noted: Noted

    @property
    def credentials(self) -> tuple[str, str, str]:
        return self.tenant.application_id, self.tenant.username, PASSWORD

    async def cost(self, asked: Asked) -> int:
        """What it costs to ask that."""
        headers = self.tenant.headers["account"]
        async with httpx.AsyncClient(base_url=self.url, headers=headers) as http:
            told = await http.post("/graphql", json=asked.dry())
        return int(told.json()["extensions"]["cost"]["requested"])


@asynccontextmanager
async def place(folder: Path, **more: Any) -> AsyncIterator[Place]:
    settings = Settings(_env_file=None, database_url=f"sqlite:///{folder / 'test.sqlite3'}", **more)
    gateway = assemble(settings)
    try:
        await bring_up(gateway.database)
        tenant = await settle(gateway, "one")
        noted = Noted(create_app(settings))
        async with serving(noted) as url:
            yield Place(settings, tenant, url, noted)
    finally:
        await gateway.database.close()


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """A gateway whose callers have no budgets."""
    async with place(tmp_path_factory.mktemp("shared"), caller_budget=0) as made:
        yield made


@pytest.fixture
def here(shared: Place) -> Place:
    """The same, of which nothing was asked yet."""
    shared.noted.asked.clear()
    return shared


def test_the_codes_of_errors_are_told_each_with_its_status() -> None:
    told = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \| (yes|no) \|", PAGE, re.MULTILINE)
    known = {
        (one.code, str(one.status), "yes" if one.retryable else "no") for one in errors.GatewayError.__subclasses__()
    }
    assert set(told) == known
    assert len(told) == len(known)


async def test_the_project_has_types_and_a_manifest(project: Project) -> None:
    status, printed = await project.tool("tsc", "--project", ".")
    assert status == 0, printed
    manifest = json.loads((project.folder / "src" / "gql" / "persisted-documents.json").read_text())
    assert len(manifest) == FILES["src/operations.ts"].count("graphql(`")


async def test_a_field_that_there_is_not_is_told_by_codegen(node_scripts: Node) -> None:
    wrong = {"src/operations.ts": FILES["src/operations.ts"].replace("veId name", "veId nickname")}
    async with project_in(node_scripts, "wrong", **wrong) as made:
        status, printed = await made.tool("graphql-codegen")
    assert status == 1
    assert "nickname" in printed


async def test_a_variable_of_another_type_is_told_by_the_compiler(project: Project) -> None:
    wrong = project.folder / "src" / "wrong.ts"
    wrong.write_text(FILES["src/show-urql.ts"].replace("'Europe/London'", "7"))
    status, printed = await project.tool("tsc", "--project", ".")
    wrong.unlink()
    assert status != 0
    assert "wrong.ts" in printed


async def until_live(shown: Client) -> str:
    """The resource of the first live reading; the position comes before it."""
    while not (told := await shown.next()).get("reading"):
        assert not told.get("error"), told
    return str(told["reading"]["resourceId"])


@each_client
async def test_a_client_logs_in_again_and_shows_homes_days_and_what_is_live(
    project: Project, here: Place, script: str
) -> None:
    ends = {".ts": ("word!)", "word!, 'forged')"), ".py": ("=password)", "=password, token='forged')")}
    begun_before = project.changed(script, *ends[script[-3:]])
    async with project.shown(begun_before, here.url, *here.credentials, *JANUARY) as shown:
        assert (await shown.next())["resourceIds"] == [here.tenant.ids["resource"]]
        days = await shown.next()
        assert (days["unit"], float(days["total"])) == ("kWh", 1.875)
        assert await until_live(shown) == here.tenant.ids["resource"]
    assert [one.status for one in here.noted.asked].count(401) == 1
    assert [one.logs_in for one in here.noted.asked].count(True) == 1


@each_client
@pytest.mark.parametrize(
    ("arguments", "code"), [((*JANUARY, "unknown"), "NOT_FOUND"), ((JANUARY[0], "tomorrow"), "BAD_INPUT")]
)
async def test_a_client_shows_what_is_wrong_and_goes_on(
    project: Project, here: Place, script: str, arguments: tuple[str, ...], code: str
) -> None:
    async with project.shown(script, here.url, *here.credentials, *arguments) as shown:
        assert (await shown.next())["resourceIds"]
        error = await shown.next()
        assert [one["code"] for one in error["told"]] == [code], error
        assert all(one["retryable"] is False and one["traceId"] for one in error["told"])
        assert "reading" in await shown.next()


@each_client
async def test_a_client_asks_again_when_the_gateway_says_that_it_is_of_use(
    project: Project, here: Place, script: str, tmp_path: Path
) -> None:
    async with project.shown(script, here.url, *here.credentials, *JANUARY) as shown:
        await shown.next()
        await shown.next()
    answered = [one for one in here.noted.asked if one.status == 200 and not one.logs_in]
    homes, days = [await here.cost(one) for one in answered]
    budget = max(homes, days)  # enough for either, but not for one after the other
    async with place(tmp_path, caller_budget=budget, budget_seconds=ceil(3 * budget / days)) as poor:
        async with project.shown(script, poor.url, *poor.credentials, *JANUARY) as shown:
            assert (await shown.next())["resourceIds"] == [poor.tenant.ids["resource"]]
            assert (await shown.next())["unit"] == "kWh"
        statuses = [one.status for one in poor.noted.asked]
        assert statuses.count(429) == 1
        assert statuses[-1] == 200


@pytest.mark.parametrize("script", ["show-apollo.ts", "show-urql.ts"])
async def test_digests_are_sent_in_place_of_texts_that_are_known(project: Project, here: Place, script: str) -> None:
    for _ in range(2):
        here.noted.asked.clear()
        async with project.shown(script, here.url, *here.credentials, *JANUARY) as shown:
            await shown.next()
            await shown.next()
    assert [(one.method, one.text, one.status) for one in here.noted.asked if not one.logs_in] == [
        ("GET", False, 200)
    ] * 2


async def test_an_application_that_takes_registered_documents_alone_is_served(project: Project, tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        manifest = project.folder / "src" / "gql" / "persisted-documents.json"
        filled = {"src/gql/persisted-documents.json": str(manifest), "APPLICATION": here.credentials[0]}
        for command in re.findall(r"^python -m wattgate (.+)$", PAGE, re.MULTILINE):
            words = [filled.get(word, word) for word in command.split()]
            done = await wattgate(here.settings.database_url, *words)
            assert done.returncode == 0, done.stderr
        for client in ("apollo", "urql"):
            trusted = project.changed(f"show-{client}.ts", f"'./{client}.ts'", f"'./trusted-{client}.ts'")
            async with project.shown(trusted, here.url, *here.credentials, *JANUARY) as shown:
                assert (await shown.next())["resourceIds"] == [here.tenant.ids["resource"]]
                assert (await shown.next())["unit"] == "kWh"
                assert await until_live(shown) == here.tenant.ids["resource"]
        assert not [one for one in here.noted.asked if one.text and not one.logs_in]
        async with httpx.AsyncClient(base_url=here.url, headers=here.tenant.headers["account"]) as http:
            refused = await http.post("/graphql", json={"query": "{ resources { resourceId } }"})
            assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (403, "FORBIDDEN")
            (homes,) = [one for one, text in json.loads(manifest.read_text()).items() if "query Homes" in text]
            told = await http.post("/graphql", json={"documentId": homes, "variables": {}})
            assert told.json()["data"]["virtualEntities"]
