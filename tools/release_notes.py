#!/usr/bin/env python3
"""Print the notes of a release: the section of its version in CHANGELOG.md.

    python tools/release_notes.py 0.1.0

The command fails if the changelog has no section of the version, or an empty one.
"""

import argparse
import re
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def release_notes(changelog: str, version: str) -> str:
    """Return the text of the section of a version, without its heading. Return nothing if there is none."""
    heading = rf"^## \[{re.escape(version)}\][^\n]*\n"
    found = re.search(rf"{heading}(.*?)(?=^## |^\[[^\]]+\]: |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def main() -> None:
    """Print the notes of the version in the argument."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="the version, with or without a leading v")
    version = parser.parse_args().version.removeprefix("v")
    notes = release_notes(CHANGELOG.read_text(), version)
    if not notes:
        parser.error(f"{CHANGELOG.name} has no section [{version}] with text: move the section [Unreleased] to it")
    print(notes)


if __name__ == "__main__":
    main()
