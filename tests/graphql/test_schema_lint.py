"""The schema file passes the recommended and the Relay rules of graphql-eslint, with reasoned exceptions.

tests/schema_lint has the configuration and the pinned packages.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import node

FOLDER = Path(__file__).parents[1] / "schema_lint"
SDL = Path(__file__).parents[2] / "docs" / "reference" / "schema.graphql"
UNTIDY = """
type Query { get_things: [Thing] @deprecated }
type Thing { name: String }
type Unreachable { name: String }
"""


@pytest.fixture(scope="module")
def linter() -> Iterator[node.Node]:
    """Node with the linter."""
    with node.required_node(FOLDER) as running:
        yield running


def lint(linter: node.Node, schema: str) -> tuple[int, str]:
    (linter.folder / "schema.graphql").write_text(schema)
    command = [
        str(linter.executable),
        str(linter.packages / "eslint" / "bin" / "eslint.js"),
        "--config",
        "schema-rules.mjs",
        "schema.graphql",
    ]
    done = subprocess.run(command, cwd=linter.folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long("runs the linter on the whole schema; its report of an untidy schema stays in the short form")
def test_the_schema_passes_the_linter(linter: node.Node) -> None:
    assert lint(linter, SDL.read_text()) == (0, "")


def test_the_linter_reports_an_untidy_schema(linter: node.Node) -> None:
    status, report = lint(linter, UNTIDY)
    assert status == 1
    for rule in ("naming-convention", "require-description", "require-deprecation-reason", "no-unreachable-types"):
        assert f"@graphql-eslint/{rule}" in report
