"""What a template asks of its data: the variables that it names, and data made up from their names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import liquid
from liquid import RenderContext
from liquid.builtin.expressions import FilteredExpression, LoopExpression, Path
from liquid.builtin.tags.assign_tag import AssignNode
from liquid.builtin.tags.for_tag import ForNode

from wattgate.delivery.templates.diagnostics import Part, place_of
from wattgate.delivery.templates.engine import parse
from wattgate.delivery.templates.language import NUMBERS, ValueNode
from wattgate.delivery.templates.output_writer import spelt

Segments = tuple[str | int, ...]

EACH = "[]"
"""Stands in a path for any item of a list."""

GIVEN = frozenset(("now", "today", "forloop"))
"""Names that the language itself has."""

SAMPLES = (
    (("url", "link", "href"), "https://example.com/details"),
    (("image", "logo", "photo"), "https://example.com/picture.png"),
    (("mail",), "ada@example.com"),
    (("postcode", "postal"), "A1 1AA"),
    (("date", "time", "until", "since"), "2026-01-05T18:30:00Z"),
    (("cost", "price", "amount", "total", "bill", "spend", "budget", "saving"), "12.34"),
    (("kwh", "energy", "usage", "consumption", "percent", "reading"), "4.2"),
    (("power", "watt"), "4200"),
    (("count", "number", "days", "hours", "minutes"), 3),
    (("token", "code", "pin"), "123456"),
    (("culture", "language", "locale"), "en-GB"),
    (("currency",), "GBP"),
    (("name",), "Ada Lovelace"),
)
"""What made-up data says, by a part of the variable's name; the first that fits."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that a template needs from its data, at one of its places."""

    name: str
    part: Part
    line: int
    column: int
    path: Segments
    number: bool = False
    optional: bool = False


@dataclass(slots=True)
class _Walk:
    """Walks a template's nodes with the names that loops and assignments have made."""

    part: Part
    source: str
    context: RenderContext
    assigned: set[str] = field(default_factory=set)
    found: list[Variable] = field(default_factory=list)

    def nodes(self, nodes: Iterable[liquid.Node], loops: Mapping[str, Segments]) -> None:
        for node in nodes:
            optional = not isinstance(node, ValueNode | ForNode | AssignNode)
            for expression in node.expressions():
                self.expression(expression, loops, optional)
            inner = dict(loops)
            if isinstance(node, ForNode) and isinstance(node.expression, LoopExpression):
                over = self.path_of(node.expression.iterable, loops)
                inner[node.expression.identifier] = (*over, EACH) if over else ()
            if isinstance(node, AssignNode):
                self.assigned.update(str(name) for name in node.template_scope())
            self.nodes(node.children(self.context), inner)

    def expression(self, expression: Any, loops: Mapping[str, Segments], optional: bool, number: bool = False) -> None:
        if isinstance(expression, Path):
            path = self.path_of(expression, loops)
            if path:
                line, column = place_of(self.source, expression.token.start_index)
                name = spelt(one for one in path if one != EACH)
                self.found.append(Variable(name, self.part, line, column, path, number, optional))
        if isinstance(expression, FilteredExpression):
            names = [one.name for one in expression.filters or ()]
            optional = optional or "default" in names
            number = any(name in NUMBERS for name in names)
        for child in expression.children():
            self.expression(child, loops, optional, number)

    def path_of(self, expression: Any, loops: Mapping[str, Segments]) -> Segments:
        """Where in the data a path leads; empty where it leads elsewhere."""
        if not isinstance(expression, Path):
            return ()
        root, *rest = (one for one in expression.path)
        if not isinstance(root, str) or root in GIVEN or (root in self.assigned and root not in loops):
            return ()
        names: list[str | int] = []
        for one in rest:
            if isinstance(one, Path) or one in ("first", "last"):
                names.append(EACH)
            elif one == "size":
                break
            else:
                names.append(EACH if isinstance(one, int) else one)
        if root in loops:
            return (*loops[root], *names) if loops[root] else ()
        return (root, *names)


def variables(source: str, part: Part) -> list[Variable]:
    """The variables that a source needs from its data, each at each of its places. DoesNotParse."""
    template = parse(source, part)
    walk = _Walk(part, source, RenderContext(template))
    walk.nodes(template.nodes, {})
    return sorted(walk.found, key=lambda one: (one.line, one.column))


def made_data(needed: Iterable[Variable]) -> dict[str, Any]:
    """Data that has every variable, with values that their names suggest."""
    tree: dict[str | int, Any] = {}
    numbers: set[Segments] = set()
    for variable in needed:
        at = tree
        for segment in variable.path:
            at = at.setdefault(segment, {})
        if variable.number:
            numbers.add(variable.path)
    return {str(name): _made(inner, (name,), numbers) for name, inner in tree.items()}


def _made(inner: Mapping[str | int, Any], path: Segments, numbers: set[Segments]) -> Any:
    if EACH in inner:
        return [_made(inner[EACH], (*path, EACH), numbers)] * 2
    if inner:
        return {str(name): _made(below, (*path, name), numbers) for name, below in inner.items()}
    return 42 if path in numbers else sample([str(one) for one in path if one != EACH][-1])


def sample(name: str) -> Any:
    """A value that a variable of this name might have."""
    spoken = name.lower().replace("_", "").replace("-", "")
    if name.startswith(("is_", "has_")):
        return True
    for words, value in SAMPLES:
        if any(word in spoken for word in words):
            return value
    return name.replace("_", " ").replace("-", " ")


def names_in(data: Any, path: Segments = ()) -> Iterator[Segments]:
    """The paths of all values of some data; items of lists are one."""
    if isinstance(data, Mapping):
        for name, inner in data.items():
            yield from names_in(inner, (*path, str(name)))
    elif isinstance(data, list) and data:
        for item in data[:1]:
            yield from names_in(item, (*path, EACH))
    else:
        yield path
