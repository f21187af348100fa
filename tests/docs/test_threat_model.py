"""The threat model and the security checks name tests that exist, for every entry point and kind of threat."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPLANATION = ROOT / "docs" / "explanation"
PAGES = {name: (EXPLANATION / f"{name}.md").read_text() for name in ("threat-model", "security-checks")}
WITHOUT_THREATS = {"Assets", "Actors", "Trust boundaries", "Accepted risks"}
ENTRY_POINTS = {
    title: body
    for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGES["threat-model"], re.DOTALL | re.MULTILINE)
    if title not in WITHOUT_THREATS
}
KINDS = list("STRIDE")


def rows(entry_point: str) -> list[list[str]]:
    """Return the cells of the table of threats of an entry point, without its head."""
    lines = [line for line in ENTRY_POINTS[entry_point].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def existing_tests() -> set[str]:
    sources = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for source in sources for name in re.findall(r"^(?:async )?def (test_\w+)\(", source, re.MULTILINE)}


def test_every_named_test_exists(subtests: pytest.Subtests) -> None:
    existing = existing_tests()
    for page, text in PAGES.items():
        with subtests.test(page):
            named = set(re.findall(r"`(test_\w+)`", text))
            assert len(named) >= 30
            assert sorted(named - existing) == []


def test_every_entry_point_has_each_kind_of_threat_in_order(subtests: pytest.Subtests) -> None:
    assert ENTRY_POINTS
    for entry_point in ENTRY_POINTS:
        with subtests.test(entry_point):
            kinds = [kind for kind, *_ in rows(entry_point)]
            assert list(dict.fromkeys(kinds)) == KINDS
            assert kinds == sorted(kinds, key=KINDS.index)


def test_every_threat_has_a_measure_and_a_test(subtests: pytest.Subtests) -> None:
    threats = [(entry_point, row) for entry_point in ENTRY_POINTS for row in rows(entry_point)]
    assert threats
    for entry_point, (_, threat, measure, tests) in threats:
        with subtests.test(f"{entry_point}: {threat}"):
            assert threat
            assert measure
            if measure.startswith("Does not apply: "):
                assert tests == ""
            else:
                assert re.fullmatch(r"(?:`test_\w+`(?:, |$))+", tests), tests


def test_pages_are_linked_from_the_index_and_the_security_policy() -> None:
    index = (EXPLANATION / "index.md").read_text()
    policy = (ROOT / "SECURITY.md").read_text()
    for page in PAGES:
        assert re.search(rf"^{page}$", index, re.MULTILINE)
        assert f"(docs/explanation/{page}.md)" in policy
