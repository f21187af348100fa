"""The documentation says which Python runs wattgate, and installs extras in ways that find them."""

import re
import tomllib
from pathlib import Path

import pytest

from wattgate import __version__
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


def test_pages_name_the_wheel_of_this_version() -> None:
    """CONTRIBUTING.md has a release as an example, so its version may differ."""
    pages = [page for page in PAGES if page.name != "CONTRIBUTING.md"]
    named = {name for page in pages for name in re.findall(r"wattgate-\d[\w.]*-py3-none-any\.whl", page.read_text())}
    assert named == {f"wattgate-{__version__}-py3-none-any.whl"}
