"""The file llms.txt, which lists the documentation for language models (https://llmstxt.org), made from its indexes.

`make generate` writes it. A test compares the file with the generated text.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILE = ROOT / "llms.txt"

PARTS = ("tutorials", "how-to", "reference", "explanation")
"""The folders of the documentation in the order of its first page."""

_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*])")


def llms_text() -> str:
    """Return the text of the file."""
    head = f"# {_title(DOCS / 'index.md')}\n\n> {_paragraph(DOCS / 'index.md')}\n"
    return head + "".join(_section(DOCS / part / "index.md") for part in PARTS)


def _section(index: Path) -> str:
    return f"\n## {_title(index)}\n\n" + "".join(f"{_line(page)}\n" for page in _pages(index))


def _pages(index: Path) -> Iterator[Path]:
    """Yield the pages that the tables of contents of a page list, in their order."""
    for table in re.findall(r"^```\{toctree\}\n(.*?)^```", index.read_text(), re.MULTILINE | re.DOTALL):
        yield from (index.parent / f"{name}.md" for name in re.findall(r"^[\w/-]+$", table, re.MULTILINE))


def _line(page: Path) -> str:
    """Return the link to a page with the first sentence of the page. A page that only includes another one names it."""
    if included := re.match(r"```\{include\} (\S+)", page.read_text()):
        page = (page.parent / included[1]).resolve()
    sentence = _END_OF_SENTENCE.split(_paragraph(page))[0]
    return f"- [{_title(page)}]({page.relative_to(ROOT).as_posix()})" + (f": {sentence}" if sentence else "")


def _title(page: Path) -> str:
    return page.read_text().partition("\n")[0].removeprefix("# ")


def _paragraph(page: Path) -> str:
    """Return the paragraph below the title in one line, without links, or nothing if a table of contents is there."""
    paragraph = " ".join(page.read_text().split("\n\n")[1].split())
    return "" if paragraph.startswith("```") else re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", paragraph)


if __name__ == "__main__":
    FILE.write_text(llms_text())
