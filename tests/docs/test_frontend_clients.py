"""The client projects of docs/how-to/graphql-clients.md type-check and run against a gateway."""

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
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "graphql-clients.md").read_text()
FILES = {
    name: text for text, name in re.findall(r"^```\w+\n((?://|#) ([\w./-]+)\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
}
"""The files of the page by name. The first line of each file is a comment with its name."""

CLIENTS = {"Apollo Client": "show-apollo.ts", "urql": "show-urql.ts", "gql": "show.py"}
each_client = pytest.mark.parametrize("script", CLIENTS.values(), ids=CLIENTS)
NUMBERS = count()
JANUARY = ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z")
"""A day for which the tenant has readings."""


@dataclass
class Project:
    """A folder with the files of the page and the types that codegen generated from them."""

    node: Node
    folder: Path

    async def tool(self, name: str, *arguments: str) -> tuple[int | None, str]:
        """Run a program of the installed packages. Return its exit status and its output."""
        path = str(self.node.folder.parent / "node_modules" / ".bin" / name)
        process = await self.node.start(
            path, *arguments, cwd=self.folder, stdout=PIPE, stderr=asyncio.subprocess.STDOUT
        )
        printed, _ = await process.communicate()
        return process.returncode, printed.decode()

    def with_replacement(self, script: str, old: str, new: str) -> str:
        """Copy a script of the page, replace a text that occurs in it once, and return the name of the copy."""
        original = self.folder / ("src" if script.endswith(".ts") else "") / script
        assert original.read_text().count(old) == 1
        copy = original.with_stem(f"{original.stem}-{next(NUMBERS)}")
        copy.write_text(original.read_text().replace(old, new))
        return copy.name

    @asynccontextmanager
    async def run(self, script: str, url: str, *arguments: str) -> AsyncIterator[Client]:
        """Run a script of the project and yield its output."""
        all_arguments = [f"{url}/graphql", *arguments]
        if script.endswith(".py"):
            start = asyncio.create_subprocess_exec(
                sys.executable, "-u", script, *all_arguments, cwd=self.folder, stdout=PIPE, stderr=PIPE
            )
        else:
            start = self.node.start(str(self.folder / "src" / script), *all_arguments, stdout=PIPE, stderr=PIPE)
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
    async with project_in(node_scripts, "project") as assembled:
        status, printed = await assembled.tool("graphql-codegen")
        assert status == 0, printed
        yield assembled


@dataclass
class RecordedRequest:
    """The method and body of a request, and the status of its response."""

    method: str
    body: dict[str, Any]
    status: int

    @property
    def has_text(self) -> bool:
        return "query" in self.body

    def dry_run_body(self) -> dict[str, Any]:
        """Return the body of a request that returns the cost of this one."""
        return {**self.body, "extensions": {**(self.body.get("extensions") or {}), "dryRun": True}}

    @property
    def logs_in(self) -> bool:
        return "mutation" in self.body.get("query", "")


def body_from_query_string(query_string: str) -> dict[str, Any]:
    """Return the body that is equivalent to the query string of a GET request."""
    parameters = dict(httpx.QueryParams(query_string))
    return {
        name: json.loads(value) if name in ("variables", "extensions") else value for name, value in parameters.items()
    }


@dataclass
class RequestRecorder:
    """ASGI middleware that records HTTP requests."""

    app: ASGIApp
    requests: list[RecordedRequest] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = b""

        async def receive_and_collect() -> Message:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            return message

        async def record_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                request_body = json.loads(body) if body else body_from_query_string(scope["query_string"].decode())
                self.requests.append(RecordedRequest(scope["method"], request_body, message["status"]))
            await send(message)

        await self.app(scope, receive_and_collect, record_and_send)


@dataclass
class RecordedGateway:
    """A served gateway with a tenant and a recorder of its requests."""

    settings: Settings
    tenant: Tenant
    url: str
    recorder: RequestRecorder

    @property
    def credentials(self) -> tuple[str, str, str]:
        return self.tenant.application_id, self.tenant.username, PASSWORD

    async def cost(self, request: RecordedRequest) -> int:
        """Return the cost of a request."""
        headers = self.tenant.headers["account"]
        async with httpx.AsyncClient(base_url=self.url, headers=headers) as http:
            response = await http.post("/graphql", json=request.dry_run_body())
        return int(response.json()["extensions"]["cost"]["requested"])


@asynccontextmanager
async def recorded_gateway(folder: Path, **more: Any) -> AsyncIterator[RecordedGateway]:
    settings = Settings(_env_file=None, database_url=f"sqlite:///{folder / 'test.sqlite3'}", **more)
    gateway = build_gateway(settings)
    try:
        await bring_up(gateway.database)
        tenant = await settle(gateway, "one")
        recorder = RequestRecorder(create_app(settings))
        async with serving(recorder) as url:
            yield RecordedGateway(settings, tenant, url, recorder)
    finally:
        await gateway.database.close()


@pytest.fixture(scope="module")
async def shared_gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RecordedGateway]:
    """Serve a gateway without budgets."""
    async with recorded_gateway(tmp_path_factory.mktemp("shared"), caller_budget=0) as gateway:
        yield gateway


@pytest.fixture
def recorded(shared_gateway: RecordedGateway) -> RecordedGateway:
    """Return the shared gateway with an empty list of requests."""
    shared_gateway.recorder.requests.clear()
    return shared_gateway


async def test_project_has_types_and_a_manifest(project: Project) -> None:
    status, printed = await project.tool("tsc", "--project", ".")
    assert status == 0, printed
    manifest = json.loads((project.folder / "src" / "gql" / "persisted-documents.json").read_text())
    assert len(manifest) == FILES["src/operations.ts"].count("graphql(`")


async def test_codegen_reports_an_unknown_field(node_scripts: Node) -> None:
    wrong = {"src/operations.ts": FILES["src/operations.ts"].replace("veId name", "veId nickname")}
    async with project_in(node_scripts, "wrong", **wrong) as assembled:
        status, printed = await assembled.tool("graphql-codegen")
    assert status == 1
    assert "nickname" in printed


async def test_compiler_reports_a_variable_of_the_wrong_type(project: Project) -> None:
    wrong = project.folder / "src" / "wrong.ts"
    wrong.write_text(FILES["src/show-urql.ts"].replace("'Europe/London'", "7"))
    status, printed = await project.tool("tsc", "--project", ".")
    wrong.unlink()
    assert status != 0
    assert "wrong.ts" in printed


async def first_live_resource(shown: Client) -> str:
    """Return the resource of the first live reading. The position is printed before it."""
    while not (printed := await shown.next()).get("reading"):
        assert not printed.get("error"), printed
    return str(printed["reading"]["resourceId"])


@each_client
async def test_client_logs_in_again_and_shows_homes_days_and_live_readings(
    project: Project, recorded: RecordedGateway, script: str
) -> None:
    replacements = {".ts": ("word!)", "word!, 'forged')"), ".py": ("=password)", "=password, token='forged')")}
    script_with_forged_token = project.with_replacement(script, *replacements[script[-3:]])
    async with project.run(script_with_forged_token, recorded.url, *recorded.credentials, *JANUARY) as shown:
        assert (await shown.next())["resourceIds"] == [recorded.tenant.ids["resource"]]
        days = await shown.next()
        assert (days["unit"], float(days["total"])) == ("kWh", 1.875)
        assert await first_live_resource(shown) == recorded.tenant.ids["resource"]
    assert [request.status for request in recorded.recorder.requests].count(401) == 1
    assert [request.logs_in for request in recorded.recorder.requests].count(True) == 1


@each_client
@pytest.mark.parametrize(
    ("arguments", "code"), [((*JANUARY, "unknown"), "NOT_FOUND"), ((JANUARY[0], "tomorrow"), "BAD_INPUT")]
)
async def test_client_shows_errors_and_continues(
    project: Project, recorded: RecordedGateway, script: str, arguments: tuple[str, ...], code: str
) -> None:
    async with project.run(script, recorded.url, *recorded.credentials, *arguments) as shown:
        assert (await shown.next())["resourceIds"]
        error = await shown.next()
        assert [entry["code"] for entry in error["errors"]] == [code], error
        assert all(entry["retryable"] is False and entry["traceId"] for entry in error["errors"])
        assert "reading" in await shown.next()


@each_client
async def test_client_retries_after_the_delay_that_the_gateway_states(
    project: Project, recorded: RecordedGateway, script: str, tmp_path: Path
) -> None:
    async with project.run(script, recorded.url, *recorded.credentials, *JANUARY) as shown:
        await shown.next()
        await shown.next()
    answered = [request for request in recorded.recorder.requests if request.status == 200 and not request.logs_in]
    homes_cost, days_cost = [await recorded.cost(request) for request in answered]
    budget = max(homes_cost, days_cost)  # enough for each request, but not for both
    async with recorded_gateway(
        tmp_path, caller_budget=budget, caller_budget_seconds=ceil(3 * budget / days_cost)
    ) as limited:
        async with project.run(script, limited.url, *limited.credentials, *JANUARY) as shown:
            assert (await shown.next())["resourceIds"] == [limited.tenant.ids["resource"]]
            assert (await shown.next())["unit"] == "kWh"
        statuses = [request.status for request in limited.recorder.requests]
        assert statuses.count(429) == 1
        assert statuses[-1] == 200


@pytest.mark.parametrize("script", ["show-apollo.ts", "show-urql.ts"])
async def test_client_sends_digests_of_known_documents(
    project: Project, recorded: RecordedGateway, script: str
) -> None:
    for _ in range(2):
        recorded.recorder.requests.clear()
        async with project.run(script, recorded.url, *recorded.credentials, *JANUARY) as shown:
            await shown.next()
            await shown.next()
    sent = [request for request in recorded.recorder.requests if not request.logs_in]
    assert [(request.method, request.has_text, request.status) for request in sent] == [("GET", False, 200)] * 2


async def test_trusted_clients_run_with_trusted_documents_only(project: Project, tmp_path: Path) -> None:
    async with recorded_gateway(tmp_path) as recorded:
        manifest = project.folder / "src" / "gql" / "persisted-documents.json"
        replacements = {"src/gql/persisted-documents.json": str(manifest), "APPLICATION": recorded.credentials[0]}
        commands = re.findall(r"^wattgate (.+)$", PAGE, re.MULTILINE)
        assert len(commands) == 2
        for command in commands:
            words = [replacements.get(word, word) for word in command.split()]
            completed = await wattgate(recorded.settings.database_url, *words)
            assert completed.returncode == 0, completed.stderr
        for client in ("apollo", "urql"):
            trusted = project.with_replacement(f"show-{client}.ts", f"'./{client}.ts'", f"'./trusted-{client}.ts'")
            async with project.run(trusted, recorded.url, *recorded.credentials, *JANUARY) as shown:
                assert (await shown.next())["resourceIds"] == [recorded.tenant.ids["resource"]]
                assert (await shown.next())["unit"] == "kWh"
                assert await first_live_resource(shown) == recorded.tenant.ids["resource"]
        assert not [request for request in recorded.recorder.requests if request.has_text and not request.logs_in]
        async with httpx.AsyncClient(base_url=recorded.url, headers=recorded.tenant.headers["account"]) as http:
            refused = await http.post("/graphql", json={"query": "{ resources { resourceId } }"})
            assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (403, "FORBIDDEN")
            (homes,) = [digest for digest, text in json.loads(manifest.read_text()).items() if "query Homes" in text]
            response = await http.post("/graphql", json={"documentId": homes, "variables": {}})
            assert response.json()["data"]["virtualEntities"]
