"""The bill of materials: valid by the schema of CycloneDX, complete, and the same for the same lock files."""

import json
import re
from functools import cache
from typing import Any

import pytest

from supply.bom import MARKER, build_bom
from supply.locks import DEVELOPMENT_LOCK, RUN_TIME_LOCK, node_locks, read_npm_packages, read_pins
from supply.policy import read_policy
from tests.support.cyclonedx import schema_problems


@cache
def bom() -> str:
    return build_bom(read_policy())


@cache
def stamped_bom() -> str:
    return build_bom(read_policy(), stamped=True)


def components(scope: str, kind: str = "pypi") -> list[dict[str, Any]]:
    """Return the components with this scope, and this type in their package URL."""
    return [
        one
        for one in json.loads(bom())["components"]
        if one["scope"] == scope and one["purl"].startswith(f"pkg:{kind}/")
    ]


def names(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["name"], one["version"]) for one in found}


@pytest.mark.long("builds the bill of all packages; its parts stay in the short form")
@pytest.mark.parametrize("stamped", [False, True])
def test_bill_is_valid_by_the_schema_of_cyclonedx(stamped: bool) -> None:
    content = json.loads(stamped_bom() if stamped else bom())
    assert schema_problems(content) == []
    assert schema_problems(content | {"components": [{"name": "without a type"}]}) != []


@pytest.mark.long("writes the whole bill again; its check by the schema stays in the short form")
def test_same_lock_files_give_the_same_bytes() -> None:
    assert build_bom(read_policy()) == bom()
    assert not re.search(r"serialNumber|timestamp", bom())


@pytest.mark.long("writes the whole bill again; its check by the schema stays in the short form")
def test_stamped_bill_has_a_time_and_a_serial_number_of_its_own() -> None:
    first, second = json.loads(stamped_bom()), json.loads(build_bom(read_policy(), stamped=True))
    assert first["serialNumber"] != second["serialNumber"]
    assert first["metadata"]["timestamp"]
    assert first["components"] == second["components"]


def test_packages_of_run_time_extras_and_development_are_told_apart() -> None:
    run_time = {(pin.name, pin.version) for pin in read_pins(RUN_TIME_LOCK)}
    assert names(components("required")) == run_time
    assert {name for name, _ in names(components("optional"))} >= {"aiomqtt", "opentelemetry-sdk"}
    assert {name for name, _ in names(components("excluded"))} >= {"pytest", "ruff", "sphinx"}
    everything = {(pin.name, pin.version) for pin in read_pins(DEVELOPMENT_LOCK)}
    assert names(components("required") + components("optional") + components("excluded")) == everything


def test_packages_of_npm_are_for_development_only() -> None:
    assert components("required", "npm") == components("optional", "npm") == []
    locked = {one.name for lock in node_locks() for one in read_npm_packages(lock)}
    found = {"/".join(filter(None, [one.get("group"), one["name"]])) for one in components("excluded", "npm")}
    assert found == locked


@pytest.mark.long("builds the bill of all packages; its parts stay in the short form")
def test_component_has_the_hashes_of_its_lock_entry() -> None:
    hashes = {(pin.name, pin.version): set(pin.hashes) for pin in read_pins(RUN_TIME_LOCK)}
    for one in components("required"):
        (distribution,) = one["externalReferences"]
        assert {entry["content"] for entry in distribution["hashes"]} == hashes[one["name"], one["version"]]


def test_every_component_of_run_time_has_a_licence_and_conditions_are_properties() -> None:
    assert all(one["licenses"] for one in components("required"))
    marked = {one["name"] for one in components("required") if "properties" in one}
    assert marked == {pin.name for pin in read_pins(RUN_TIME_LOCK) if pin.marker}
    assert all(one["properties"][0]["name"] == MARKER for one in components("required") if one["name"] in marked)


def test_project_depends_on_its_direct_requirements() -> None:
    content = json.loads(bom())
    depends = {one["ref"]: one.get("dependsOn", []) for one in content["dependencies"]}
    direct = {ref.partition("@")[0] for ref in depends[content["metadata"]["component"]["bom-ref"]]}
    assert {"pkg:pypi/starlette", "pkg:pypi/strawberry-graphql"} <= direct
    assert "pkg:pypi/anyio" not in direct
    starlette = next(ref for ref in depends if ref.startswith("pkg:pypi/starlette@"))
    assert any(ref.startswith("pkg:pypi/anyio@") for ref in depends[starlette])
