"""Lint of a template's HTML source, without rendering. Lines and columns are those of the source."""

import re
from collections.abc import Iterable, Mapping

import tinycss2

from wattgate.delivery.templates.html.html_context import HtmlTokenizer, unescape
from wattgate.delivery.templates.html.mail_clients import (
    FIGURES,
    Clients,
    clients_without_declaration,
    join_clients,
    unsupported_at_rule_parts,
    unsupported_selector_parts,
)
from wattgate.delivery.templates.html.style_sheets import MAX_STYLE_DEPTH, nesting_depth
from wattgate.delivery.templates.language.diagnostics import Finding, LineIndex, Severity, TemplatePart

MASK_CHARACTER = "\ue000"
"""Replaces each character of a marker, so that the rest of the source can be parsed as HTML and CSS."""

_MARKER_START = re.compile(r"\{[{%]")
_LINE_TEXT = re.compile(r"[^\n]+")
_MARKER_ENDS = {"{{": "}}", "{%": "%}"}
STRUCTURE_TAGS = frozenset(("html", "head", "body", "style", "base", "link"))
"""Elements that clients replace by their own. Styles and links are checked otherwise."""

NESTED_RULES = frozenset(("media", "supports", "layer", "container"))
"""At-rules that contain rules."""

_URL_ATTRIBUTES = ("href", "src", "background", "poster")


def lint_html(source: str) -> list[Finding]:
    """Return findings about the images, links, styles and elements of a template's HTML."""
    masked = _mask_markers(source)
    linter = _Linter(masked)
    linter.feed(masked)
    findings = linter.findings
    if not linter.has_language:
        message = "the document has no language"
        hint = 'write <html lang="en">, for screen readers'
        findings.append(Finding(Severity.INFO, "language-missing", TemplatePart.HTML, message, 1, 1, hint))
    return findings


def _mask_markers(source: str) -> str:
    """Return the source with mask characters in place of its markers. Line breaks remain."""
    pieces: list[str] = []
    position, written, unclosed = 0, 0, set[str]()
    while start := _MARKER_START.search(source, position):
        opening, position = start[0], start.start() + 1
        if opening in unclosed:
            continue
        end = source.find(_MARKER_ENDS[opening], start.end())
        if end < 0:
            unclosed.add(opening)  # no later one ends either, so it is not searched for again
            continue
        position = end + 2
        pieces += source[written : start.start()], _LINE_TEXT.sub(_mask, source[start.start() : position])
        written = position
    return "".join([*pieces, source[written:]])


def _mask(text: re.Match[str]) -> str:
    return MASK_CHARACTER * len(text[0])


class _Linter(HtmlTokenizer):
    """Reads a masked source and collects findings."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.lines = LineIndex(source)
        self.findings: list[Finding] = []
        self.has_language = False
        self.style_chunks: list[str] = []

    def add_finding(
        self, severity: Severity, code: str, message: str, hint: str, position: tuple[int, int] | None = None
    ) -> None:
        """Add a finding about the last tag, or about another position."""
        line, column = position or self.lines.position(self.tag_position)
        self.findings.append(
            Finding(severity, code, TemplatePart.HTML, message.replace(MASK_CHARACTER, ""), line, column, hint)
        )

    def on_raw(self, text: str) -> None:
        if self.element_name == "style":
            self.style_chunks.append(text)

    def on_tag(self) -> None:
        if self.is_end_tag:
            if self.tag_name == "style" and self.style_chunks:
                self._check_style_sheet("".join(self.style_chunks))
            self.style_chunks = []
            return
        attributes = {name: unescape(value) for name, value in self.attributes.items()}
        self.has_language = self.has_language or bool(self.tag_name == "html" and attributes.get("lang"))
        self._check_element(self.tag_name, attributes)
        for name in _URL_ATTRIBUTES:
            self._check_link(name, attributes.get(name))
        if attributes.get("style") and self._check_style_depth(attributes["style"], None):
            self._check_declarations(tinycss2.parse_blocks_contents(attributes["style"]), None)

    def _check_element(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "img" and "alt" not in attributes:
            self.add_finding(
                Severity.ERROR,
                "image-without-alt",
                "an image has no alt",
                'write alt="" if the image is only decoration',
            )
        if tag in ACTIVE_TAGS:
            self.add_finding(
                Severity.WARNING, "element-dropped", f"mail programs drop <{tag}>", "use text and links instead"
            )
        elif tag not in STRUCTURE_TAGS and (clients := FIGURES.elements.get(tag)):
            message = f"<{tag}> is dropped by {join_clients(clients)}"
            self.add_finding(Severity.WARNING, "element-dropped", message, "use text and links instead")
        if tag == "link" and "stylesheet" in attributes.get("rel", ""):
            self.add_finding(
                Severity.WARNING,
                "style-not-loaded",
                "mail programs load no style sheets",
                "move the styles into <style>",
            )
        if any(name.startswith("on") for name in attributes):
            self.add_finding(Severity.WARNING, "script-dropped", "mail programs run no scripts", "remove the attribute")

    def _check_link(self, name: str, address: str | None) -> None:
        if address is None or MASK_CHARACTER in address[:1]:
            return
        if not address.strip() or address.strip() == "#":
            self.add_finding(Severity.WARNING, "link-empty", f"the link in {name} is empty", "add the address")
        elif address.strip().lower().startswith("http:"):
            self.add_finding(Severity.WARNING, "link-not-https", f"{address.strip()} is not https", "use https://")
        elif address.strip().lower().startswith(("javascript:", "vbscript:", "data:text")):
            self.add_finding(Severity.ERROR, "link-runs-code", f"the link in {name} runs code", "link to a page")
        elif ":" not in address and not address.startswith(("#", "/")):
            self.add_finding(
                Severity.WARNING, "link-relative", f"the link in {name} has no host", "begin it with https://"
            )

    def _check_style_sheet(self, css: str) -> None:
        sheet_start = self.lines.position(self.tag_position - len(css))
        if not self._check_style_depth(css, sheet_start):
            return
        self._check_rules(tinycss2.parse_stylesheet(css, skip_comments=True), sheet_start)

    def _check_rules(self, rules: Iterable[tinycss2.ast.Node], sheet_start: tuple[int, int]) -> None:
        """Report rules that are broken, and parts of them that mail programs drop."""
        for rule in rules:
            if rule.type == "error":
                position = _position_within(sheet_start, rule)
                self.add_finding(Severity.WARNING, "css-broken", rule.message, "mail programs ignore it", position)
            elif rule.type == "qualified-rule":
                for part, clients in unsupported_selector_parts(rule.prelude):
                    selector = tinycss2.serialize(rule.prelude).strip()
                    self._add_dropped(part if part == selector else f"{part} in {selector}", clients, sheet_start, rule)
                self._check_declarations(tinycss2.parse_blocks_contents(rule.content), sheet_start)
            elif rule.type == "at-rule":
                for part, clients in unsupported_at_rule_parts(rule.at_keyword, rule.prelude):
                    self._add_dropped(part, clients, sheet_start, rule)
                if rule.content and rule.lower_at_keyword in NESTED_RULES:
                    self._check_rules(
                        tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), sheet_start
                    )

    def _add_dropped(
        self, what: str, clients: Clients, sheet_start: tuple[int, int] | None, node: tinycss2.ast.Node
    ) -> None:
        position = None if sheet_start is None else _position_within(sheet_start, node)
        message = f"{what} is dropped by {join_clients(clients)}"
        self.add_finding(Severity.INFO, "css-dropped", message, "check that the mail looks right without it", position)

    def _check_style_depth(self, css: str, position: tuple[int, int] | None) -> bool:
        """Return whether a style is flat enough to be parsed. Report it if it is not."""
        is_flat = nesting_depth(css) <= MAX_STYLE_DEPTH
        if not is_flat:
            message = f"more than {MAX_STYLE_DEPTH} brackets of a style are nested"
            self.add_finding(Severity.WARNING, "css-broken", message, "mail programs ignore it", position)
        return is_flat

    def _check_declarations(self, nodes: Iterable[tinycss2.ast.Node], sheet_start: tuple[int, int] | None) -> None:
        """Report declarations that mail programs drop. `sheet_start` is the position of their style sheet, if any."""
        for node in nodes:
            if node.type != "declaration":
                continue
            value = tinycss2.serialize(node.value).strip()
            clients = clients_without_declaration(node.name, value, node.value)
            if clients:
                self._add_dropped(f"{node.name}: {value}", clients, sheet_start, node)


def _position_within(start: tuple[int, int], node: tinycss2.ast.Node) -> tuple[int, int]:
    """Return the position in the source of a node of a style sheet that starts at `start`."""
    line, column = start
    return line + node.source_line - 1, node.source_column + (column - 1 if node.source_line == 1 else 0)


def extract_links(document: str) -> list[str]:
    """Return the targets of the links of a document."""
    reader = _LinkExtractor()
    reader.feed(document)
    return reader.addresses


def extract_images(document: str) -> list[str]:
    """Return the sources of the images of a document."""
    reader = _LinkExtractor()
    reader.feed(document)
    return reader.images


class _LinkExtractor(HtmlTokenizer):
    reads_conditional_comments = False

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.images: list[str] = []

    def on_tag(self) -> None:
        if self.is_end_tag:
            return
        if self.tag_name in ("a", "area") and self.attributes.get("href"):
            self.addresses.append(unescape(self.attributes["href"]))
        self.images += [
            unescape(self.attributes[name])
            for name in ("src", "background")
            if self.attributes.get(name) and (name == "background" or self.tag_name == "img")
        ]


# Elements that run code or load a document. No mail client shows them, so the figures of clients do not have them.

ACTIVE_TAGS = frozenset(("script", "iframe", "embed", "applet", "input", "button"))
