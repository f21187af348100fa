"""SPEC.md's own tables, as data."""

import re
from dataclasses import dataclass
from pathlib import Path

SPEC = (Path(__file__).parents[1] / "data" / "SPEC.md").read_text()


@dataclass(frozen=True)
class Detail:
    """A detailed endpoint and its authentication scheme."""

    method: str
    path: str
    scheme: str


def section(heading: str) -> str:
    """The text under a heading, up to the next one of the same or a higher level."""
    level = heading.split(" ")[0]
    match = re.search(rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", SPEC, re.MULTILINE | re.DOTALL)
    assert match, heading
    return match[1]


def fields(heading: str) -> dict[str, str]:
    """The first table of a resource's section: field name to type."""
    rows = [line for line in section(heading).split("\n\n")[1].splitlines() if line.startswith("|")]
    return {name: type_ for name, type_, *_ in (cells(row) for row in rows[2:])}


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def details() -> dict[str, Detail]:
    """Every detailed endpoint by method and path."""
    found = {}
    for match in re.finditer(r"^### (GET|POST|PUT|DELETE) (\S+)$(.*?)(?=^##)", SPEC, re.MULTILINE | re.DOTALL):
        method, path, text = match.groups()
        scheme = re.search(r"Authentication: (\w+)", text)
        assert scheme
        found[f"{method} {path}"] = Detail(method, path, scheme[1].lower())
    return found
