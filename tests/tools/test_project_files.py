"""Files for contributors name targets, folders and settings that exist; forms and workflows are well-formed."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support import speed
from wattgate.app.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", ".github/PULL_REQUEST_TEMPLATE.md")
FORMS = ("bug_report.yml", "feature_request.yml")


def load(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_on_a_page_exist(page: str) -> None:
    targets = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"(?:`|^)make ([\w-]+)", (ROOT / page).read_text(), re.M)) <= targets


@pytest.mark.parametrize("page", PAGES)
def test_links_and_folders_on_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    linked = [(ROOT / page).parent / link.partition("#")[0] for link in re.findall(r"\]\((?!https?://)([^)]+)\)", text)]
    named = [ROOT / path for path in re.findall(r"`((?:wattgate|tests|tools|bench|docs)/[\w./-]*)`", text)]
    assert linked or named
    assert [str(path) for path in (*linked, *named) if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_settings_on_a_page_exist(page: str) -> None:
    setting = r"`WATTGATE_(?!TEST_(?:BROWSER|NODE|PROGRAMS|POSTGRESQL_URL))([A-Z_]+)"
    names = set(re.findall(setting, (ROOT / page).read_text()))
    assert {name.lower() for name in names} <= set(Settings.model_fields)


def test_security_fixes_are_for_the_current_minor_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"(now {version.rpartition('.')[0]})" in (ROOT / "SECURITY.md").read_text()


@pytest.mark.parametrize("name", FORMS)
def test_issue_form_has_the_members_that_github_requires(name: str) -> None:
    form = load(f".github/ISSUE_TEMPLATE/{name}")
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert {field["type"] for field in fields} <= {"textarea", "input", "dropdown", "checkboxes"}


def test_workflow_runs_the_checks_with_read_access_only() -> None:
    workflow = load(".github/workflows/ci.yml")
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert "permissions" not in job
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    for action in (step["uses"] for step in job["steps"] if "uses" in step):
        assert re.fullmatch(r"actions/[\w-]+@v\d+", action)


ACTIONS = {
    "actions/attest-build-provenance@v3",
    "actions/attest-sbom@v3",
    "actions/checkout@v5",
    "actions/download-artifact@v6",
    "actions/setup-python@v6",
    "actions/upload-artifact@v5",
    "pypa/gh-action-pypi-publish@release/v1",
}
"""Actions that workflows may use. A further one gets the rights of its job, so it needs a review."""

WORKFLOWS = sorted(path.name for path in (ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_have_read_access_known_actions_and_existing_targets(name: str) -> None:
    workflow = load(f".github/workflows/{name}")
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert {step["uses"] for step in steps if "uses" in step} <= ACTIONS
    for step in steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    targets = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(), re.M))
    assert {target for step in steps for target in re.findall(r"\bmake ([\w-]+)", step.get("run", ""))} <= targets


def test_audit_runs_for_each_change_and_requires_answers_each_day() -> None:
    assert (
        'stage "static checks, packages" make --jobs=2 --output-sync=target check audit'
        in (ROOT / ".ci" / "run").read_text().splitlines()
    )
    workflow = load(".github/workflows/audit.yml")
    assert "schedule" in workflow[True]  # YAML 1.1 reads the key `on` as a boolean
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == "make audit AUDIT=--require-answers"


def test_newest_releases_are_tried_each_week_by_all_checks() -> None:
    workflow = load(".github/workflows/newest.yml")
    assert "schedule" in workflow[True]
    (job,) = workflow["jobs"].values()
    commands = [step["run"].splitlines() for step in job["steps"] if "run" in step]
    assert "make lock LOCK=--upgrade" in commands[0]
    assert commands[1:] == [["make check"], ["make test-quick"], ["make test"]]
    assert "uv pip compile pyproject.toml $(LOCK)" in (ROOT / "Makefile").read_text()


def test_development_container_has_the_oldest_python_and_installs_by_targets_that_exist() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert container["image"].rpartition(":")[2].partition("-")[0] == required.removeprefix(">=")
    command, *targets = container["onCreateCommand"].split()
    rules = set(re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text(), re.M))
    assert (command, set(targets) <= rules) == ("make", True)
    assert container["forwardPorts"] == [Settings.model_fields["port"].default]
    interpreter = container["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert interpreter == "${containerWorkspaceFolder}/.venv/bin/python"


def test_hooks_run_locally_with_tools_of_the_virtual_environment() -> None:
    (repository,) = load(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")


def test_fixtures_of_slow_tests_exist() -> None:
    sources = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("*.py"))
    defined = set(re.findall(r"@pytest\.fixture.*\n(?:async )?def (\w+)\(", sources))
    assert set() == speed.FIXTURES - defined
