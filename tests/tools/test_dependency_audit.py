"""The audit of locked packages: questions to registries through their real clients, accepted findings, licences."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from supply.audit import judge
from supply.interpreter import check_interpreter
from supply.licences import installed_licence, is_allowed, licence_problems, run_time_names
from supply.locks import DEPLOYMENT_LOCK, DEVELOPMENT_LOCK, RUN_TIME_LOCK, Pin, node_locks, read_npm_packages, read_pins
from supply.policy import Accepted, LicenceRule, Policy, read_policy
from supply.registries import Answer, Finding, ask_npm, ask_vulnerable, ask_yanked, find_vulnerable
from tests.support.registries import Registry, serve_registry

SOUND = Pin("soundpackage", "1.0", "", ("0" * 64,))
POOR = Pin("poorpackage", "2.0", "", ("0" * 64,))
ELSEWHERE = Pin("elsewhere", "3.0", 'python_version < "3"', ("0" * 64,))
PINS = [SOUND, POOR, ELSEWHERE]
TODAY = date(2026, 11, 22)
NO_POLICY = Policy(frozenset({"MIT"}), {}, {})


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Yield a registry that knows the probes, and a finding of each kind. The clients ask it."""
    known = Registry(
        releases=[("attrs", "21.1.0"), ("soundpackage", "1.0"), ("poorpackage", "2.0")],
        yanked={("attrs", "21.1.0"): "It cannot be imported.", ("poorpackage", "2.0"): "It loses data."},
        vulnerable={
            ("jinja2", "2.10"): "PYSEC-1",
            ("lodash", "4.17.10"): "GHSA-0",
            ("poorpackage", "2.0"): "PYSEC-2",
            ("poor", "1.0.0"): "GHSA-1",
        },
    )
    with serve_registry(known):
        for name, value in known.environment().items():
            monkeypatch.setenv(name, value)
        yield known


@pytest.fixture
def npm_lock(tmp_path: Path) -> Path:
    """Write a lock file of npm with a sound and a vulnerable package, and return its path."""
    dependencies = {"sound": "1.0.0", "poor": "1.0.0"}
    manifest = {"name": "example", "version": "1.0.0", "dependencies": dependencies}
    packages = {f"node_modules/{name}": {"version": "1.0.0", "integrity": "sha512-AAAA"} for name in dependencies}
    lock = {**manifest, "lockfileVersion": 3, "packages": {"": manifest, **packages}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    path = tmp_path / "package-lock.json"
    path.write_text(json.dumps(lock))
    return path


@pytest.mark.long("an audit of its own; a vulnerable release stays in the short form")
def test_yanked_release_is_found(registry: Registry) -> None:
    answer = ask_yanked(PINS)
    assert answer.findings == (Finding("poorpackage", "2.0", "yanked", "It loses data."),)
    check_asked(answer)


def test_vulnerable_release_is_found(registry: Registry) -> None:
    answer = ask_vulnerable(PINS)
    assert answer.findings == (Finding("poorpackage", "2.0", "PYSEC-2", "update to 99.0"),)
    check_asked(answer)


def check_asked(answer: Answer) -> None:
    """Check that the pin of another system is reported as not asked, and that the others are requested."""
    assert answer.asked == 2
    (reason,) = answer.not_asked
    assert "elsewhere 3.0" in reason


@pytest.mark.long("an audit of its own; a vulnerable release stays in the short form")
def test_vulnerable_package_of_npm_is_found(registry: Registry, npm_lock: Path) -> None:
    answer = ask_npm(npm_lock)
    assert [(one.package, one.id, one.text) for one in answer.findings] == [("poor", "GHSA-1", "It is unsafe")]
    assert answer.asked == 2


@pytest.mark.long("installs from a registry of its own; found and yanked releases stay in the short form")
def test_registry_that_does_not_know_the_probe_is_not_trusted(registry: Registry, npm_lock: Path) -> None:
    registry.yanked.clear()
    registry.vulnerable.clear()
    for answer in (ask_yanked(PINS), ask_vulnerable(PINS), ask_npm(npm_lock)):
        assert (answer.asked, answer.findings) == (0, ())
        assert len(answer.not_asked) == 1


@pytest.mark.long("installs from a registry of its own; found and yanked releases stay in the short form")
def test_unreachable_registry_is_reported_as_not_asked(
    registry: Registry, npm_lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in replace(registry, url="http://127.0.0.1:9").environment().items():
        monkeypatch.setenv(name, value)
    for answer in (ask_yanked(PINS), ask_vulnerable(PINS), ask_npm(npm_lock)):
        assert (answer.asked, answer.findings) == (0, ())
        assert "failed" in answer.not_asked[0]


FINDING = Finding("poorpackage", "2.0", "PYSEC-2", "update to 99.0")


def test_finding_is_a_problem_unless_it_is_accepted_until_a_later_day() -> None:
    answers = [Answer("question", 2, (FINDING,))]
    accepted = Accepted("poorpackage", "PYSEC-2", "The function is not used.", TODAY)
    assert judge(answers, [], [], TODAY).problems == [str(FINDING)]
    outcome = judge(answers, [], [accepted], TODAY)
    assert outcome.problems == []
    assert outcome.lines[-1].endswith("(accepted until 2026-11-22: The function is not used.)")
    expired = replace(accepted, until=date(2026, 11, 21))
    (problem,) = judge(answers, [], [expired], TODAY).problems
    assert "was accepted until 2026-11-21" in problem
    other = replace(accepted, finding="PYSEC-3")
    assert judge(answers, [], [other], TODAY).problems == [str(FINDING)]
    same_id_of_another_package = replace(accepted, package="soundpackage")
    assert judge(answers, [], [same_id_of_another_package], TODAY).problems == [str(FINDING)]


def test_finding_has_all_names_that_the_service_reports() -> None:
    vulnerability = {"id": "PYSEC-2", "fix_versions": [], "aliases": ["GHSA-2", "CVE-2026-1"]}
    report = {"dependencies": [{"name": "poorpackage", "version": "2.0", "vulns": [vulnerability]}]}
    (finding,) = find_vulnerable(report)
    assert (finding.id, finding.aliases) == ("PYSEC-2", ("CVE-2026-1", "GHSA-2"))


def test_finding_is_accepted_by_any_name_of_its_advisory() -> None:
    finding = replace(FINDING, aliases=("CVE-2026-1", "GHSA-2"))
    accepted = Accepted("poorpackage", "GHSA-2", "The function is not used.", TODAY)
    assert judge([Answer("question", 2, (finding,))], [], [accepted], TODAY).problems == []
    expired = Accepted("poorpackage", "CVE-2026-1", "It was not used.", date(2026, 11, 1))
    assert judge([Answer("question", 2, (finding,))], [], [expired, accepted], TODAY).problems == []
    assert judge([Answer("question", 2, (finding,))], [], [expired], TODAY).problems != []


def test_unanswered_question_is_printed_and_counted() -> None:
    answers = [Answer("one", 2), Answer("two", 0, (), ("the service is down",)), Answer("three", 2, (), ("some",))]
    outcome = judge(answers, [], [], TODAY)
    assert outcome.problems == []
    assert outcome.unanswered == 1
    assert "two: NOT ASKED: the service is down" in outcome.lines


@pytest.mark.parametrize(
    "text",
    [
        "[licences]\nallowed = []\nother = 1",
        '[licences]\nallowed = []\n[[yanked]]\npackage = "a"\nreason = ""\nuntil = 2027-01-01',
        '[licences]\nallowed = []\n[[yanked]]\npackage = "a"\nreason = "c"',
        '[licences]\nallowed = []\n[[yanked]]\npackage = "a"\nfinding = "CVE-1"\nreason = "c"\nuntil = 2027-01-01',
    ],
)
def test_policy_with_unknown_or_missing_members_is_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises((TypeError, ValueError)):
        read_policy(path)


def test_every_package_of_run_time_has_an_allowed_licence() -> None:
    names = run_time_names()
    assert names >= {"starlette", "aiomqtt", "opentelemetry-sdk"}
    assert list(licence_problems(names, read_policy())) == []


def test_policy_has_no_entry_that_nothing_needs() -> None:
    policy = read_policy()
    used = run_time_names()
    assert {*policy.stated, *policy.exceptions} <= used
    without = replace(policy, stated={}, exceptions={})
    needed = {problem.partition(":")[0] for problem in licence_problems(used, without)}
    other_python = {"async-timeout"} if sys.version_info < (3, 11, 3) else set()  # installed there, with a licence
    assert needed == {*policy.stated, *policy.exceptions} - other_python


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (GPL-3.0-only OR ISC)", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT AND Something-Else", False),
        ("MIT AND (", False),
    ],
)
def test_expression_is_allowed_if_it_can_be_met(expression: str, allowed: bool) -> None:
    assert is_allowed(expression, {"MIT", "ISC"}) is allowed


class Described(Distribution):
    """A package with these lines of metadata."""

    def __init__(self, **lines: str | list[str]) -> None:
        self._message = Message()
        for name, values in lines.items():
            for value in [values] if isinstance(values, str) else values:
                self._message[name.replace("_", "-")] = value

    def read_text(self, filename: str) -> str | None:
        return str(self._message) if filename == "METADATA" else None

    def locate_file(self, path: object) -> Path:
        raise FileNotFoundError(path)


OSI = "License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("package", "licence"),
    [
        (Described(License_Expression="MIT AND ISC", License="GPL"), "MIT AND ISC"),
        (Described(Classifier=f"{OSI}MIT License"), "MIT"),
        (Described(License="MIT License"), "MIT"),
        (Described(License="BSD-3-Clause", Classifier=f"{OSI}BSD License"), "BSD-3-Clause"),
        (Described(Classifier=f"{OSI}BSD License"), None),
        (Described(License="MIT", Classifier=[f"{OSI}MIT License", f"{OSI}Apache Software License"]), None),
        (Described(License="Permission is granted to everybody."), None),
        (Described(), None),
    ],
)
def test_licence_is_read_from_metadata_only_if_it_is_clear(package: Distribution, licence: str | None) -> None:
    assert installed_licence(package) == licence


def test_package_with_another_licence_than_its_exception_is_a_problem() -> None:
    rule = LicenceRule("orjson", "Apache-2.0 OR GPL-3.0-only", "It was so once.")
    (problem,) = licence_problems(["orjson"], replace(NO_POLICY, exceptions={"orjson": rule}))
    assert "MPL-2.0" in problem


def test_each_lock_contains_the_smaller_ones() -> None:
    deployment = set(read_pins(DEPLOYMENT_LOCK))
    assert set(read_pins(RUN_TIME_LOCK)) < deployment < set(read_pins(DEVELOPMENT_LOCK))
    assert {"aiomqtt", "opentelemetry-sdk"} <= {pin.name for pin in deployment}


def test_line_without_a_hash_or_an_exact_version_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "requirements.lock"
    for line in ("starlette==1.0", f"starlette>=1.0 --hash=sha256:{'0' * 64}"):
        path.write_text(line)
        with pytest.raises(ValueError, match="pinned version"):
            read_pins(path)


def test_every_lock_file_of_npm_is_read() -> None:
    packages = [read_npm_packages(lock) for lock in node_locks()]
    assert len(packages) >= 2
    assert all(one.integrity and one.licence for found in packages for one in found)


def test_interpreter_is_a_question_of_the_audit() -> None:
    """A finding of the interpreter is a problem, unless the policy accepts it until a date."""
    answer = check_interpreter((3, 12, 5))
    assert [finding.id for finding in answer.findings] == ["CVE-2024-7592", "CVE-2024-8088"]
    assert len(judge([answer], [], [], TODAY).problems) == 2
    accepted = Accepted("python", "CVE-2024-7592", "a reason", TODAY)
    (problem,) = judge([answer], [], [accepted], TODAY).problems
    assert problem.startswith("python 3.12.5: CVE-2024-8088")
    assert check_interpreter((3, 12, 6)).findings == ()
