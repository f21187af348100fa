"""The documentation says which Python runs wattgate, and installs extras in ways that find them."""

import re
import tomllib
from pathlib import Path

import pytest

from wattgate.app.settings import MQTT_REQUIREMENT

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_names_the_python_of_the_virtual_environment(page: Path) -> None:
    """The Python of the system has no wattgate. A command without a path needs the activated environment."""
    for line in page.read_text().splitlines():
        assert not re.search(r"(?<!/)\bpython3? -m (?:wattgate|tests)\b", line), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_installs_extras_from_a_wheel_or_the_repository(page: Path) -> None:
    """No registry has the package wattgate."""
    assert not re.search(r"pip install '?wattgate\b(?!-)", page.read_text())


def test_message_about_mqtt_names_the_requirement_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["mqtt"] == [MQTT_REQUIREMENT]
