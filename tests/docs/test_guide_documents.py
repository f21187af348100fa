"""The documents of the guides in the IDE equal those of the pages, are valid, and run with the caller's own values."""

import asyncio
import json
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
from graphql import build_schema, get_introspection_query, parse, validate

from tests.support import guide_documents
from tests.support.house import House
from tests.support.node import Node
from wattgate.app.demo.logins import PASSWORD, USERNAME
from wattgate.app.demo.seed import APPLICATION_ID

ROOT = Path(__file__).parents[2]
IDE = ROOT / "wattgate" / "app" / "static" / "ide"
FILL = f"""
import {{ parse }} from {json.dumps((IDE / "language" / "parser.js").as_uri())};
import {{ Schema }} from {json.dumps((IDE / "language" / "schema.js").as_uri())};
import {{ GUIDE_DOCUMENTS }} from {json.dumps((IDE / "panels" / "guide-documents.js").as_uri())};
import {{ prepareGuide }} from {json.dumps((IDE / "panels" / "guide-variables.js").as_uri())};
let input = "";
for await (const part of process.stdin) input += part;
const {{ introspected, own }} = JSON.parse(input);
const schema = new Schema(introspected);
const prepared = GUIDE_DOCUMENTS.map((guide) => ({{ ...guide, ...prepareGuide(guide.text, own, schema, Date.now()) }}));
console.log(JSON.stringify(prepared));
"""
OWN_DATA = f"""
import {{ OWN_DATA_QUERY, readOwnData }} from {json.dumps((IDE / "panels" / "own-values.js").as_uri())};
console.log(JSON.stringify(process.argv[1] ? readOwnData(JSON.parse(process.argv[1])) : OWN_DATA_QUERY));
"""
LOG_IN = """mutation LogIn($applicationId: ID!, $username: String!, $password: String!) {
  authenticate(applicationId: $applicationId, username: $username, password: $password) { ... on Login { token } }
}"""


def test_module_is_up_to_date() -> None:
    assert guide_documents.FILE.read_text() == guide_documents.javascript(), "run `make generate`"


def test_documents_of_guides_are_valid() -> None:
    schema = build_schema((ROOT / "docs" / "reference" / "schema.graphql").read_text())
    documents = guide_documents.guide_documents()
    assert {document.kind for document in documents} == {"query", "mutation", "subscription"}
    wrong = {document.name: validate(schema, parse(document.text)) for document in documents}
    assert {name: errors for name, errors in wrong.items() if errors} == {}


async def run_node(node: Node, script: str, *arguments: str, given: Any = None) -> Any:
    """Run a script of Node that prints JSON."""
    process = await asyncio.create_subprocess_exec(
        node.executable, "--input-type=module", "--eval", script, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    printed, errors = await process.communicate(json.dumps(given).encode())
    assert process.returncode == 0, errors.decode()
    return json.loads(printed)


async def test_queries_of_guides_run_with_own_values(demo_url: str, node_scripts: Node) -> None:
    async with httpx.AsyncClient(base_url=demo_url, timeout=30) as http:

        async def ask(query: str, **variables: Any) -> dict[str, Any]:
            response = await http.post("/graphql", json={"query": query, "variables": variables})
            answer: dict[str, Any] = response.json()
            return answer

        credentials = {"applicationId": APPLICATION_ID, "username": USERNAME, "password": PASSWORD}
        http.headers["token"] = (await ask(LOG_IN, **credentials))["data"]["authenticate"]["token"]
        introspected = (await ask(get_introspection_query()))["data"]["__schema"]
        own_data = (await ask(await run_node(node_scripts, OWN_DATA)))["data"]
        own = await run_node(node_scripts, OWN_DATA, json.dumps(own_data))
        assert (own["applicationId"], bool(own["userId"])) == (APPLICATION_ID, True)
        prepared = await run_node(node_scripts, FILL, given={"introspected": introspected, "own": own})
        codes = {}
        for guide in prepared:
            assert "APPLICATION" not in guide["text"].replace("APPLICATION_ID", ""), guide["name"]
            if guide["kind"] == "query" and not guide["missing"]:
                answer = await ask(guide["text"], **guide["values"])
                codes[guide["name"]] = {error["extensions"]["code"] for error in answer.get("errors", [])}
    # Users run most of them. Administrators and applications run the others, and some need a record.
    assert set().union(*codes.values()) <= {"FORBIDDEN", "NOT_FOUND"}, codes
    assert {"Week", "Bill", "Homes", "Days"} <= {name for name, errors in codes.items() if not errors}
    assert len([guide for guide in prepared if not guide["missing"]]) >= len(prepared) / 2


async def test_own_values_have_the_home_of_a_user_or_of_an_application(served: House, node_scripts: Node) -> None:
    tenant = served.one
    document = await run_node(node_scripts, OWN_DATA)
    for caller in ("account", "administrator", "application"):
        answer = await served.graphql(document, tenant.headers[caller])
        known = await run_node(node_scripts, OWN_DATA, json.dumps(answer["data"]))
        assert known["userId"], caller
        homes = {(home["homeId"], resource["resourceId"]) for home in known["homes"] for resource in home["resources"]}
        assert homes == {(tenant.ids["virtual_entity"], tenant.ids["resource"])}, caller
