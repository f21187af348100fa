"""The client projects of docs/how-to: they type-check, run against a gateway, and cache."""

import json
import re
from collections.abc import AsyncIterator
from math import ceil
from pathlib import Path
from typing import Any

import httpx
import pytest
from strawberry import ID

from tests.support.client_project import FILES, PAGES, Project, RecordedGateway, project_in, recorded_gateway
from tests.support.command import wattgate
from tests.support.link import Client
from tests.support.node import GUIDE, Node
from wattgate.enums import Channel
from wattgate.graphql.execution.documents.document_limits import DocumentLimits, parse_cost
from wattgate.operations.types.homes.virtual_entities import VirtualEntityChange
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT

CLIENTS = {"Apollo Client": "show-apollo.ts", "urql": "show-urql.ts", "gql": "show.py"}
each_client = pytest.mark.parametrize("script", CLIENTS.values(), ids=CLIENTS)
BUNDLE = ("--format=esm", "--packages=external", "--outdir=built", "--out-extension:.js=.mjs", "--log-level=warning")
JANUARY = ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z")
"""A day for which the tenant has readings."""


@pytest.fixture(scope="module")
async def project(guide_node: Node) -> AsyncIterator[Project]:
    async with project_in(guide_node, "project") as assembled:
        for tool, *arguments in (
            ("graphql-codegen",),
            ("relay-compiler",),
            (
                "esbuild",
                "src/check-relay.ts",
                "src/check-react.tsx",
                "src/relay/show.ts",
                "--bundle",
                "--platform=node",
                *BUNDLE,
            ),
            ("esbuild", "src/main.tsx", "--bundle", "--format=esm", "--outdir=public"),
        ):
            status, printed = await assembled.tool(tool, *arguments)
            assert status == 0, printed
        yield assembled


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
    assert len(manifest) == len(
        re.findall(r"graphql\(`\s*(?:query|mutation|subscription) ", FILES["src/operations.ts"])
    )


@pytest.mark.long("builds a project again; known documents stay in the short form")
async def test_codegen_reports_an_unknown_field(guide_node: Node) -> None:
    wrong = {"src/operations.ts": FILES["src/operations.ts"].replace("homeId name", "homeId nickname")}
    async with project_in(guide_node, "wrong", **wrong) as assembled:
        status, printed = await assembled.tool("graphql-codegen")
    assert status == 1
    assert "nickname" in printed


@pytest.mark.long("builds a project again; known documents stay in the short form")
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


@pytest.mark.long("a project of its own with a browser's client; digests and the cache stay in the short form")
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


@pytest.mark.long("waits for the delay that the gateway states; the clients' other calls stay in the short form")
@each_client
async def test_client_retries_after_the_delay_that_the_gateway_states(
    project: Project, script: str, tmp_path: Path
) -> None:
    for name in ("unlimited", "limited"):
        (tmp_path / name).mkdir()
    async with recorded_gateway(tmp_path / "unlimited") as recorded:  # it knows no document yet
        async with project.run(script, recorded.url, *recorded.credentials, *JANUARY) as shown:
            await shown.next()
            await shown.next()
        requests = [request for request in recorded.recorder.requests if not request.logs_in]
        homes_cost, days_cost = [await recorded.cost(request) for request in requests if request.status == 200]
    texts = {request.body["query"] for request in requests if request.has_text}
    parsing = sum(parse_cost(text, DocumentLimits()) for text in texts)
    looking_up = STATEMENT_WEIGHT * [request.status for request in requests].count(400)  # of unknown digests
    # enough to look up and parse both documents, and to run one of them
    budget = homes_cost + parsing + looking_up + days_cost // 2
    async with recorded_gateway(
        tmp_path / "limited", caller_budget=budget, caller_budget_seconds=ceil(3 * budget / days_cost)
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


@pytest.mark.long("builds the three projects again; known documents stay in the short form")
async def test_trusted_clients_run_with_trusted_documents_only(project: Project, tmp_path: Path) -> None:
    async with recorded_gateway(tmp_path) as recorded:
        manifest = project.folder / "src" / "gql" / "persisted-documents.json"
        replacements = {"src/gql/persisted-documents.json": str(manifest), "APPLICATION": recorded.credentials[0]}
        commands = re.findall(r"^wattgate (documents .+)$", PAGES[0], re.MULTILINE)
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
            refused = await http.post(
                "/graphql", json={"query": "{ viewer { resources { edges { node { resourceId } } } } }"}
            )
            assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (403, "FORBIDDEN")
            (homes,) = [digest for digest, text in json.loads(manifest.read_text()).items() if "query Homes" in text]
            response = await http.post("/graphql", json={"documentId": homes, "variables": {}})
            assert response.json()["data"]["viewer"]["homes"]["edges"]


CHECKS = {
    "Apollo Client": ("check-apollo.ts", "2.5"),
    "urql": ("check-urql.ts", "3.5"),
    "Relay": ("built/check-relay.mjs", "4.5"),
}
"""Scripts that print steps with their numbers of requests, and the value of the reading that each records."""


async def steps_of(project: Project, script: str, recorded: RecordedGateway, value: str) -> dict[str, dict[str, Any]]:
    """Run a check to its end and return its steps by name. It records a reading of this value."""
    resource_id = recorded.tenant.ids["resource"]
    async with project.run(script, recorded.url, *recorded.credentials, resource_id, value) as check:
        steps = {}
        while (step := await check.next())["step"] != "end":
            steps[step["step"]] = step
        return steps


async def restore_name_of_home(recorded: RecordedGateway) -> None:
    name = VirtualEntityChange(name="Home")
    await recorded.tenant.run("update_virtual_entity", ve_id=recorded.tenant.ids["virtual_entity"], input=name)


@pytest.mark.parametrize(("script", "value"), CHECKS.values(), ids=CHECKS)
async def test_cache_answers_again_and_shows_changes(
    project: Project, recorded: RecordedGateway, script: str, value: str
) -> None:
    """A second read makes no request. The results of mutations and subscriptions come into the first query."""
    await restore_name_of_home(recorded)
    if len(await recorded.tenant.run("user_alerts")) == 1:
        alert = NewAlert(user_id=ID(recorded.tenant.user_id), alert_type_id="CM01", channels=[Channel.INBOX])
        await recorded.tenant.run("send_alert", input=alert)
    steps = await steps_of(project, script, recorded, value)
    assert steps["list"]["requests"] in (1, 2)  # the first client sends the text after the digest
    assert [steps[name]["found"] for name in ("list", "list again", "record of the list")] == [
        ["Home"],
        ["Home"],
        "Home",
    ]
    assert steps["list after a mutation"]["found"] == ["Cottage"]
    live = steps["list after a live reading"]["found"]
    assert (live["value"], live["unit"]) == (float(value), "kWh")
    assert [steps[name]["found"] for name in ("first page", "second page", "pages again")] == [1, 2, 2]
    unchanged = {"list again", "record of the list", "list after a live reading", "pages again"}
    assert {name for name, step in steps.items() if step["requests"] == 0} >= unchanged
    sent = [request for request in recorded.recorder.requests if request.status == 200 and not request.logs_in]
    others = steps.keys() & {"another field of the viewer"}  # which leaves the list in the cache
    assert len(sent) == 3 + len(others)  # the list and two pages; mutations and log-ins are counted as `logs_in`
    if others:
        beside = steps["list beside another field"]
        assert (beside["requests"], beside["found"]) == (0, ["Home"])


async def test_relay_shows_homes_and_live_readings(project: Project, recorded: RecordedGateway) -> None:
    async with project.run("built/relay/show.mjs", recorded.url, *recorded.credentials) as shown:
        assert (await shown.next())["resourceIds"] == [recorded.tenant.ids["resource"]]
        assert await first_live_resource(shown) == recorded.tenant.ids["resource"]


async def test_react_app_renders_and_shows_a_mutation_without_another_query(
    project: Project, recorded: RecordedGateway
) -> None:
    await restore_name_of_home(recorded)
    steps = await steps_of(project, "built/check-react.mjs", recorded, "0")
    assert 'name="password"' in steps["form"]["found"]
    assert "<h2>Home</h2>" in steps["homes"]["found"]
    assert "electricity.consumption" in steps["homes"]["found"]
    assert (steps["homes again"]["requests"], steps["homes again"]["found"]) == (0, steps["homes"]["found"])
    assert "<h2>Cottage</h2>" in steps["homes after a mutation"]["found"]
    assert (project.folder / "public" / "main.js").stat().st_size > 100_000


async def test_relay_compiler_refuses_a_field_that_the_schema_does_not_have(guide_node: Node) -> None:
    documents = FILES["src/relay/documents.ts"]
    wrong = {"src/relay/documents.ts": documents.replace("systemAlertTypeId", "systemAlertType")}
    assert wrong["src/relay/documents.ts"] != documents
    async with project_in(guide_node, "wrong-relay", **wrong) as assembled:
        status, printed = await assembled.tool("relay-compiler")
    assert status != 0
    assert "systemAlertType" in printed


def test_install_lines_name_the_locked_packages() -> None:
    manifest = json.loads((GUIDE / "package.json").read_text())
    installed = re.findall(r"^npm install (?:--save-dev )?([^#\n]+)", "\n".join(PAGES), re.MULTILINE)
    named = [package for line in installed for package in line.split()]
    assert {
        name.rpartition("@")[0] or name if name.count("@") > name.startswith("@") else name for name in named
    } == set(manifest["dependencies"])
    for package in named:
        name, _, version = package.rpartition("@")
        if name:
            assert manifest["dependencies"][name].startswith(f"{version}."), package
    assert "Node 22.18 or later" in PAGES[0]
    assert manifest["engines"]["node"] == ">=22.18"
