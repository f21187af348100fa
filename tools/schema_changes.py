"""Name the changes of the GraphQL schema since a commit: those that break clients, and those that may surprise them.

Usage: python tools/schema_changes.py BASE

The exit status is 1 if a change breaks clients and the newest section of CHANGELOG.md has no part `### Breaking`.
"""

import re
import subprocess
import sys
from pathlib import Path

from graphql import GraphQLSchema, build_schema
from graphql.utilities import find_breaking_changes, find_dangerous_changes

FOLDER = Path(__file__).parents[1]
SDL = "docs/reference/schema.graphql"
CHANGELOG = FOLDER / "CHANGELOG.md"


def main(arguments: list[str]) -> int:
    """Print the changes. Return the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("Usage: python tools/schema_changes.py BASE, where BASE is a commit such as origin/main\n")
        return 2
    (base,) = arguments
    shown = subprocess.run(
        ["git", "show", f"{base}:{SDL}"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode:
        sys.stderr.write(f"{base} has no {SDL}: {shown.stderr.strip()}\n")
        return 2
    report, breaks = describe_changes(build_schema(shown.stdout), build_schema((FOLDER / SDL).read_text()))
    sys.stdout.write(report)
    if breaks and not names_breaking_change(CHANGELOG.read_text()):
        sys.stderr.write("Name the breaking changes under `### Breaking` of the unreleased changes in CHANGELOG.md.\n")
        return 1
    return 0


def describe_changes(before: GraphQLSchema, after: GraphQLSchema) -> tuple[str, bool]:
    """Return the changes between two schemas, one a line, and whether one of them breaks clients."""
    breaking = sorted(change.description for change in find_breaking_changes(before, after))
    dangerous = sorted(change.description for change in find_dangerous_changes(before, after))
    lines = [
        *(f"breaking: {description}\n" for description in breaking),
        *(f"dangerous: {description}\n" for description in dangerous),
    ]
    return "".join(lines) or "No change breaks or surprises clients.\n", bool(breaking)


def names_breaking_change(changelog: str) -> bool:
    """Return whether the newest section of the changelog has a part on breaking changes."""
    newest = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    return "\n### Breaking\n" in newest


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
