"""The example of docs/how-to/extend-wattgate.md runs unchanged, in its own process because it adds a table."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "extend-wattgate.md"
HARNESS = """
import asyncio, sys
import httpx
from starlette.applications import Starlette
from starlette.routing import Route
from sqlmodel import SQLModel
from tests.support.scopes import EVERYTHING
from tests.support.servers import serving
from wattgate.app.server.gate.auth import Authenticator
from wattgate.db import models
from wattgate.db.connections.engine import Database
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.identity.secrets import hash_secret
from wattgate.graphql.transport.http import GraphQLEndpoint
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.operations.core.entity import build_operations
from wattgate.operations.entities import build_node_operations
from wattgate.operations.readings import live_readings
from wattgate.operations.core.runner import Runner
from wattgate.graphql.execution.schema import build_schema
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.rest_compat.routes import build_routes


async def main():
    database = Database(f"sqlite:///{sys.argv[1]}")
    async with database.engine.begin() as connection:
        await connection.run_sync(SQLModel.metadata.create_all)
    async with database.session(EVERYTHING) as session:
        session.add(models.Application(application_id="one", name="one", directory_id="d"))
        await session.flush()
        session.add(models.ApplicationCredential(username="u", secret_digest=hash_secret("s"), application_id="one"))
        await session.commit()
    operations = (*build_operations(TIPS), live_readings.readings)
    operations += build_node_operations(operations)
    runner, schema = Runner(database, MemoryBus()), build_schema(operations)
    authenticate = Authenticator(CredentialLookup(database)).authenticate
    graphql = GraphQLEndpoint(GraphQLPipeline(schema, runner), authenticate)
    app = Starlette(routes=[
        Route("/graphql", graphql, methods=["POST"]),
        *build_routes(operations, runner=runner, schema=schema, authenticate=authenticate),
    ])
    async with serving(app) as url, httpx.AsyncClient(base_url=url, auth=("u", "s")) as client:
        added = (await client.post("/tip", json=EXAMPLE)).json()
        assert EXAMPLE.items() <= added.items(), added
        query = {"query": "{ tips { tipId title saving createdAt } }"}
        listed = (await client.post("/graphql", json=query)).json()
        assert listed["data"]["tips"] == [added] == (await client.get("/tip")).json(), listed
        query = {"query": "query ($id: ID!) { node(id: $id) { ... on TipShown { tipId title saving createdAt } } }"}
        query["variables"] = {"id": encode_global_id("TipShown", added["tipId"])}
        found = (await client.post("/graphql", json=query)).json()
        assert found["data"]["node"] == added, found
        path = f"/tip/{added['tipId']}"
        changed = (await client.put(path, json={"saving": 50})).json()
        assert changed == {**added, "saving": 50} == (await client.get(path)).json(), changed
        refused = await client.post("/tip", json={"saving": "much"})
        assert refused.status_code == 400 and len(refused.json()["problems"]) == 2, refused.text
    await database.close()
    print("done")


asyncio.run(main())
"""


@pytest.mark.long("migrates and serves a copy of the package; the steps of the page are those of existing records")
def test_example_adds_a_record_type_to_graphql_and_rest(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 4
    script = tmp_path / "example.py"
    script.write_text("\n".join([*blocks, HARNESS]))
    completed = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "tips.sqlite3")],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert completed.stdout == "done\n", completed.stderr
