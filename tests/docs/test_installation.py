"""The documentation says which Python runs wattgate, and installs extras in ways that find them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.markdown import code_blocks
from wattgate import __version__
from wattgate.app.setting_checks import MQTT_REQUIREMENTS
from wattgate.db.encryption.key_ring import parse_keys

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_pages_name_the_python_of_the_virtual_environment() -> None:
    """The Python of the system has no wattgate. A command without a path needs the activated environment."""
    assert lines_with(r"(?<!/)\bpython3? -m (?:wattgate|tests)\b") == []


def test_pages_install_extras_from_a_wheel_or_the_repository() -> None:
    """No registry has the package wattgate."""
    assert lines_with(r"pip install '?wattgate\b(?!-)") == []


def lines_with(pattern: str) -> list[str]:
    """Return the lines of the documentation in which a pattern is found, each with the path of its page."""
    assert len(PAGES) > 50
    return [
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        for line in page.read_text().splitlines()
        if re.search(pattern, line)
    ]


def test_guide_keeps_the_address_and_the_key_of_postgresql_in_a_private_file(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "set-up-a-gateway.md").read_text()
    (commands,) = [block for block in code_blocks(page, "sh") if "wattgate keys new" in block]
    program = f'wattgate() {{ {sys.executable} -m wattgate "$@"; }}\n'
    subprocess.run(["/bin/sh", "-ec", program + commands], cwd=tmp_path, check=True, timeout=60)
    file = tmp_path / ".env"
    assert file.stat().st_mode & 0o777 == 0o600
    url, keys = (line.split("=", 1)[1] for line in file.read_text().splitlines())
    assert url.startswith("postgresql://")
    assert len(parse_keys(keys)) == 1


def test_message_about_mqtt_names_the_requirement_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["mqtt"] == list(MQTT_REQUIREMENTS)


def test_pages_name_the_wheel_of_this_version() -> None:
    """CONTRIBUTING.md has a release as an example, so its version may differ."""
    pages = [page for page in PAGES if page.name != "CONTRIBUTING.md"]
    named = {name for page in pages for name in re.findall(r"wattgate-\d[\w.]*-py3-none-any\.whl", page.read_text())}
    assert named == {f"wattgate-{__version__}-py3-none-any.whl"}
