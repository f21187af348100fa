"""The page about OWASP ASVS has each requirement of the standard, with tests and pages that exist."""

import re

import pytest

from tests.support.asvs import PAGE, ROOT, headings, problems, read_rows, read_standard

TEXT = PAGE.read_text()


def test_page_has_each_requirement_with_evidence_that_exists() -> None:
    assert problems(TEXT) == []


def test_standard_has_as_many_requirements_as_it_says() -> None:
    levels = list(read_standard().values())
    assert (levels.count("1"), levels.count("2"), len(levels)) == (70, 183, 253)


def first_row(state: str, containing: str = "") -> str:
    """Return the first line of the page with a row in this state."""
    return next(line for line in TEXT.splitlines() if re.match(rf"\| \d.*\| {state} \|", line) and containing in line)


MET = first_row("met", "`tests/")
OPEN = first_row("open")
DOCUMENTED = first_row("met", "](")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (MET + "\n", "", "is missing"),
        (MET, f"{MET}\n{MET}", "has 2 rows"),
        (MET, re.sub(r"^\| \d+\.\d+\.\d+", "| 1.1.9", MET), "1.1.9 is not a requirement"),
        (MET, re.sub(r"^\| \d+\.\d+\.\d+", "| 6.7.1", MET), "6.7.1 is not a requirement"),  # level 3
        (MET, re.sub(r"^(\| \S+ \|) (\d)", r"\1 3", MET), "in the standard, not 3"),
        (MET, MET.replace("::test_", "::test_no_"), "has no test_no_"),
        (MET, MET.replace("`tests/", "`tests/nowhere/"), "tests/nowhere/"),
        (MET, re.sub(r"`[^|]*`", "The code does it.", MET), "nothing shows that it is met"),
        (MET, re.sub(r"`[^|]*`", "[Page](asvs.md)", MET), "nothing shows that it is met"),
        (MET, MET.replace("| met |", "| done |"), "the state 'done' is not one of"),
        (MET, MET.replace("| met |", "| met | no |"), "cells, not 5"),
        (MET, MET.replace("| ", "|", 1), "has another form"),
        (MET, re.sub(r"^\| ", "| V", MET), "has another form"),
        (OPEN, re.sub(r"\| [^|]* \|$", "| - |", OPEN), "fewer than 3 words"),
        (OPEN, re.sub(r" \|$", " (`test_that_nobody_has_written`) |", OPEN), "no test has the name"),
        (DOCUMENTED, re.sub(r"\]\([^)]*\)", "](../reference/nowhere.md)", DOCUMENTED), "nowhere.md leads nowhere"),
        (DOCUMENTED, re.sub(r"\]\([^)#]*", r"\g<0>#no-heading", DOCUMENTED), "leads nowhere"),
        ("| 1 | ", "| 1 | 1", "the summary is not that of the rows"),
        ("## V2 ", "## V3 ", "below the heading of chapter 3"),
    ],
)
def test_each_kind_of_defect_is_found(old: str, new: str, problem: str) -> None:
    assert old in TEXT
    assert old != new
    assert [found for found in problems(TEXT.replace(old, new, 1)) if problem in found] != []


def test_rows_in_another_order_are_found() -> None:
    first, second = (line for line in TEXT.splitlines() if re.match(r"\| 1\.1\.[12] ", line))
    swapped = TEXT.replace(f"{first}\n{second}", f"{second}\n{first}")
    assert "the rows are not in the order of the standard" in problems(swapped)


def test_headings_have_the_names_of_links() -> None:
    assert "trust-boundaries" in headings(ROOT / "docs" / "explanation" / "threat-model.md")
    assert "capabilities" in headings(ROOT / "docs" / "reference" / "credentials.md")


ABSENT = re.compile(
    r"^ *(?:import|from) +(?:xml|lxml|pickle|shelve|marshal|dill|yaml|ldap3?|memcache|pymemcache|pylibmc|aiortc)\b"
    r"|shell=True|os\.system\(|os\.popen\(|create_subprocess_shell|(?<![\w.])eval\(",
    re.MULTILINE,
)
"""Code of subjects that are not applicable because the gateway does not have them."""


def test_gateway_lacks_the_subjects_that_are_not_applicable() -> None:
    assert [path.name for path in (ROOT / "wattgate").rglob("*.py") if ABSENT.search(path.read_text())] == []
    for source in ("import pickle", "    from xml.etree import ElementTree", "run(a, shell=True)", "x = eval(y)"):
        assert ABSENT.search(source), source
    scripts = (ROOT / "wattgate" / "app" / "static").rglob("*.js")
    assert [path.name for path in scripts if re.search(r"postMessage\(|RTCPeerConnection", path.read_text())] == []


def test_no_row_is_met_by_itself_alone() -> None:
    """The page proves nothing: the tests of this file are no evidence."""
    assert [row.number for row in read_rows(TEXT) if "tests/docs/test_asvs.py" in row.evidence] == []
