"""The tables of SPEC.md as data."""

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
    """Return the text under a heading, up to the next heading of the same or a higher level."""
    level = heading.split(" ")[0]
    match = re.search(rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", SPEC, re.MULTILINE | re.DOTALL)
    assert match, heading
    return match[1]


def fields(heading: str) -> dict[str, str]:
    """Return the types of a resource's fields, from the first table of its section."""
    rows = [line for line in section(heading).split("\n\n")[1].splitlines() if line.startswith("|")]
    return {name: type_ for name, type_, *_ in (cells(row) for row in rows[2:])}


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def details() -> dict[str, Detail]:
    """Return every detailed endpoint by method and path."""
    result = {}
    for match in re.finditer(r"^### (GET|POST|PUT|DELETE) (\S+)$(.*?)(?=^##)", SPEC, re.MULTILINE | re.DOTALL):
        method, path, text = match.groups()
        scheme = re.search(r"Authentication: (\w+)", text)
        assert scheme
        result[f"{method} {path}"] = Detail(method, path, scheme[1].lower())
    return result


@dataclass(frozen=True)
class Row:
    """A row of the index of operations. An unknown method is a dash."""

    method: str
    path: str
    purpose: str


def index() -> list[Row]:
    """Return every row of the index."""
    rows = re.findall(r"^\| (-|GET|POST|PUT|DELETE) \| (/\S+) \| (.*?) \|$", SPEC, re.MULTILINE)
    return [Row(*row) for row in rows]


ONE_PURPOSE = ("/account/{}/status", "/account/status")
"""Paths whose row describes a single purpose in several clauses."""


def purposes() -> dict[str, int]:
    """Return the number of purposes of each path in the index, with parameter names removed."""
    result: dict[str, int] = {}
    for row in index():
        path = re.sub(r"{.*?}", "{}", row.path)
        clauses = re.sub(r"\(.*?\)", "", row.purpose).split(";")
        if row.purpose == "detailed above" and result.get(path, 0) > 1:
            continue  # already counted in another row of the path
        result[path] = result.get(path, 0) + (1 if path in ONE_PURPOSE else len(clauses))
    return result


def purpose_names() -> list[str]:
    """Return each purpose of the index as its path and its clause.

    A row that is only detailed above is named by its method, unless another row of the path has this purpose.
    """
    names = []
    for row in index():
        if row.purpose == "detailed above":
            names += [] if (row.method, row.path) in DETAILED_AGAIN else [f"{row.path}: {row.method}"]
            continue
        clauses = re.sub(r" ?\(.*?\)", "", row.purpose).split(";")
        names += [f"{row.path}: {clause.strip()}" for clause in clauses]
    return names


DETAILED_AGAIN = {("PUT", "/account/{accountId}")}
"""Rows of the index whose purpose is also a clause of another row."""


def known_methods() -> dict[tuple[str, str], str]:
    """Return the purposes of the index rows that have a method, by method and path."""
    return {(row.method, row.path): row.purpose for row in index() if row.method != "-"}


def schemes() -> dict[str, list[str]]:
    """Return the operations of each scheme in the authentication table."""
    rows = re.findall(r"^\| (Basic|API key) \|.*\|(.*?)\|$", section("## Authentication"), re.MULTILINE)
    return {scheme: [place.strip() for place in places.split(",")] for scheme, places in rows}


def error_statuses() -> dict[str, dict[str, bool]]:
    """Return the table of errors: for each operation, whether each status is listed."""
    rows = [cells(line) for line in section("## Errors").splitlines() if line.startswith("|")]
    places = rows[0][2:]
    return {place: {row[0]: row[2 + position] == "yes" for row in rows[2:]} for position, place in enumerate(places)}
