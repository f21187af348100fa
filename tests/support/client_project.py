"""The client projects of docs/how-to: assemble the files of the pages, and run them against a recorded gateway."""

import asyncio
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.house import PASSWORD, Tenant, settle_all
from tests.support.link import Client, running
from tests.support.node import GUIDE, Node
from tests.support.servers import serving
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    (DOCS / "how-to" / f"{name}.md").read_text()
    for name in ("typescript-client", "react-and-relay", "apollo-client", "urql", "python-client")
]
FILES = {
    name: text
    for page in PAGES
    for text, name in re.findall(
        r"^```\w+\n((?://|#|<!--) ([\w./-]+)(?: -->)?\n.*?)^```", page, re.MULTILINE | re.DOTALL
    )
}
"""The files of the pages by name. The first line of each file is a comment with its name."""

(RELAY_CONFIGURATION,) = re.findall(r"^```json\n(\{\n  \"src\".*?)^```", PAGES[1], re.MULTILINE | re.DOTALL)
FILES["relay.config.json"] = RELAY_CONFIGURATION  # JSON has no comments

NUMBERS = count()


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
            folder = self.folder if "/" in script else self.folder / "src"
            start = self.node.start(str(folder / script), *all_arguments, stdout=PIPE, stderr=PIPE)
        async with running(await start) as client:
            yield client


@asynccontextmanager
async def project_in(node: Node, name: str, **changed: str) -> AsyncIterator[Project]:
    folder = node.folder / name
    for path, text in (FILES | changed).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    shutil.copy(DOCS / "reference" / "schema.graphql", folder)
    for check in GUIDE.glob("check*"):
        shutil.copy(check, folder / "src")
    yield Project(node, folder)
    shutil.rmtree(folder)


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
        return int(response.json()["extensions"]["cost"]["estimated"])


@asynccontextmanager
async def recorded_gateway(folder: Path, **more: Any) -> AsyncIterator[RecordedGateway]:
    settings = Settings(_env_file=None, database_url=f"sqlite:///{folder / 'test.sqlite3'}", **more)
    gateway = build_gateway(settings)
    try:
        (tenant,) = await settle_all(gateway, ["one"], is_shared=True)
        recorder = RequestRecorder(create_app(settings))
        async with serving(recorder) as url:
            yield RecordedGateway(settings, tenant, url, recorder)
    finally:
        await gateway.database.close()
