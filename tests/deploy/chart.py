"""Render the Helm chart of deploy/ with the program in chart_renderer/."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from tests.deploy.files import DEPLOY
from tests.support.install_cache import install_once
from tests.support.system_programs import PROGRAMS, refuse, required_program

CHART = DEPLOY / "chart"
LIBRARIES = Path("/usr/share/gocode")


@dataclass(frozen=True)
class Rendered:
    """The result of rendering: the merged values, the text of each template, and the objects."""

    values: dict[str, Any]
    files: dict[str, str]
    objects: list[dict[str, Any]]

    def one(self, kind: str, name: str) -> dict[str, Any]:
        """Return the only object of a kind with a name."""
        (found,) = (one for one in self.objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
        return found

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the objects of a kind."""
        return [one for one in self.objects if one["kind"] == kind]


def built_renderer() -> Path:
    """Return the renderer, which is compiled once for a machine and again when its source changes."""
    go = required_program("go")
    if not (LIBRARIES / "src/github.com/Masterminds/sprig").is_dir():
        refuse(f"{LIBRARIES} has no sprig (Debian packages {PROGRAMS['go'].package})")
    source = Path(__file__).parent / "chart_renderer/main.go"

    def compile_it(home: Path) -> None:
        environment = os.environ | {"GO111MODULE": "off", "GOPATH": str(LIBRARIES), "GOCACHE": str(home / "cache")}
        subprocess.run([go, "build", "-o", home / "renderer", source], env=environment, check=True)
        shutil.rmtree(home / "cache")

    return install_once("chart", source, compile_it) / "renderer"


def run_renderer(renderer: Path, folder: Path, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Render the chart as release `wattgate` in namespace `energy`."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return subprocess.run([renderer, CHART, "wattgate", "energy", file], capture_output=True, text=True)


def read_rendered(output: str) -> Rendered:
    """Parse the output of the renderer."""
    content = json.loads(output)
    texts = [text for name, text in content["files"].items() if name.endswith(".yaml")]
    objects = [one for text in texts for one in yaml.safe_load_all(text) if one]
    return Rendered(content["values"], content["files"], objects)
