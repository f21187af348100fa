"""The table of the page docs/explanation/asvs.md, compared with the standard, the tests and the pages.

python -m tests.support.asvs    # writes the summary of the page again, after a change of its rows
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "asvs.md"
STANDARD = ROOT / "tests" / "data" / "asvs-5.0.0.txt"

STATES = ("met", "not applicable", "open")

DOCUMENTATION_SECTIONS = frozenset({"2.1", "5.1", "6.1", "7.1", "8.1", "11.1", "13.1", "14.1", "15.1", "16.1"})
"""Sections of the standard about documentation. A page meets their requirements. Others need a test."""

HEAD = "| number | level | requirement, in our words | state | evidence or reason |"

_ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| (.*) \|$")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_TEST_NAME = re.compile(r"(?<!::)\b(test_\w+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SUMMARY = re.compile(r"(?<=<!-- summary -->\n).*?(?=<!-- end of summary -->)", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """A requirement on the page. `chapter` is the number in the heading above it, or empty."""

    chapter: str
    number: str
    level: str
    words: str
    state: str
    evidence: str

    @property
    def section(self) -> str:
        """The number of the section of the standard, such as 2.1."""
        return self.number.rpartition(".")[0]


def read_standard() -> dict[str, str]:
    """Return the level of each requirement of levels 1 and 2 by its number, in the order of the standard."""
    return dict(re.findall(r"^(\d+\.\d+\.\d+) ([12])$", STANDARD.read_text(), re.MULTILINE))


def read_rows(text: str) -> list[Row]:
    """Return the rows of the page. Raise ValueError for one that has not five cells."""
    rows, chapter = [], ""
    for line in text.splitlines():
        if heading := re.match(r"## V(\d+) ", line):
            chapter = heading[1]
        elif found := _ROW.match(line):
            cells = [cell.strip() for cell in found[2].split(" | ")]
            if len(cells) != 4:
                raise ValueError(f"{found[1]} has {len(cells) + 1} cells, not 5")
            rows.append(Row(chapter, found[1], *cells))
    return rows


def summary(rows: list[Row]) -> str:
    """Return the table of the numbers of requirements of each level in each state."""
    counts = Counter((row.level, row.state) for row in rows)
    lines = [f"| level | {' | '.join(STATES)} | all |", "|---|---|---|---|---|"]
    for level in ("1", "2"):
        numbers = [counts[level, state] for state in STATES]
        lines.append(f"| {level} | {' | '.join(map(str, numbers))} | {sum(numbers)} |")
    return "\n".join(lines) + "\n"


def with_summary(text: str) -> str:
    """Return the page with the summary of its rows."""
    return _SUMMARY.sub(lambda _: summary(read_rows(text)), text)


def problems(text: str) -> list[str]:
    """Return a sentence for each thing on the page that is not so: numbers, levels, tests, links, and its summary."""
    try:
        rows = read_rows(text)
    except ValueError as error:
        return [str(error)]
    found = [*_number_problems(rows), *(f"{row.number}: {problem}" for row in rows for problem in _row_problems(row))]
    lines = [line for line in text.splitlines() if re.match(r"\| *\**V?\d+\.", line) and not _ROW.match(line)]
    found += [f"a row has another form than the others: {line[:40]}" for line in lines]
    found += [f"the link {link} leads nowhere" for link in _LINK.findall(text) if not link_exists(link)]
    if with_summary(text) != text:
        found.append("the summary is not that of the rows: run python -m tests.support.asvs")
    return found


def _number_problems(rows: list[Row]) -> Iterator[str]:
    standard, numbers = read_standard(), [row.number for row in rows]
    yield from (f"{number} is not a requirement of levels 1 and 2" for number in numbers if number not in standard)
    yield from (f"{number} is missing" for number in standard if number not in numbers)
    yield from (f"{number} has {count} rows" for number, count in Counter(numbers).items() if count > 1)
    if sorted(numbers, key=_order) != numbers:
        yield "the rows are not in the order of the standard"
    for row in rows:
        if standard.get(row.number, row.level) != row.level:
            yield f"{row.number} has the level {standard[row.number]} in the standard, not {row.level}"
        if row.chapter != row.number.partition(".")[0]:
            yield f"{row.number} is below the heading of chapter {row.chapter or 'none'}"


def _order(number: str) -> list[int]:
    return [int(part) for part in number.split(".")]


def _row_problems(row: Row) -> Iterator[str]:
    if not 3 <= len(row.words.split()) <= 12:
        yield "the statement has not 3 to 12 words"
    if row.state not in STATES:
        yield f"the state {row.state!r} is not one of {', '.join(STATES)}"
    tests = _TEST.findall(row.evidence)
    yield from (f"{path} has no {name}" for path, name in tests if name not in tests_of(path))
    yield from (f"no test has the name {name}" for name in _TEST_NAME.findall(row.evidence) if name not in all_tests())
    if row.state == "met":
        has_page = row.section in DOCUMENTATION_SECTIONS and _LINK.search(row.evidence) is not None
        if not (tests or has_page):
            yield "nothing shows that it is met: name a test as `tests/FILE.py::test_NAME`"
    elif len(row.evidence.split()) < 3:
        yield "the reason has fewer than 3 words"


@cache
def tests_of(path: str) -> frozenset[str]:
    """Return the test functions of a file, relative to the root. Empty if there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text(), re.MULTILINE))


@cache
def all_tests() -> frozenset[str]:
    """Return the names of all test functions."""
    paths = (path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))
    return frozenset().union(*map(tests_of, paths))


def link_exists(link: str) -> bool:
    """Return whether a link of the page leads to a page, and to its heading if it names one. Others are external."""
    if link.startswith("https://"):
        return True
    path, _, heading = link.partition("#")
    page = (PAGE.parent / path).resolve() if path else PAGE
    return page.is_file() and (not heading or heading in headings(page))


@cache
def headings(page: Path) -> frozenset[str]:
    """Return the names of the headings of a page, as links have them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in found)


if __name__ == "__main__":
    PAGE.write_text(with_summary(PAGE.read_text()))
