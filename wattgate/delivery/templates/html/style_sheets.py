"""Styles of a mail that cannot move into its elements: those of other media and states, and of mail programs.

A program that inlines styles knows the elements of the document, and one appearance of them. So it would apply the
rules of `<style media="print">` to all, and drop `a:hover` or `[data-ogsc] p`. This module takes such rules out before.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import tinycss2
from tinycss2.ast import Node

from wattgate.delivery.templates.html.html_context import HtmlTokenizer, unescape

MAX_STYLE_DEPTH = 50
"""Maximum nesting of brackets in a style. The library that parses styles is recursive, and slow for deep ones."""

STATES = frozenset(
    (
        *("hover", "active", "focus", "focus-visible", "focus-within", "visited", "link", "any-link", "target"),
        *("checked", "enabled", "disabled", "before", "after", "first-line", "first-letter", "root"),
    )
)
"""Pseudo-classes and pseudo-elements (also as written in CSS 2) that no style of an element can express."""

PROGRAM_ATTRIBUTES = ("data-ogsc", "data-ogsb", "data-ogac", "data-ogab", "data-outlook-cycle", "owa")
PROGRAM_CLASSES = ("ExternalClass", "ReadMsgBody", "yshortcuts", "moz-text-html")
PROGRAM_IDS = ("outlook", "MessageViewBody", "MessageWebViewDiv")
"""Names that mail programs add around the mail. Rules with them match nothing before."""

_ALL_MEDIA = ("", "all")
_BRACKET = re.compile(r"[()\[\]{}]")


class _Sheet(NamedTuple):
    """A style element: the position of its content, and the attribute `media`."""

    start: int
    end: int
    media: str


class SeparatedStyles(NamedTuple):
    """A document without the rules that cannot be inlined, and these rules."""

    document: str
    kept: str


def separate_styles(document: str) -> SeparatedStyles:
    """Take the rules that cannot be inlined out of the style elements of a document.

    Rules of a style element with `media` become at-rules, which stay in the document.
    """
    scan = _StyleScan()
    scan.feed(document)
    pieces, kept, position = list[str](), list[str](), 0
    for sheet in scan.sheets:
        inlined, apart = _separate_sheet(document[sheet.start : sheet.end], sheet.media)
        pieces += document[position : sheet.start], inlined
        kept.append(apart)
        position = sheet.end
    return SeparatedStyles("".join([*pieces, document[position:]]), "".join(kept))


def add_styles(document: str, styles: str) -> str:
    """Add a style element to the head of a document that has one."""
    if not styles:
        return document
    scan = _StyleScan()
    scan.feed(document)
    return f"{document[: scan.head_start]}<style>{styles}</style>{document[scan.head_start :]}"


class _StyleScan(HtmlTokenizer):
    """Finds the style elements, and the position after the first <head>, or 0 without one."""

    reads_conditional_comments = False

    def __init__(self) -> None:
        super().__init__()
        self.sheets: list[_Sheet] = []
        self.head_start = 0
        self._open: tuple[int, str] | None = None

    def on_tag(self) -> None:
        if self.tag_name == "head" and not self.is_end_tag and not self.head_start:
            self.head_start = self.position + 1
        if self.tag_name != "style":
            return
        if not self.is_end_tag:
            media = unescape(self.attributes.get("media", "")).strip()
            self._open = self.position + 1, "" if media.lower() in _ALL_MEDIA else media
        elif self._open is not None:
            start, media = self._open
            self.sheets.append(_Sheet(start, self.tag_position, media))
            self._open = None


@lru_cache(maxsize=64)
def _separate_sheet(css: str, media: str) -> tuple[str, str]:
    """Return the part of a style sheet that can be inlined, with its at-rules, and the other rules.

    Most mails of a template have the same style sheets, so the last ones are remembered.
    """
    if nesting_depth(css) > MAX_STYLE_DEPTH:
        return ("" if media else css), ""
    rules = [rule for rule in tinycss2.parse_stylesheet(css, skip_comments=True) if _is_valid(rule)]
    if media:
        return _media_rule(media, rules), ""
    inlined, kept = list[str](), list[str]()
    for rule in (rule for rule in rules if rule.type != "whitespace"):
        if rule.type != "qualified-rule":
            inlined.append(tinycss2.serialize([rule]))
            continue
        content = tinycss2.serialize(rule.content)
        for target, is_kept in ((kept, True), (inlined, False)):
            selectors = [text for text, is_apart in _selectors(rule.prelude) if is_apart is is_kept]
            if selectors:
                target.append(f"{','.join(selectors)}{{{content}}}")
    return (_in_element("\n".join(inlined)) if kept else css), _in_element("\n".join(kept))


def nesting_depth(css: str) -> int:
    """Return the deepest nesting of brackets in a style."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(css):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _is_valid(rule: Node) -> bool:
    """Return whether browsers apply a rule. One after a bracket too many would end the rule that is put around it."""
    return rule.type != "error" and not any(node.type == "error" for node in getattr(rule, "prelude", ()))


def _media_rule(media: str, rules: Sequence[Node]) -> str:
    """Return the rules in a media rule. Return nothing if the query is none: browsers apply such a sheet to nothing."""
    query = tinycss2.parse_component_value_list(media)
    if any(node.type in ("error", "{} block") or node == ";" for node in query):
        return ""
    return _in_element(f"@media {tinycss2.serialize(query)}{{{tinycss2.serialize(rules)}}}")


def _in_element(css: str) -> str:
    """Return a style sheet that does not end the element that contains it."""
    return css.replace("</", "<\\/")


def _selectors(prelude: Sequence[Node]) -> Iterator[tuple[str, bool]]:
    """Yield each selector of a list as text, and whether it has to stay in a style element."""
    nodes: list[Node] = []
    for node in [*prelude, None]:
        if node is not None and node != ",":
            nodes.append(node)
            continue
        yield tinycss2.serialize(nodes).strip(), _stays(nodes)
        nodes = []


def _stays(selector: Sequence[Node]) -> bool:
    nodes = [node for node in selector if node.type != "whitespace"]
    return any(
        _is_state(before, node) or _is_added_by_program(before, node, after)
        for before, node, after in zip([None, *nodes], nodes, [*nodes[1:], None], strict=False)
    )


def _is_state(before: Node | None, node: Node) -> bool:
    """Return whether a part of a selector is a pseudo-element or the state of an element."""
    return before == ":" and (node == ":" or _name_of(node) in STATES)


def _is_added_by_program(before: Node | None, node: Node, after: Node | None) -> bool:
    """Return whether a part of a selector names something that mail programs add around the mail."""
    match node.type:
        case "hash":
            return node.value in PROGRAM_IDS
        case "ident" if before == ".":
            return node.value in PROGRAM_CLASSES
        case "ident":  # Gmail writes a <u> before the mail
            return _name_of(node) == "u" and (after == "+" or after == "~")
        case "[] block":
            return any(_name_of(part) in PROGRAM_ATTRIBUTES for part in node.content)
    return False


def _name_of(node: Node) -> str:
    """Return the name of an identifier or of a function in lower case, otherwise an empty text."""
    return str(getattr(node, "lower_value", "") or getattr(node, "lower_name", ""))
