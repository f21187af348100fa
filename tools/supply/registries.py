"""Known problems of locked packages, from registries through their own clients: pip, pip-audit and npm.

A registry may not know vulnerabilities or yanked releases; mirrors often do not. Its answer then looks like that for
packages without findings. Therefore each question has a probe: an old release with a known finding. A registry that
does not report the probe does not answer the question, and the audit says so.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supply.locks import ROOT, Pin, read_npm_packages
from supply.policy import YANKED

YANKED_PROBE = "attrs==21.1.0"
VULNERABLE_PROBE = "jinja2==2.10"
NPM_PROBE = ("lodash", "4.17.10")

MAX_SECONDS = 600
"""Time limit of one command."""

_YANKED = re.compile(
    r"is a yanked version: '([^']+)' candidate \(version (\S+)[^\n]*\n(?:Reason for being yanked: (.*))?"
)


@dataclass(frozen=True, order=True)
class Finding:
    """A known problem of a locked package. `id` is that of the advisory, or `yanked`. `aliases` are its other names."""

    package: str
    version: str
    id: str
    text: str
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.package} {self.version}: {self.id}: {self.text}"


@dataclass(frozen=True)
class Answer:
    """The findings for `asked` packages, and the reasons why others have no answer."""

    question: str
    asked: int
    findings: tuple[Finding, ...] = ()
    not_asked: tuple[str, ...] = ()


def ask_yanked(pins: Sequence[Pin]) -> Answer:
    """Ask the index of pip which of the pins that apply here are yanked."""
    question = "yanked releases (pip)"
    here = [f"{pin.name}=={pin.version}" for pin in pins if pin.applies_here]
    try:
        if not find_yanked(_dry_run([YANKED_PROBE])):
            return Answer(question, 0, (), (f"the index does not report that {YANKED_PROBE} is yanked",))
        findings = tuple(find_yanked(_dry_run(here)))
    except ClientError as error:
        return Answer(question, 0, (), (str(error),))
    return Answer(question, len(here), findings, _elsewhere(pins))


def ask_vulnerable(pins: Sequence[Pin]) -> Answer:
    """Ask the service of pip-audit which of the pins that apply here have known vulnerabilities."""
    question = "known vulnerabilities (pip-audit)"
    here = [f"{pin.name}=={pin.version}" for pin in pins if pin.applies_here]
    try:
        if not find_vulnerable(_pip_audit([VULNERABLE_PROBE])):
            return Answer(question, 0, (), (f"the service knows no vulnerability of {VULNERABLE_PROBE}",))
        report = _pip_audit(here)
    except ClientError as error:
        return Answer(question, 0, (), (str(error),))
    skipped = tuple(one["skip_reason"] for one in report["dependencies"] if "skip_reason" in one)
    return Answer(question, len(here) - len(skipped), tuple(find_vulnerable(report)), skipped + _elsewhere(pins))


def ask_npm(lock: Path) -> Answer:
    """Ask the registry of npm which packages of a lock file have known vulnerabilities."""
    question = f"known vulnerabilities ({os.path.relpath(lock, ROOT)}, npm audit)"
    try:
        with tempfile.TemporaryDirectory() as folder:
            if not find_npm(_npm_audit(_write_npm_probe(Path(folder)))):
                return Answer(question, 0, (), (f"the registry knows no vulnerability of {' '.join(NPM_PROBE)}",))
        report = _npm_audit(lock.parent)
    except ClientError as error:
        return Answer(question, 0, (), (str(error),))
    return Answer(question, len(read_npm_packages(lock)), tuple(find_npm(report)))


def _elsewhere(pins: Sequence[Pin]) -> tuple[str, ...]:
    """Return the reason why pins of other Python versions and systems are not asked. pip only considers its own."""
    names = [f"{pin.name} {pin.version} ({pin.marker})" for pin in pins if not pin.applies_here]
    return (f"not for this Python version and system: {', '.join(names)}",) if names else ()


def find_yanked(output: str) -> list[Finding]:
    """Return the yanked releases that pip warns about."""
    return [
        Finding(name, version, YANKED, reason or "no reason is given")
        for name, version, reason in _YANKED.findall(output)
    ]


def find_vulnerable(report: dict[str, Any]) -> list[Finding]:
    """Return the vulnerabilities in a report of pip-audit."""
    return [
        Finding(
            one["name"],
            one["version"],
            found["id"],
            _fixed_by(found["fix_versions"]),
            tuple(sorted(found.get("aliases", ()))),
        )
        for one in report["dependencies"]
        for found in one.get("vulns", ())
    ]


def _fixed_by(versions: list[str]) -> str:
    return f"update to {' or '.join(versions)}" if versions else "no version has a fix"


def find_npm(report: dict[str, Any]) -> list[Finding]:
    """Return the vulnerabilities in a report of npm. Packages that only depend on a vulnerable one are left out."""
    return sorted(set(_npm_findings(report["vulnerabilities"])))


def _npm_findings(vulnerabilities: dict[str, Any]) -> Iterator[Finding]:
    for name, one in vulnerabilities.items():
        for cause in one["via"]:
            if isinstance(cause, dict):
                yield Finding(name, cause["range"], cause["url"].rpartition("/")[2], cause["title"])


class ClientError(Exception):
    """A client could not ask its registry."""


def _run(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ClientError(f"{command[0]} did not end within {MAX_SECONDS} seconds") from None


def _dry_run(requirements: Sequence[str]) -> str:
    """Return the warnings of an installation by pip that installs nothing."""
    options = ["--dry-run", "--ignore-installed", "--no-deps", "--no-input", "--disable-pip-version-check", "--quiet"]
    result = _run([sys.executable, "-m", "pip", "install", *options, *requirements])
    if result.returncode:
        raise ClientError(f"pip failed: {_last_line(result.stderr)}")
    return result.stderr


def _pip_audit(requirements: Sequence[str]) -> dict[str, Any]:
    """Return the report of pip-audit. It exits with 1 both for findings and for failures."""
    options = ["--disable-pip", "--no-deps", "--format", "json", "--desc", "off", "--progress-spinner", "off"]
    options += ["--cache-dir", str(ROOT / "build" / "pip-audit")]  # the default is in HOME
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pins.txt"
        file.write_text("\n".join(requirements))
        result = _run([sys.executable, "-m", "pip_audit", *options, "--requirement", str(file)])
    return _parse_report(result, "dependencies", "pip-audit")


def _npm_audit(folder: Path) -> dict[str, Any]:
    """Return the report of npm. It exits with 1 both for findings and for failures."""
    npm = str(Path(sys.executable).with_name("npm"))
    return _parse_report(_run([npm, "audit", "--json", "--package-lock-only"], folder), "vulnerabilities", "npm audit")


def _parse_report(result: subprocess.CompletedProcess[str], member: str, client: str) -> dict[str, Any]:
    try:
        report = json.loads(result.stdout)
    except json.JSONDecodeError:
        raise ClientError(f"{client} failed: {_last_line(result.stderr)}") from None
    if member not in report:
        raise ClientError(f"{client} failed: {report.get('message') or report.get('error')}")
    return dict(report)


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed no reason"


def _write_npm_probe(folder: Path) -> Path:
    name, version = NPM_PROBE
    manifest = {"name": "probe", "version": "1.0.0", "dependencies": {name: version}}
    packages = {"": manifest, f"node_modules/{name}": {"version": version}}
    (folder / "package.json").write_text(json.dumps(manifest))
    (folder / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": packages, **manifest}))
    return folder
