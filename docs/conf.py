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


def setup(app: Sphinx) -> None:
    """Register the `cost` blocks as plain text (tests find the worked example by that name), and the link rewriting."""
    app.add_lexer("cost", TextLexer)
    app.connect("source-read", _link_to_the_site)
