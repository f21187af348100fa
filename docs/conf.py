"""Configuration of the documentation site. `make docs` builds it into build/docs."""

import re
import tomllib
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = _PROJECT["name"]
release = version = _PROJECT["version"]
copyright = "wattgate contributors, Apache-2.0"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns: list[str] = []
nitpicky = True

myst_heading_anchors = 4
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # examples abbreviate with "...", which is not valid JSON or GraphQL

html_theme = "furo"
html_title = f"wattgate {release}"
html_copy_source = False
html_show_sphinx = False
html_search_scorer = str(Path(__file__).with_name("search_scorer.js"))


_OUTSIDE = {
    "README": "/index.md",
    "CHANGELOG": "/changelog.md",
    "SECURITY": "/security.md",
    "deploy/README": "/how-to/deploy.md",
}
"""Pages outside docs/, and the page of the site that takes their place."""


def _link_to_the_site(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace links to pages outside docs/, so that they work in the repository and on the site."""
    names = "|".join(_OUTSIDE)
    source[0] = re.sub(rf"\]\((?:\.\./)+({names})\.md", lambda link: f"]({_OUTSIDE[link[1]]}", source[0])


def _page_of_site(link: re.Match[str]) -> str:
    """Return a link of llms.txt to a page of the repository as one to the page of the site."""
    page = _OUTSIDE.get(link[1], link[1].removeprefix("docs")).lstrip("/").removesuffix(".md")
    return f"]({page}.html)"


def _write_llms_text(app: Sphinx, problem: Exception | None) -> None:
    """Write llms.txt into the root of a site of web pages."""
    if problem is None and app.builder.format == "html":
        text = (Path(__file__).parents[1] / "llms.txt").read_text()
        (Path(app.outdir) / "llms.txt").write_text(re.sub(r"\]\(([\w/-]+)\.md\)", _page_of_site, text))


def setup(app: Sphinx) -> None:
    """Register the `cost` blocks as plain text (tests find the worked example by that name), and the link rewriting."""
    app.add_lexer("cost", TextLexer)
    app.connect("source-read", _link_to_the_site)
    app.connect("build-finished", _write_llms_text)
