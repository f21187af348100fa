"""The tool that names changes of the GraphQL schema: the changelog names what breaks clients."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from graphql import build_schema

from schema_changes import describe_changes, names_breaking_change

ROOT = Path(__file__).parents[2]
BEFORE = "type Query { home: Home }\ntype Home { name: String! state: State! }\nenum State { ON OFF }"


NOTHING = "No change breaks or surprises clients.\n"
NAMED = {
    BEFORE: (NOTHING, False),
    BEFORE.replace("name: String!", "name: String! city: String"): (NOTHING, False),
    BEFORE.replace("name: String!", "name: String"): (
        "breaking: Field Home.name changed type from String! to String.\n",
        True,
    ),
    BEFORE.replace("ON OFF", "ON OFF IDLE"): ("dangerous: Enum value State.IDLE was added.\n", False),
}


@pytest.mark.parametrize("after", NAMED)
def test_changes_are_named(after: str) -> None:
    report, breaks = describe_changes(build_schema(BEFORE), build_schema(after))
    assert (report.replace("'", ""), breaks) == NAMED[after]


def test_breaking_changes_are_named_in_the_newest_section() -> None:
    named = "# Changelog\n\n## [Unreleased]\n\n### Breaking\n\n- `a` is `b`.\n\n## [0.1.0]\n"
    assert names_breaking_change(named)
    assert not names_breaking_change(named.replace("\n### Breaking\n", "\n"))
    assert not names_breaking_change("# Changelog\n\n## [Unreleased]\n\n- x\n\n## [0.1.0]\n\n### Breaking\n\n- y\n")


def test_command_compares_with_a_commit(tmp_path: Path) -> None:
    """The command reads the schema of the commit from git and that of the working tree from the file."""
    for folder in ("tools", "docs/reference"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "tools/schema_changes.py", tmp_path / "tools")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    schema = tmp_path / "docs/reference/schema.graphql"
    schema.write_text(BEFORE)
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "x")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)  # noqa: S607 (git of the checkout)
    schema.write_text(BEFORE.replace(" state: State!", ""))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "tools/schema_changes.py", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    refused = run("HEAD")
    assert refused.returncode == 1
    assert "breaking: Field Home.state was removed." in refused.stdout.replace("'", "")
    assert "### Breaking" in refused.stderr
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n### Breaking\n\n- `state` goes.\n")
    assert run("HEAD").returncode == 0
    assert (run("nothing").returncode, run().returncode) == (2, 2)
