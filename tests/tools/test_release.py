"""The release workflow: what it signs and may write, and its steps that need no registry, which run here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from release_notes import release_notes
from tests.support.system_programs import required_program
from wattgate import __version__

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
FILES = (
    "pyproject.toml",
    "CHANGELOG.md",
    "deploy/chart/Chart.yaml",
    "deploy/chart/values.yaml",
    "tools/release_notes.py",
)
SUBJECT = {"subject-name", "subject-digest", "push-to-registry"}


def step(job: str, name: str) -> dict[str, Any]:
    """Return the step of a job whose name begins like this."""
    (found,) = (one for one in JOBS[job]["steps"] if one.get("name", "").startswith(name))
    return dict(found)


def run(folder: Path, commands: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run commands as GitHub does, in a folder with the files that they read."""
    for file in FILES:
        if not (folder / file).exists():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)
    shell = [required_program("bash"), "-e", "-o", "pipefail", "-c", commands]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # the job also has a `python`
    settings = os.environ | {"PATH": path} | environment
    return subprocess.run(shell, cwd=folder, env=settings, capture_output=True, text=True, timeout=60, check=False)


def test_only_a_tag_of_a_version_starts_the_workflow() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key `on` as true


@pytest.mark.parametrize(("tag", "accepted"), [(f"v{__version__}", True), (__version__, False), ("v9.9.9", False)])
def test_tag_must_be_the_version(tmp_path: Path, tag: str, accepted: bool) -> None:
    finished = run(tmp_path, step("build", "Check that the tag")["run"], GITHUB_REF_NAME=tag)
    assert (finished.returncode == 0) is accepted, finished.stderr


@pytest.mark.parametrize("name", ["version", "appVersion"])
def test_chart_must_have_the_version_of_the_tag(tmp_path: Path, name: str) -> None:
    chart = tmp_path / "deploy/chart/Chart.yaml"
    chart.parent.mkdir(parents=True)
    text = (ROOT / "deploy/chart/Chart.yaml").read_text()
    chart.write_text(text.replace(f"\n{name}: {__version__}\n", f"\n{name}: 9.9.9\n"))
    assert chart.read_text() != text
    assert run(tmp_path, step("build", "Check that the tag")["run"], GITHUB_REF_NAME=f"v{__version__}").returncode != 0


def test_notes_are_the_section_of_the_changelog(tmp_path: Path) -> None:
    commands = step("build", "Write the notes")["run"]
    finished = run(tmp_path, commands, GITHUB_REF_NAME=f"v{__version__}")
    assert finished.returncode == 0, finished.stderr
    notes = (tmp_path / "build/notes.md").read_text().strip()
    assert notes == release_notes((ROOT / "CHANGELOG.md").read_text(), __version__)
    assert "\n## " not in notes
    assert len(notes) > 100
    refused = run(tmp_path, commands, GITHUB_REF_NAME="v9.9.9")
    assert refused.returncode == 2
    assert "CHANGELOG.md has no section [9.9.9] with text" in refused.stderr


def test_notes_end_at_the_next_version_and_before_links() -> None:
    changelog = (
        "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2030-01-01\n\n- new\n\n## [1.0.0]\n\n- first\n\n[1.0.0]: x\n"
    )
    assert {one: release_notes(changelog, one) for one in ("1.1.0", "1.0.0", "1x0.0", "Unreleased")} == {
        "1.1.0": "- new",
        "1.0.0": "- first",
        "1x0.0": "",
        "Unreleased": "",
    }


def test_packaged_chart_names_the_image_that_the_workflow_pushes(tmp_path: Path) -> None:
    """The commands before `helm`, which is not installed here. The name of a registry has no capital letters."""
    commands = step("image", "Package and push")["run"].partition("helm package")[0]
    finished = run(tmp_path, commands, REGISTRY="registry.example", GITHUB_REPOSITORY="Some/Wattgate")
    assert finished.returncode == 0, finished.stderr
    values = yaml.safe_load((tmp_path / "deploy/chart/values.yaml").read_text())
    assert values["image"]["repository"] == "registry.example/some/wattgate"
    assert values["image"]["tag"] == ""  # the appVersion of the chart, which is the version of the tag


def test_image_has_the_version_and_the_commit() -> None:
    commands = step("image", "Build and push the image")["run"]
    declared = re.findall(r"^ARG (\w+)", (ROOT / "deploy/Containerfile").read_text(), re.MULTILINE)
    assert set(re.findall(r"--build-arg \"(\w+)=", commands)) == {"VERSION", "REVISION"} <= set(declared)
    assert "--file deploy/Containerfile" in commands


def test_files_are_built_before_they_are_signed_and_stored() -> None:
    steps = {one.get("uses") or one.get("run"): one.get("with", {}) for one in JOBS["build"]["steps"]}
    order = list(steps)
    signed = [name for name in order if name.startswith("actions/attest-")]
    assert [steps[name]["subject-path"] for name in signed] == ["dist/*", "dist/*"]
    assert steps["actions/attest-sbom@v3"]["sbom-path"] == "build/sbom.cdx.json"
    assert order.index("make sbom") < order.index("make dist") < order.index(signed[0])
    assert order[-1].startswith("actions/upload-artifact@")
    stored = ["dist/*", "build/sbom.cdx.json", "build/vex.cdx.json", "build/notes.md"]
    assert steps[order[-1]]["path"].split() == stored
    published = JOBS["release"]["steps"][-1]["run"]
    assert "--notes-file build/notes.md dist/* build/sbom.cdx.json build/vex.cdx.json" in published


def test_image_and_chart_are_signed_by_their_digests() -> None:
    signed = [one["with"] for one in JOBS["image"]["steps"] if one.get("uses", "").startswith("actions/attest-")]
    outputs = {one["id"] for one in JOBS["image"]["steps"] if "id" in one}
    assert outputs == {"image", "chart"}
    assert [set(one) - {"sbom-path"} for one in signed] == [SUBJECT] * 3
    for one in signed:
        (source,) = set(re.findall(r"steps\.(\w+)\.outputs", one["subject-name"] + one["subject-digest"]))
        assert source in outputs


def test_each_job_has_the_rights_that_it_needs() -> None:
    assert {name: job.get("needs") for name, job in JOBS.items()} == {
        "build": None,
        "image": "build",
        "publish": "build",
        "release": ["publish", "image"],
    }
    approved = {name for name, job in JOBS.items() if job.get("environment") == "pypi"}
    assert approved == {"image", "publish"}
    rights = {
        name: {key for key, right in job["permissions"].items() if right == "write"} for name, job in JOBS.items()
    }
    assert rights == {
        "build": {"id-token", "attestations"},
        "image": {"packages", "id-token", "attestations"},
        "publish": {"id-token"},
        "release": {"contents"},
    }
