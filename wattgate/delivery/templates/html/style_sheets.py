"""Styles of a mail that cannot move into its elements: those of other media and states, and of mail programs.

A program that inlines styles knows the elements of the document, and one appearance of them. So it would apply the
rules of `<style media="print">` to all, and drop `a:hover` or `[data-ogsc] p`. This module takes such rules out before.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import tinycss2
from tinycss2.ast import Node

from wattgate.delivery.templates.html.html_context import HtmlTokenizer, unescape

MAX_STYLE_DEPTH = 50
"""Maximum nesting of brackets in a style. The library that parses styles is recursive, and slow for deep ones."""

INLINED_PSEUDO_CLASSES = frozenset(
    (
        *("first-child", "last-child", "only-child", "nth-child", "nth-last-child", "not", "empty"),
        *("first-of-type", "last-of-type", "only-of-type", "nth-of-type", "nth-last-of-type"),
    )
)
"""Pseudo-classes that the library which inlines styles can match. No style of an element can express the others."""

INLINED_AT_RULES = frozenset(("layer", "charset"))
"""At-rules that the library reads. The others stay, because they depend on the client."""

COMBINATORS = (">", "+", "~")
CSS2_PSEUDO_ELEMENTS = frozenset(("before", "after", "first-line", "first-letter"))
"""Pseudo-elements that may be written with one colon."""

PROGRAM_ATTRIBUTES = ("data-ogsc", "data-ogsb", "data-ogac", "data-ogab", "data-outlook-cycle", "owa")
PROGRAM_CLASSES = ("ExternalClass", "ReadMsgBody", "yshortcuts", "moz-text-html")
PROGRAM_IDS = ("outlook", "MessageViewBody", "MessageWebViewDiv")
"""Names that mail programs add around the mail. Rules with them match nothing before."""

_ALL_MEDIA = ("", "all")
_BRACKET = re.compile(r"[()\[\]{}]")


class StyleElement(NamedTuple):
    """A style element: the position of its content, and the attribute `media`."""

    start: int
    end: int
    media: str


class SeparatedStyles(NamedTuple):
    """A document without the rules that cannot be inlined, and these rules in their order.

    Imports come first, because clients ignore them after other rules.
    """

    document: str
    imports: str
    kept: str


def separate_styles(document: str) -> SeparatedStyles:
    """Take the rules that cannot be inlined out of the style elements of a document.

    Rules of a style element with `media` become a media rule, which is one of them.
    """
    scan = scan_styles(document)
    pieces, imports, kept, position = list[str](), list[str](), list[str](), 0
    for sheet in scan.sheets:
        inlined, imported, apart = _separate_sheet(document[sheet.start : sheet.end], sheet.media)
        pieces += document[position : sheet.start], inlined
        imports.append(imported)
        kept.append(apart)
        position = sheet.end
    return SeparatedStyles("".join([*pieces, document[position:]]), _join(imports), _join(kept))


def add_styles(document: str, styles: str) -> str:
    """Add a style element to the end of the head of a document that has one."""
    if not styles:
        return document
    head_end = scan_styles(document).head_end
    return f"{document[:head_end]}<style>{styles}</style>{document[head_end:]}"


def scan_styles(document: str) -> "StyleScan":
    """Return the style elements of a document, and the end of its head."""
    scan = StyleScan()
    scan.feed(document)
    return scan


class StyleScan(HtmlTokenizer):
    """Finds the style elements, and the position before the first </head>, or 0 without one."""

    reads_conditional_comments = False

    def __init__(self) -> None:
        super().__init__()
        self.sheets: list[StyleElement] = []
        self.head_end = 0
        self._open: tuple[int, str] | None = None

    def on_tag(self) -> None:
        if self.tag_name == "head" and self.is_end_tag and not self.head_end:
            self.head_end = self.tag_position
        if self.tag_name != "style":
            return
        if not self.is_end_tag:
            media = unescape(self.attributes.get("media", "")).strip()
            self._open = self.position + 1, "" if media.lower() in _ALL_MEDIA else media
        elif self._open is not None:
            start, media = self._open
            self.sheets.append(StyleElement(start, self.tag_position, media))
            self._open = None


@lru_cache(maxsize=64)
def _separate_sheet(css: str, media: str) -> tuple[str, str, str]:
    """Return the part of a style sheet that can be inlined, its imports, and its other rules.

    Most mails of a template have the same style sheets, so the last ones are remembered.
    """
    if nesting_depth(css) > MAX_STYLE_DEPTH:
        return ("" if media else css), "", ""
    rules = [rule for rule in tinycss2.parse_stylesheet(css, skip_comments=True) if _is_valid(rule)]
    if media:
        return "", "", _media_rule(media, rules)
    inlined, imports, kept = list[str](), list[str](), list[str]()
    for rule in (rule for rule in rules if rule.type != "whitespace"):
        if rule.type == "qualified-rule":
            _separate_rule(rule, inlined, kept)
        elif rule.lower_at_keyword in INLINED_AT_RULES:
            inlined.append(tinycss2.serialize([rule]))
        else:
            (imports if rule.lower_at_keyword == "import" else kept).append(tinycss2.serialize([rule]))
    return (_in_element("\n".join(inlined)) if kept or imports else css), _join(imports), _join(kept)


def _separate_rule(rule: Node, inlined: list[str], kept: list[str]) -> None:
    """Add a style rule to the inlined rules, and to the kept ones with the selectors and nested rules that stay."""
    content = tinycss2.serialize(rule.content)
    nested = [
        node for node in tinycss2.parse_blocks_contents(rule.content) if node.type in ("qualified-rule", "at-rule")
    ]
    for target, is_kept in ((kept, True), (inlined, False)):
        selectors = [text for text, is_apart in _selectors(rule.prelude) if is_apart is is_kept]
        if selectors:
            target.append(f"{','.join(selectors)}{{{content}}}")
    if nested:
        kept.append(f"{tinycss2.serialize(rule.prelude).strip()}{{{tinycss2.serialize(nested)}}}")


def _join(rules: Iterable[str]) -> str:
    return _in_element("\n".join(filter(None, rules)))


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
    if not any(rule.type != "whitespace" for rule in rules):
        return ""
    query = tinycss2.parse_component_value_list(media)
    if any(node.type in ("error", "{} block") or node == ";" for node in query):
        return ""
    return _in_element(f"@media {tinycss2.serialize(query)}{{{tinycss2.serialize(rules)}}}")


def _in_element(css: str) -> str:
    """Return a style sheet that does not end the element that contains it."""
    return css.replace("</", "<\\/")


def _selectors(prelude: Sequence[Node]) -> Iterator[tuple[str, bool]]:
    """Yield each selector of a list as text, and whether it has to stay in a style element."""
    for nodes in _split(prelude):
        yield tinycss2.serialize(nodes).strip(), _stays(nodes)


def _split(prelude: Iterable[Node]) -> Iterator[list[Node]]:
    """Yield the nodes of each selector of a list."""
    nodes: list[Node] = []
    for node in prelude:
        if node == ",":
            yield nodes
            nodes = []
        else:
            nodes.append(node)
    yield nodes


def without_states(selectors: str) -> str:
    """Return a list of selectors without states and without the names that mail programs add.

    It selects the elements of the mail that the rule may apply to. Selectors of pseudo-elements are left out.
    """
    parts = (_trim(nodes) for nodes in _split(tinycss2.parse_component_value_list(selectors)))
    return ",".join(_without_states(nodes) for nodes in parts if nodes and not _has_pseudo_element(nodes))


def _trim(selector: Sequence[Node]) -> list[Node]:
    """Return the nodes of a selector without the spaces around it and around its combinators."""
    return [
        node
        for before, node, after in zip([None, *selector], selector, [*selector[1:], None], strict=False)
        if node.type != "whitespace" or not any(side is None or side in COMBINATORS for side in (before, after))
    ]


def _without_states(selector: Sequence[Node]) -> str:
    pieces, compound = list[str](), list[str]()
    for before, node, after in zip([None, *selector], selector, [*selector[1:], None], strict=False):
        if node in COMBINATORS or node.type == "whitespace":
            pieces += ("".join(compound) or "*", tinycss2.serialize([node]))
            compound = []
        elif name_of(node) == "root":
            compound.append("root")
        elif node == ":" and after is not None and name_of(after) != "root" and _is_state(node, after):
            continue
        elif _is_added_by_program(before, node, after):
            compound = compound[:-1] if before == "." else compound
        elif not _is_state(before, node):
            compound.append(tinycss2.serialize([node]))
    return "".join([*pieces, "".join(compound) or "*"])


def _has_pseudo_element(selector: Sequence[Node]) -> bool:
    return any(
        before == ":" and (node == ":" or name_of(node) in CSS2_PSEUDO_ELEMENTS) for before, node in pairwise(selector)
    )


def _stays(selector: Sequence[Node]) -> bool:
    nodes = [node for node in selector if node.type != "whitespace"]
    return any(
        _is_state(before, node) or _is_added_by_program(before, node, after)
        for before, node, after in zip([None, *nodes], nodes, [*nodes[1:], None], strict=False)
    )


def _is_state(before: Node | None, node: Node) -> bool:
    """Return whether a part of a selector is a pseudo-element, or a pseudo-class that cannot be inlined."""
    if node == "&":
        return True
    if before != ":":
        return False
    return node == ":" or (
        name_of(node) not in INLINED_PSEUDO_CLASSES or (node.type == "function" and _stays(node.arguments))
    )


def _is_added_by_program(before: Node | None, node: Node, after: Node | None) -> bool:
    """Return whether a part of a selector names something that mail programs add around the mail."""
    match node.type:
        case "hash":
            return node.value in PROGRAM_IDS
        case "ident" if before == ".":
            return node.value in PROGRAM_CLASSES
        case "ident":  # Gmail writes a <u> before the mail
            return name_of(node) == "u" and (after == "+" or after == "~")
        case "[] block":
            return any(name_of(part) in PROGRAM_ATTRIBUTES for part in node.content)
    return False


def name_of(node: Node) -> str:
    """Return the name of an identifier or of a function in lower case, otherwise an empty text."""
    return str(getattr(node, "lower_value", "") or getattr(node, "lower_name", ""))
