"""The documentation site builds without warnings, and its links are well-formed."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.node import required_node

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
STRICT = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
PAST = ("explanation/decisions/", "explanation/performance-history", "changelog")
FIRST_RESULTS = {
    "webhook": "how-to/webhooks",
    "consent": "how-to/consent-and-access-log",
    "migration": "how-to/migrate-rest-client",
    "python": "how-to/generate-rest-clients",
    "readings": "tutorials/first-query-and-subscription",
}
"""The page that the search of the site finds first for a word. Records of decisions have these words, too."""

WORDS_OF_OTHERS = {
    "home assistant": "how-to/migrate-rest-client",
    "optimistic": "how-to/graphql-clients",
}
"""The same for words that readers bring from elsewhere. No record has them."""

HOST = re.compile(r"([a-z0-9-]+\.)+[a-z]{2,}")


def prose(page: Path) -> str:
    """Return the text of a page without code blocks and inline code."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def external_links() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for link in re.findall(r"(?<!\w)https?:/[^\s)>\"|]*", prose(page)):
            yield page.name, link.rstrip(".,;:")


def build_site(sources: Path, folder: Path, *options: str) -> Path:
    """Build pages with the configuration of the site, and return the folder of the result.

    A link to an unknown page or heading fails the build.
    """
    command = [sys.executable, "-m", "sphinx", *STRICT, "-b", "html", "-c", str(DOCS), "-d", str(folder / "doctrees")]
    built = subprocess.run(
        [*command, *options, str(sources), str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder / "html"


@pytest.mark.long("builds the whole site, as `make docs` does")
@pytest.mark.timeout(600)
def test_site_contains_every_page_and_its_index_links_to_the_four_parts(tmp_path: Path) -> None:
    """The build has a theme of Sphinx: that of the site repeats the list of all pages on each, for half of the time."""
    site = build_site(DOCS, tmp_path, "-D", "html_theme=basic")
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").exists(), page
    index = (site / "index.html").read_text()
    for part in ("tutorials", "how-to", "reference", "explanation"):
        assert f'href="{part}/index.html"' in index
    listed = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text())
    assert len(listed) >= 40
    assert [page for page in listed if not page.endswith(".html") or not (site / page).exists()] == []
    check_search(site)


@pytest.mark.long("starts the builder of the site")
def test_theme_of_the_site_builds_pages_without_warnings(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "index.md").write_text("# Site\n\n```{toctree}\nguide\n```\n\nSee the [guide](guide.md).\n")
    (sources / "guide.md").write_text("# Guide\n\n## Step\n\n```sh\nwattgate serve\n```\n\nSee [its step](#step).\n")
    site = build_site(sources, tmp_path)
    page = (site / "guide.html").read_text()
    assert 'class="sidebar-tree"' in page
    assert 'href="index.html"' in page


def check_search(site: Path) -> None:
    """Check that the search finds a guide first, and that records of the past come after all other pages."""
    with required_node(ROOT) as node:
        command: list[str | Path] = [node.executable, Path(__file__).with_name("search_site.mjs"), site]
        command += [*FIRST_RESULTS, *WORDS_OF_OTHERS]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    assert {query: pages[:1] for query, pages in found.items()} == {
        query: [page] for query, page in {**FIRST_RESULTS, **WORDS_OF_OTHERS}.items()
    }
    for query in FIRST_RESULTS:
        pages = found[query]
        past = [page.startswith(PAST) for page in pages]
        assert True in past, f"{query}: no record, so it shows nothing"
        assert past == sorted(past), f"{query}: {pages}"


def test_make_docs_uses_the_same_strict_options() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert f"-m sphinx {' '.join(STRICT)} -b html docs build/docs" in makefile


def test_external_links_are_well_formed() -> None:
    links = list(external_links())
    assert len(links) >= 5
    for page, link in links:
        parts = urlsplit(link)
        host = parts.hostname or ""
        if host == "localhost" or host.replace(".", "").isdigit():
            assert host == "localhost" or ip_address(host).is_loopback, f"{page}: {link}"
        else:
            assert parts.scheme == "https", f"{page}: {link}"
            assert HOST.fullmatch(host), f"{page}: {link}"


def test_modules_on_the_architecture_page_exist() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:[\w-]+/)+(?:\w+\.py)?)`", page))
    assert len(named) >= 40
    for path in named:
        assert (ROOT / "wattgate" / path).exists() or (ROOT / path).exists(), path
