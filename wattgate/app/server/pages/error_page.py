"""The page `/errors` that `docUrl` of each error links to: the cause of each code, and what to do."""

import re
from html import escape

from starlette.routing import Route

from wattgate.app.server.pages.constant_answers import html_answer
from wattgate.app.server.pages.pages import constant_route, read_template
from wattgate.error_guide import ERROR_GUIDE, ErrorGuide, status_and_retryable

_LINK = re.compile(r"\[([^\[\]]+)\]\([^\[()]+\)")
"""A Markdown link. Its target is a page of the documentation, which the gateway does not serve."""

_CODE = re.compile(r"`([^`]+)`")


def error_page_route() -> Route:
    """Return the route of the page of error codes."""
    links = "\n".join(f'<li><a href="#{code}">{code}</a></li>' for code in ERROR_GUIDE)
    sections = "\n".join(_section(code, guide) for code, guide in ERROR_GUIDE.items())
    content = read_template("errors/index.html").substitute(links=links, sections=sections)
    return constant_route("/errors", html_answer(content))


def _section(code: str, guide: ErrorGuide) -> str:
    status, retryable = status_and_retryable(code)
    steps = "".join(f"<li>{_to_html(step)}</li>" for step in guide.steps)
    retry = "Yes, later." if retryable else "No. The same request fails again."
    return (
        f'<section id="{code}"><h2><a href="#{code}">{code}</a></h2><dl>'
        f"<dt>Status</dt><dd>{status}</dd>"
        f"<dt>Retry</dt><dd>{retry}</dd>"
        f"<dt>Cause</dt><dd>{_to_html(guide.cause)}</dd>"
        f"<dt>What to do</dt><dd>{_to_html(guide.action)}<ul>{steps}</ul></dd>"
        f"<dt>Example</dt><dd><code>{escape(guide.example)}</code></dd>"
        "</dl></section>"
    )


def _to_html(text: str) -> str:
    """Return Markdown with inline code and links as HTML. Links become their text."""
    return _CODE.sub(r"<code>\1</code>", escape(_LINK.sub(r"\1", text), quote=False))
