"""The command, the file and the GraphQL documents of docs/how-to/set-up-homes.md work unchanged."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import command_in
from tests.support.house import House
from tests.support.markdown import code_blocks
from wattgate.operations.catalogue import OPERATIONS

pytestmark = pytest.mark.both_databases("a main path of its area")

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "set-up-homes.md").read_text()
FOR_THE_USER = "### Add resources, tariff and home for the user"
USERNAME, PASSWORD, MPAN = "ada@example.org", "correct horse", "2300000000116"

LISTS = {
    "viewer { homes }": "homes",
    "viewer { resources }": "resources",
    "application { resourceTypes }": "resourceTypes",
    "application { homeTypes }": "homeTypes",
    "findUser": "userByUsername",
}
"""The operations whose REST paths serve the lists of a user and of an application."""


def test_command_and_file_of_tariffs_set_up_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = command_in(tmp_path, monkeypatch, capsys)
    line, lines_of_table = code_blocks(PAGE, "sh")
    program, *words = (word for word in shlex.split(line) if word.strip())
    assert program == "wattgate"
    created = command(*words)
    assert (created.status, created.error) == (0, "")
    again = command(*words)
    assert "Nothing was changed." in again.out
    (tmp_path / "tariffs.jsonl").write_text("".join(code_blocks(PAGE, "json")))
    rest = [word for word in words if word not in ("--unit-rate", "0.245", "--standing-charge", "0.538")]
    with_file = command(*rest, "--gas", "9000000011", "--tariff", "tariffs.jsonl", "--json")
    assert with_file.status == 0, with_file.error
    set_tariffs = [record["name"] for record in json.loads(with_file.out)["records"] if record["kind"] == "tariff"]
    assert set_tariffs == [
        "Fixed of electricity.consumption from 2025-01-01",
        "Spot of electricity.consumption from 2026-01-01",
        "Steps of electricity.consumption from 2026-02-01",
        "Agile of electricity.consumption from 2026-04-01",
        "Seasons of electricity.consumption from 2026-03-01",
        "Gas of gas.consumption from 2025-01-01",
    ]
    (table,) = code_blocks(PAGE, "csv")
    (tmp_path / "homes.csv").write_text(table)
    tried, stored = (command(*shlex.split(one)[1:]) for one in lines_of_table.strip().splitlines())
    assert (tried.status, stored.status) == (0, 0), (tried, stored)
    assert (tmp_path / "passwords.csv").exists()


async def test_documents_set_up_a_home_that_its_user_sees(served: House) -> None:
    before, after = PAGE.split(FOR_THE_USER)
    application = served.other.headers["application"]
    values: dict[str, Any] = {"username": USERNAME, "password": PASSWORD, "mpan": MPAN}

    async def run(document: str, headers: dict[str, str]) -> dict[str, Any]:
        names = re.findall(r"\$(\w+): \w+!", document)
        return await served.graphql(document, headers, **{name: values[name] for name in names})

    types, add_types, find_user, add_user = code_blocks(before, "graphql")
    assert "errors" not in await run(types, application)
    added = (await run(add_types, application))["data"]
    values |= {
        "energyTypeId": added["energy"]["resourceTypeId"],
        "costTypeId": added["cost"]["resourceTypeId"],
        "homeTypeId": added["home"]["homeTypeId"],
    }
    unknown = await run(find_user, application)
    assert unknown["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    user_id = (await run(add_user, application))["data"]["createUser"]["userId"]
    assert (await run(find_user, application))["data"]["findUser"]["userId"] == user_id

    acting = {**application, "userId": user_id}
    owned, add_resources, set_tariff, add_home = code_blocks(after, "graphql")
    assert (await run(owned, acting))["data"]["viewer"] == {"homes": {"edges": []}, "resources": {"edges": []}}
    resources = (await run(add_resources, acting))["data"]
    assert resources["cost"]["costOf"] == resources["energy"]["resourceId"]
    values |= {"resourceId": resources["energy"]["resourceId"]}
    values |= {"energyId": resources["energy"]["resourceId"], "costId": resources["cost"]["resourceId"]}
    assert (await run(set_tariff, acting))["data"]["setTariff"]["tariffId"]
    home = (await run(add_home, acting))["data"]["createHome"]

    credentials = {"username": USERNAME, "password": PASSWORD}
    login = await served.call("POST", "/auth", {"applicationId": served.other.application_id}, json=credentials)
    seen = await run(owned, {"token": login.json()["token"]})
    viewer = seen["data"]["viewer"]
    (edge,) = viewer["homes"]["edges"]
    shown = edge["node"]
    assert (shown["homeId"], shown["name"], shown["timeZone"]) == (home["homeId"], "My home", "Europe/London")
    assert {resource["node"]["meterPointNumber"] for resource in viewer["resources"]["edges"]} == {MPAN}


def test_table_names_operations_and_routes_that_exist() -> None:
    rows = re.findall(r"^\| [a-z ]+ \| (`.*`) \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 6
    names = {operation.graphql_name: {rest.route_key for rest in operation.rest} for operation in OPERATIONS}
    for fields, routes in rows:
        operations = [LISTS.get(name, name) for name in re.findall(r"`([^`]+)`", fields)]
        assert set(operations) <= set(names)
        if path := re.search(r"(/\w+)", routes):
            served = set().union(*(names[name] for name in operations))
            assert {f"GET {path[1]}", f"POST {path[1]}"} <= served, routes
