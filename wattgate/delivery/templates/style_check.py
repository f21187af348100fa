"""Check of the styles that stay in the head of a mail: which of them lose, and whether clients take all of them.

A style of an element wins against a rule of the head, unless the rule is `!important`. Before the styles were inlined,
the rule may have won.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import tinycss2
from tinycss2.ast import Node

from wattgate.delivery.templates.html.html_context import HtmlTokenizer, unescape
from wattgate.delivery.templates.html.mail_clients import FIGURES, join_clients, unsupported_at_rule_parts
from wattgate.delivery.templates.html.style_sheets import (
    MAX_STYLE_DEPTH,
    nesting_depth,
    scan_styles,
    without_states,
)
from wattgate.delivery.templates.language.diagnostics import Finding, LineIndex, Severity, TemplatePart
from wattgate.delivery.templates.rendering import CSS_INLINER

CONDITIONS = frozenset(("media", "supports"))
"""At-rules whose rules apply to elements under a condition."""

MAX_CHECKED_RULES = 300
"""Maximum rules of the head that are compared with the styles of elements."""

MAX_NAME_PARTS = 6
"""Parts of the name of a property that are compared. No property has more."""

_MARK = "--wattgate-rule-"


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A rule of the head. `condition` is the at-rule around it, or None, and `start` its position in the sheet."""

    selector: str
    condition: Node | None
    declarations: tuple[Node, ...]
    start: tuple[int, int]

    @property
    def name(self) -> str:
        """The selector and its condition, for messages."""
        if self.condition is None:
            return self.selector
        return f"{self.selector} in @{self.condition.at_keyword} {tinycss2.serialize(self.condition.prelude).strip()}"


def style_findings(source: str, document: str) -> list[Finding]:
    """Return findings about the rules in the head of a document with inlined styles. `source` is its template."""
    sheets = [document[sheet.start : sheet.end] for sheet in scan_styles(document).sheets]
    if not sheets or any(nesting_depth(css) > MAX_STYLE_DEPTH for css in sheets):
        return []
    rules = [rule for css in sheets for rule in _rules(css)][:MAX_CHECKED_RULES]
    positions = _positions(source)
    findings = [_weakened(rule, weak, positions) for rule, weak in _find_weak(document, rules)]
    return [*findings, *_size_findings(sheets)]


def _size_findings(sheets: Iterable[str]) -> Iterator[Finding]:
    size = max(len(css.encode()) for css in sheets)
    for client, limit in FIGURES.style_bytes.items():
        if size > limit:
            message = f"the styles of the head have {size:,} bytes, and {client} ignores more than {limit:,}"
            hint = "remove rules that clients ignore, and media queries that repeat each other"
            yield Finding(Severity.WARNING, "style-too-large", TemplatePart.HTML, message, None, None, hint)


def _weakened(rule: KeptRule, names: Sequence[str], positions: dict[str, tuple[int, int]]) -> Finding:
    line, column = positions.get(_key(rule), (None, None))
    without = [] if rule.condition is None else _clients_without(rule.condition)
    clients = f"all clients but {join_clients(without)}" if without else "all clients that read it"
    message = f"{', '.join(names)} of {rule.name} loses against the style of the element, in {clients}"
    hint = "write !important after the value"
    return Finding(Severity.WARNING, "style-loses", TemplatePart.HTML, message, line, column, hint)


def _clients_without(condition: Node) -> tuple[str, ...]:
    parts = unsupported_at_rule_parts(condition.at_keyword, condition.prelude)
    return tuple(dict.fromkeys(client for _, clients in parts for client in clients))


def _rules(css: str) -> Iterator[KeptRule]:
    """Yield the style rules of a sheet, and those of its conditions."""
    for rule in tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True):
        if rule.type == "at-rule" and rule.lower_at_keyword in CONDITIONS and rule.content:
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            yield from (_kept_rule(each, rule) for each in inner if each.type == "qualified-rule")
        elif rule.type == "qualified-rule":
            yield _kept_rule(rule, None)


def _kept_rule(rule: Node, condition: Node | None) -> KeptRule:
    nodes = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
    declarations = tuple(node for node in nodes if node.type == "declaration")
    return KeptRule(
        tinycss2.serialize(rule.prelude).strip(), condition, declarations, (rule.source_line, rule.source_column)
    )


def _key(rule: KeptRule) -> str:
    """Return a text that is the same for a rule in the source and in the head."""
    return "".join(rule.name.split())


def _positions(source: str) -> dict[str, tuple[int, int]]:
    """Return the positions in the source of the rules that may stay in the head, by their keys."""
    positions: dict[str, tuple[int, int]] = {}
    lines = LineIndex(source)
    for sheet in scan_styles(source).sheets:
        css = source[sheet.start : sheet.end]
        if nesting_depth(css) > MAX_STYLE_DEPTH:
            continue
        first_line, first_column = lines.position(sheet.start)
        wrapped = f"@media {sheet.media}{{{css}}}" if sheet.media else css
        shift = len(wrapped) - len(css) - 1 if sheet.media else 0
        for rule in _rules(wrapped):
            line, column = rule.start
            column += first_column - 1 - shift if line == 1 else 0
            positions.setdefault(_key(rule), (first_line + line - 1, column))
    return positions


def _find_weak(document: str, rules: Sequence[KeptRule]) -> Iterator[tuple[KeptRule, list[str]]]:
    """Yield the rules that select an element whose style sets the same properties, with the names of these."""
    selectors = [without_states(rule.selector) if rule.declarations else "" for rule in rules]
    marks = "".join(f"{selector}{{{_MARK}{number}:1}}" for number, selector in enumerate(selectors) if selector)
    if not marks:
        return
    styles = _ElementStyles()
    styles.feed(CSS_INLINER.inline(f"{document}<style>{marks}</style>"))
    weak: dict[int, dict[str, None]] = {}
    for style in styles.marked:
        nodes = tinycss2.parse_blocks_contents(style, skip_comments=True, skip_whitespace=True)
        own = _ElementStyle.of([node for node in nodes if node.type == "declaration"])
        for number in own.rule_numbers:
            names = (kept.name for kept in rules[number].declarations if own.wins(kept))
            weak.setdefault(number, {}).update(dict.fromkeys(names))
    yield from ((rules[number], list(names)) for number, names in sorted(weak.items()) if names)


@dataclass(frozen=True, slots=True)
class _ElementStyle:
    """The style of an element: its declarations by name, by each longer name's beginning, and its marks."""

    declarations: dict[str, Node]
    longhands: dict[str, Node]
    rule_numbers: tuple[int, ...]

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "_ElementStyle":
        declarations = {node.lower_name: node for node in nodes}
        marks = [name for name in declarations if name.startswith(_MARK)]
        longhands = {
            beginning: node
            for name, node in declarations.items()
            for beginning in _beginnings(name)
            if not name.startswith("-")
        }
        return cls(declarations, longhands, tuple(int(name.removeprefix(_MARK)) for name in marks))

    def wins(self, kept: Node) -> bool:
        """Return whether a declaration of the head has no effect beside those of the element, which are others."""
        name = kept.lower_name
        same = self.declarations.get(name)
        if same is not None:
            values = [tinycss2.serialize(node.value).split() for node in (kept, same)]
            return values[0] != values[1] and (same.important or not kept.important)
        shorthands = (self.declarations.get(beginning) for beginning in _beginnings(name))
        related = [node for node in (*shorthands, self.longhands.get(name)) if node is not None]
        return any(node.important or not kept.important for node in related)


def _beginnings(name: str) -> list[str]:
    """Return the names that a property belongs to, such as border and border-top of border-top-color."""
    parts = name.split("-")[:MAX_NAME_PARTS]
    return ["-".join(parts[:length]) for length in range(1, len(parts))]


class _ElementStyles(HtmlTokenizer):
    """Collects the styles of the elements that have a mark. Equal ones count once."""

    reads_conditional_comments = False

    def __init__(self) -> None:
        super().__init__()
        self.marked: dict[str, None] = {}

    def on_tag(self) -> None:
        style = self.attributes.get("style", "")
        if _MARK in style and nesting_depth(style) <= MAX_STYLE_DEPTH:
            self.marked[unescape(style)] = None
