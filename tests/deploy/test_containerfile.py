"""deploy/Containerfile and .dockerignore, by hadolint and by the files that they name."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from supply.locks import read_pins
from tests.deploy.files import DEPLOY, ROOT
from wattgate.app.cli.main import app

CONTAINERFILE = DEPLOY / "Containerfile"
TEXT = re.sub(r"\s*\\\n\s*", " ", re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE))
"""The instructions of the file, each on one line, without comments."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def instructions(name: str) -> list[str]:
    """Return the arguments of the instructions with this name."""
    return re.findall(rf"^{name} (.+)$", TEXT, re.MULTILINE)


def test_hadolint_has_no_findings() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    result = subprocess.run([hadolint, CONTAINERFILE], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_both_stages_use_the_base_of_the_argument() -> None:
    assert instructions("FROM") == ["${BASE} AS build", "${BASE}"]


def test_image_runs_as_a_user_with_a_number_and_stops_by_sigterm() -> None:
    assert instructions("USER") == ["10001:10001"]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


def test_entry_point_default_and_health_check_are_commands_of_wattgate() -> None:
    (entry,), (default,), (check,) = instructions("ENTRYPOINT"), instructions("CMD"), instructions("HEALTHCHECK")
    program, command = json.loads(check.partition(" CMD ")[2])
    assert [program] == json.loads(entry)
    assert program in PROJECT["project"]["scripts"]
    names = {one.name or one.callback.__name__.replace("_", "-") for one in app.registered_commands if one.callback}
    assert {command, *json.loads(default)} <= names


def test_labels_state_version_and_licence_of_the_project() -> None:
    (version,) = [value for value in instructions("ARG") if value.startswith("VERSION=")]
    assert version == f"VERSION={PROJECT['project']['version']}"
    labels = dict(re.findall(r'(org\.opencontainers\.image\.\w+)="([^"]*)"', TEXT))
    assert labels["org.opencontainers.image.licenses"] == PROJECT["project"]["license"]
    assert labels["org.opencontainers.image.version"] == "${VERSION}"


def test_build_context_has_what_the_image_copies_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    included = {line[1:] for line in lines if line.startswith("!")}
    copied = {path for line in instructions("COPY") if "--from" not in line for path in line.split()[:-1]}
    assert included == copied
    assert "*" in lines
    assert [path for path in copied if not (ROOT / path).exists()] == []


def test_every_package_is_installed_by_its_hash() -> None:
    installs = re.findall(r"bin/pip(?: --python \S+)? install (.+?)(?: &&|$)", TEXT, re.MULTILINE)
    assert len(installs) == 3
    for options in installs:
        assert "--no-deps" in options
        assert "--require-hashes" in options or "--no-index dist/" in options


def test_lock_of_the_build_has_what_the_build_system_requires() -> None:
    pins = read_pins(DEPLOY / "requirements-build.lock")
    for requirement in map(Requirement, PROJECT["build-system"]["requires"]):
        (version,) = [pin.version for pin in pins if pin.name == requirement.name]
        assert requirement.specifier.contains(version)
