"""The VEX file: valid by the schema of CycloneDX, from statements that the audit reads too."""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.model.impact_analysis import ImpactAnalysisState

from supply.audit import judge
from supply.locks import DEVELOPMENT_LOCK, ROOT, read_pins
from supply.policy import read_policy
from supply.registries import Answer, Finding
from supply.statements import MAX_EXPLOITABLE, Statement, accepted_findings, read_statements
from supply.vex import build_vex
from tests.support.cyclonedx import schema_problems

UNAFFECTED = """
[[statement]]
id = "GHSA-1"
aliases = ["CVE-2026-1"]
package = "starlette"
state = "not_affected"
justification = "code_not_reachable"
detail = "The function is not called."
tests = ["tests/tools/test_vex.py::test_each_state_is_written"]
since = 2026-11-01
until = 2027-01-31
"""
OTHER_STATES = """
[[statement]]
id = "GHSA-2"
package = "@babel/code-frame"
state = "exploitable"
responses = ["workaround_available"]
detail = "Bound the request in the proxy."
since = 2026-11-01
until = 2026-12-31

[[statement]]
id = "GHSA-3"
package = "starlette"
state = "in_triage"
detail = "The effect is not known yet."
since = 2026-11-01

[[statement]]
id = "GHSA-4"
package = "starlette"
state = "resolved"
detail = "Version 0.1.1 requires the corrected release."
since = 2026-11-01
"""


@pytest.fixture
def statements(tmp_path: Path) -> list[Statement]:
    """Return statements of each state that the audit and the file tell apart."""
    path = tmp_path / "vex.toml"
    path.write_text(UNAFFECTED + OTHER_STATES.replace("@babel/code-frame", npm_name()))
    return read_statements(path)


def npm_name() -> str:
    """Return the name of a locked package of npm that has a scope."""
    lock = json.loads((ROOT / "package-lock.json").read_text())
    paths: list[str] = list(lock["packages"])
    return next(path.partition("node_modules/")[2] for path in paths if path.startswith("node_modules/@"))


def entries(statements: list[Statement], *, stamped: bool = False) -> dict[str, Any]:
    content = json.loads(build_vex(statements, stamped=stamped))
    assert schema_problems(content) == []
    return {one["id"]: one for one in content["vulnerabilities"]}


def test_file_of_the_repository_is_valid_and_always_the_same() -> None:
    content = build_vex(read_statements())
    assert schema_problems(json.loads(content)) == []
    assert build_vex(read_statements()) == content
    assert not re.search(r"serialNumber|timestamp", content)
    first, second = (json.loads(build_vex(read_statements(), stamped=True)) for _ in range(2))
    assert schema_problems(first) == []
    assert first["serialNumber"] != second["serialNumber"]
    broken = json.loads(content)
    broken["vulnerabilities"][0]["analysis"]["state"] = "harmless"
    assert schema_problems(broken) != []


def test_file_without_statements_is_valid() -> None:
    content = json.loads(build_vex([]))
    assert schema_problems(content) == []
    assert "vulnerabilities" not in content


def test_each_state_is_written(statements: list[Statement]) -> None:
    written = entries(statements)
    assert {name: one["analysis"]["state"] for name, one in written.items()} == {
        "GHSA-1": "not_affected",
        "GHSA-2": "exploitable",
        "GHSA-3": "in_triage",
        "GHSA-4": "resolved",
    }
    assert written["GHSA-1"]["analysis"]["justification"] == "code_not_reachable"
    assert written["GHSA-1"]["references"][0]["id"] == "CVE-2026-1"
    assert written["GHSA-2"]["analysis"]["response"] == ["workaround_available"]
    statuses = {
        name: {v["status"] for target in one["affects"] for v in target["versions"]} for name, one in written.items()
    }
    assert statuses == {"GHSA-1": {"unaffected"}, "GHSA-2": {"affected"}, "GHSA-3": {"unknown"}, "GHSA-4": {"affected"}}


def test_components_have_the_references_of_the_bill_of_materials(statements: list[Statement]) -> None:
    (version,) = (pin.version for pin in read_pins(DEVELOPMENT_LOCK) if pin.name == "starlette")
    written = entries(statements)
    assert [target["ref"] for target in written["GHSA-1"]["affects"]] == [f"pkg:pypi/starlette@{version}"]
    assert all(target["ref"].startswith("pkg:npm/%40") for target in written["GHSA-2"]["affects"])


def test_component_that_no_lock_file_has_is_refused(statements: list[Statement]) -> None:
    for changed, reason in (
        (replace(statements[0], package="removed-package"), "no lock file has removed-package"),
        (replace(statements[0], versions="<2"), "starlette has versions"),
        (replace(statements[0], package="python"), "python has no versions"),
    ):
        with pytest.raises(ValueError, match=reason):
            build_vex([changed])


def test_audit_accepts_what_the_statements_accept(statements: list[Statement]) -> None:
    accepted = list(accepted_findings(statements))
    found = [Finding(one.package, "1", name, "update") for one in statements for name in one.ids]
    outcome = judge([Answer("question", 9, tuple(found))], [], accepted, date(2026, 11, 30))
    assert [problem.split(": ")[1] for problem in outcome.problems] == ["GHSA-3", "GHSA-4"]
    assert any("not_affected: The function is not called." in line for line in outcome.lines)
    later = judge([Answer("question", 9, tuple(found))], [], accepted, date(2027, 1, 1))
    assert "was accepted until 2026-12-31" in later.problems[0]


def test_audit_takes_advisories_from_the_statements_only() -> None:
    assert {one.finding for one in read_policy().accepted} <= {"yanked"}
    assert {one.finding for one in accepted_findings(read_statements())} >= {"CVE-2024-7592"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('justification = "code_not_reachable"\n', ""),
        ('"code_not_reachable"', '"it seems harmless"'),
        ('"not_affected"', '"harmless"'),
        ('"not_affected"', '"in_triage"'),
        ('"not_affected"', '"resolved_with_pedigree"'),
        ("tests = ", "other = "),
        ('tests = ["tests/tools/test_vex.py::test_each_state_is_written"]\n', ""),
        ("until = 2027-01-31\n", ""),
        ("until = 2027-01-31", "until = 2026-10-31"),
        ('"The function is not called."', '" "'),
        ("until = ", 'responses = ["update"]\nuntil = '),
        ('aliases = ["CVE-2026-1"]', 'aliases = ["GHSA-1"]'),
        ('aliases = ["CVE-2026-1"]', 'aliases = "CVE-2026-1"'),
    ],
)
def test_statement_with_wrong_or_missing_members_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in UNAFFECTED
    path = tmp_path / "vex.toml"
    path.write_text(UNAFFECTED.replace(old, new))
    with pytest.raises((TypeError, ValueError), match=r"GHSA-1"):
        read_statements(path)


def test_statement_about_an_exploitable_vulnerability_ends_in_the_documented_time(tmp_path: Path) -> None:
    policy = (ROOT / "SECURITY.md").read_text()
    assert f"| other | {MAX_EXPLOITABLE.days} days |" in policy
    exploitable = (
        UNAFFECTED.replace('"not_affected"', '"exploitable"').replace("justification", "#").replace("tests", "#")
    )
    exploitable += 'responses = ["update"]\n'
    path = tmp_path / "vex.toml"
    path.write_text(exploitable.replace("2027-01-31", "2027-01-30"))
    (statement,) = read_statements(path)
    assert statement.until == statement.since + MAX_EXPLOITABLE
    path.write_text(exploitable)
    with pytest.raises(ValueError, match="more than 90 days after since"):
        read_statements(path)
    path.write_text(exploitable.replace('"exploitable"', '"false_positive"').replace("responses", "#"))
    assert read_statements(path)[0].until == date(2027, 1, 31)


def test_two_statements_about_one_advisory_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vex.toml"
    path.write_text(UNAFFECTED + UNAFFECTED.replace('"GHSA-1"', '"PYSEC-1"'))
    with pytest.raises(ValueError, match="two statements about CVE-2026-1 of starlette"):
        read_statements(path)


def test_each_statement_that_nothing_is_affected_names_tests_that_exist() -> None:
    for statement in read_statements():
        if statement.state is ImpactAnalysisState.NOT_AFFECTED:
            for test in statement.tests:
                path, _, name = test.partition("::")
                assert re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE), test


COOKIE_MODULES = {"http.cookies", "http.cookiejar", "starlette.requests.cookie_parser"}


def reads_cookies(node: ast.AST) -> bool:
    """Return whether code imports a parser of cookies, or reads the cookies of a request of Starlette."""
    if isinstance(node, ast.Import):
        return any(one.name in COOKIE_MODULES for one in node.names)
    if isinstance(node, ast.ImportFrom):
        return not COOKIE_MODULES.isdisjoint({node.module, *(f"{node.module}.{one.name}" for one in node.names)})
    return isinstance(node, ast.Attribute) and node.attr in ("cookies", "cookie_parser")


def python_sources() -> dict[str, str]:
    """Return the text of each module of the gateway by its path."""
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "wattgate").rglob("*.py"))}


def uses(is_found: Callable[[ast.AST], bool], text: str) -> bool:
    """Return whether a part of a program is what the function looks for."""
    return any(map(is_found, ast.walk(ast.parse(text))))


def test_gateway_reads_no_cookies_with_the_standard_library() -> None:
    """`request.cookies` of Starlette unquotes each value with http.cookies, so no code may use it either."""
    assert [path for path, text in python_sources().items() if uses(reads_cookies, text)] == []
    for text in (
        "import http.cookies",
        "from http import cookies",
        "from http.cookies import SimpleCookie",
        "a.cookies",
    ):
        assert uses(reads_cookies, text)


def judges_addresses(node: ast.AST) -> bool:
    """Return whether code asks ipaddress whether an address is public."""
    return isinstance(node, ast.Attribute) and node.attr in ("is_private", "is_global")


def walks_archives(node: ast.AST) -> bool:
    """Return whether code imports a name from zipfile, or uses `zipfile.Path`."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "zipfile"
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "zipfile.Path"


def test_gateway_asks_the_standard_library_about_no_address_and_walks_no_archive() -> None:
    for is_found, examples in (
        (judges_addresses, ("address.is_private", "not ip_address(text).is_global")),
        (
            walks_archives,
            ("from zipfile import Path", "zipfile.Path(a)", "zipfile.Path"),
        ),
    ):
        assert [path for path, text in python_sources().items() if uses(is_found, text)] == []
        assert [text for text in examples if not uses(is_found, text)] == []
