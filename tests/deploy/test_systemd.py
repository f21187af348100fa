"""The units of systemd: valid, hardened, and with settings that exist."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY
from tests.support.command import wattgate_in
from tests.support.system_programs import required_program
from wattgate.app.settings import Settings

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))

MAX_EXPOSURE = 2.0
"""The largest overall exposure by `systemd-analyze security`. Units without any hardening have 9.6."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder with the units and their program, which `systemd-analyze` looks for."""
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    for unit in UNITS:
        (units / unit.name).write_text(unit.read_text())
    for name in ("network-online.target", "multi-user.target", "sysinit.target", "basic.target", "shutdown.target"):
        (units / name).write_text(f"[Unit]\nDescription={name}\n")
    program = tmp_path / "opt/wattgate/bin/wattgate"
    program.parent.mkdir(parents=True)
    (tmp_path / "usr/bin").mkdir(parents=True)
    for executable in (program, tmp_path / "usr/bin/env"):
        executable.write_text("#!/bin/sh\n")
        executable.chmod(0o755)
    return tmp_path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [required_program("systemd-analyze"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit_is_valid(root: Path, unit: Path) -> None:
    result = analyze("verify", f"--root={root}", "--man=no", unit.name)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit_has_few_rights(root: Path, unit: Path) -> None:
    threshold = f"--threshold={int(MAX_EXPOSURE * 10)}"
    result = analyze("security", "--offline=true", f"--root={root}", threshold, "--no-pager", unit.name)
    assert result.returncode == 0, result.stdout


def test_a_broken_unit_is_found(root: Path) -> None:
    broken = root / "etc/systemd/system" / UNITS[0].name
    broken.write_text(broken.read_text().replace("ExecStart=", "ExecStart=relative/"))
    assert analyze("verify", f"--root={root}", "--man=no", broken.name).returncode != 0


def test_settings_of_the_example_exist() -> None:
    text = (DEPLOY / "systemd/wattgate.env.example").read_text()
    names = re.findall(r"^WATTGATE_(\w+)=", text, re.MULTILINE)
    assert len(names) > 5
    assert {name.lower() for name in names} <= set(Settings.model_fields)


def assignments(unit: Path) -> dict[str, str]:
    """Return the assignments of a unit. Of several with one name, it has the last."""
    return dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.MULTILINE))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_wrong_setting_is_not_tried_again(tmp_path: Path, unit: Path) -> None:
    given = assignments(unit)
    command = given["ExecStart"].partition("bin/wattgate ")[2].split()
    refused = wattgate_in(tmp_path, *command, PORT="none")
    assert given["RestartPreventExitStatus"] == str(refused.returncode), refused.stderr


def test_gateway_and_worker_have_the_same_working_directory() -> None:
    places = {(given["StateDirectory"], given["WorkingDirectory"]) for given in map(assignments, UNITS)}
    assert places == {("wattgate", "/var/lib/wattgate")}


def test_upgrade_of_the_database_gets_more_time_than_systemd_gives_by_default() -> None:
    given = assignments(DEPLOY / "systemd/wattgate.service")
    assert given["ExecStartPre"].endswith(" db upgrade")
    assert given["TimeoutStartSec"] == "15min"


def test_connections_to_redis_on_another_machine_are_encrypted() -> None:
    assert assignments(DEPLOY / "systemd/wattgate.env.example")["WATTGATE_REDIS_URL"].startswith("rediss://")


def test_metrics_of_gateway_and_worker_have_ports_of_their_own() -> None:
    (common,) = re.findall(r"WATTGATE_METRICS_PORT=(\d+)", (DEPLOY / "systemd/wattgate.env.example").read_text())
    ports = [re.findall(r"WATTGATE_METRICS_PORT=(\d+)", unit.read_text()) or [common] for unit in UNITS]
    assert len({port for (port,) in ports}) == len(UNITS)


def test_drain_ends_before_systemd_kills_the_gateway() -> None:
    (limit,) = re.findall(r"TimeoutStopSec=(\d+)", (DEPLOY / "systemd/wattgate.service").read_text())
    (bound,) = (field.le for field in Settings.model_fields["drain_limit"].metadata if hasattr(field, "le"))
    assert int(limit) > bound
