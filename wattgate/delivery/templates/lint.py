"""What can be seen of a template's HTML without rendering it: lines are those of the source."""

import html
import re
from collections.abc import Iterable, Mapping

import tinycss2

from wattgate.delivery.templates.diagnostics import Finding, Part, Severity, place_of
from wattgate.delivery.templates.html_context import Reader
from wattgate.delivery.templates.mail_clients import DROPPED_TAGS, who_drops

MASK = "\ue000"
"""Stands for each character of a marker, so that what is around it can be read as HTML and CSS."""

_MARKER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_LINKS = ("href", "src", "background", "poster")


def lint(source: str) -> list[Finding]:
    """What is to be said of the HTML of a template: images, links, styles and elements."""
    masked = _MARKER.sub(_masked, source)
    reader = _Linter(masked)
    reader.read(masked)
    found = reader.findings
    if not reader.language:
        message = "the document does not say its language"
        hint = 'write <html lang="en">, for those who have it read out'
        found.append(Finding(Severity.INFO, "language-missing", Part.HTML, message, 1, 1, hint))
    return found


def _masked(marker: re.Match[str]) -> str:
    return "".join("\n" if character == "\n" else MASK for character in marker[0])


class _Linter(Reader):
    """Reads a masked source and says what it finds."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.findings: list[Finding] = []
        self.language = False
        self.style: list[str] = []

    def say(self, severity: Severity, code: str, message: str, hint: str, at: tuple[int, int] | None = None) -> None:
        """Say something of the tag that was read last, or of another place."""
        line, column = at or place_of(self.source, self.tag_position)
        self.findings.append(Finding(severity, code, Part.HTML, message.replace(MASK, ""), line, column, hint))

    def on_raw(self, text: str) -> None:
        if self.element == "style":
            self.style.append(text)

    def on_tag(self) -> None:
        if self.ends:
            if self.tag == "style" and self.style:
                self._sheet("".join(self.style))
            self.style = []
            return
        given = {name: html.unescape(value) for name, value in self.attributes.items()}
        self.language = self.language or bool(self.tag == "html" and given.get("lang"))
        self._element(self.tag, given)
        for name in _LINKS:
            self._link(name, given.get(name))
        if given.get("style"):
            self._declarations(tinycss2.parse_blocks_contents(given["style"]), None)

    def _element(self, tag: str, given: Mapping[str, str]) -> None:
        if tag == "img" and "alt" not in given:
            self.say(Severity.ERROR, "image-without-alt", "an image has no alt", 'write alt="", if it only decorates')
        if tag in DROPPED_TAGS:
            self.say(Severity.WARNING, "element-dropped", f"mail programs drop <{tag}>", "say it with text and links")
        if tag == "link" and "stylesheet" in given.get("rel", ""):
            self.say(Severity.WARNING, "style-not-loaded", "mail programs load no style sheets", "put it into <style>")
        if any(name.startswith("on") for name in given):
            self.say(Severity.WARNING, "script-dropped", "mail programs run no scripts", "leave it out")

    def _link(self, name: str, address: str | None) -> None:
        if address is None or MASK in address[:1]:
            return
        if not address.strip() or address.strip() == "#":
            self.say(Severity.WARNING, "link-empty", f"a {name} leads nowhere", "say where it leads")
        elif address.strip().lower().startswith("http:"):
            self.say(Severity.WARNING, "link-not-https", f"{address.strip()} is not https", "use https://")
        elif address.strip().lower().startswith(("javascript:", "vbscript:", "data:text")):
            self.say(Severity.ERROR, "link-runs-code", f"a {name} runs code", "link to a page")
        elif ":" not in address and not address.startswith(("#", "/")):
            self.say(Severity.WARNING, "link-relative", f"a {name} has no host", "begin it with https://")

    def _sheet(self, css: str) -> None:
        begins = place_of(self.source, self.tag_position - len(css))
        for rule in tinycss2.parse_stylesheet(css, skip_comments=True):
            if rule.type == "error":
                at = _within(begins, rule)
                self.say(Severity.WARNING, "css-broken", rule.message, "mail programs ignore it", at)
            elif rule.type == "qualified-rule":
                self._declarations(tinycss2.parse_blocks_contents(rule.content), begins)

    def _declarations(self, nodes: Iterable[tinycss2.ast.Node], begins: tuple[int, int] | None) -> None:
        """Say which declarations are dropped; `begins` is the place of their style sheet."""
        for node in nodes:
            if node.type != "declaration":
                continue
            value = tinycss2.serialize(node.value).strip()
            dropped = who_drops(node.name, value)
            if dropped:
                at = None if begins is None else _within(begins, node)
                message = f"{node.name}: {value} is dropped by {_listed(dropped)}"
                self.say(Severity.INFO, "css-dropped", message, "see that the mail does without", at)


def _within(begins: tuple[int, int], node: tinycss2.ast.Node) -> tuple[int, int]:
    """Where in the source a part of a style sheet stands that begins at a place."""
    line, column = begins
    return line + node.source_line - 1, node.source_column + (column - 1 if node.source_line == 1 else 0)


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def links_in(document: str) -> list[str]:
    """The addresses that a document links to."""
    reader = _Links()
    reader.read(document)
    return reader.addresses


class _Links(Reader):
    conditional = False

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def on_tag(self) -> None:
        if self.tag in ("a", "area") and not self.ends and self.attributes.get("href"):
            self.addresses.append(html.unescape(self.attributes["href"]))
