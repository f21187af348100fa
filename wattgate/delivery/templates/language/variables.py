"""Variables that a template needs, and sample data that is generated from their names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import liquid
from liquid import RenderContext
from liquid.builtin.expressions import FilteredExpression, LoopExpression, Path, StringLiteral
from liquid.builtin.tags.assign_tag import AssignNode
from liquid.builtin.tags.for_tag import ForNode

from wattgate.delivery.templates.language.contract_values import ANY_ITEM
from wattgate.delivery.templates.language.diagnostics import LineIndex, TemplatePart, format_path
from wattgate.delivery.templates.language.engine import parse_template
from wattgate.delivery.templates.language.language import NUMBER_FILTERS, ValueNode

VariablePath = tuple[str | int, ...]

BUILT_IN_NAMES = frozenset(("now", "today", "forloop"))
"""Names that the template language defines."""

LIST_FILTERS = frozenset(("compact", "map", "reverse", "sort", "uniq", "where"))
"""Filters of lists. A text as their first argument names a member of the items."""

SAMPLE_VALUES = (
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
"""Sample values by parts of a variable's name. The first match counts."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that a template needs, at one position in its source."""

    name: str
    part: TemplatePart
    line: int
    column: int
    path: VariablePath
    is_number: bool = False
    optional: bool = False


@dataclass(slots=True)
class _VariableCollector:
    """Collects the variables of a template's nodes. Names that loops and assignments define are resolved or ignored."""

    part: TemplatePart
    lines: LineIndex
    context: RenderContext
    assigned: dict[str, VariablePath] = field(default_factory=dict)
    """The names that assignments define, with the paths of their values. An empty path is not known."""
    variables: list[Variable] = field(default_factory=list)

    def visit_nodes(self, nodes: Iterable[liquid.Node], loop_variables: Mapping[str, VariablePath]) -> None:
        for node in nodes:
            optional = not isinstance(node, ValueNode | ForNode | AssignNode)
            for expression in node.expressions():
                self.visit_expression(expression, loop_variables, optional)
            inner_variables = dict(loop_variables)
            if isinstance(node, ForNode) and isinstance(node.expression, LoopExpression):
                iterable = self.path_of(node.expression.iterable, loop_variables)
                inner_variables[node.expression.identifier] = (*iterable, ANY_ITEM) if iterable else ()
            if isinstance(node, AssignNode):
                path = self.path_of_result(node.expression, loop_variables)
                name = str(node.name)
                self.assigned[name] = path if self.assigned.get(name, path) == path else ()
            self.visit_nodes(node.children(self.context), inner_variables)

    def visit_expression(
        self, expression: Any, loop_variables: Mapping[str, VariablePath], optional: bool, is_number: bool = False
    ) -> None:
        if isinstance(expression, Path):
            path = self.path_of(expression, loop_variables)
            if path:
                line, column = self.lines.position(expression.token.start_index)
                name = format_path(segment for segment in path if segment != ANY_ITEM)
                self.variables.append(Variable(name, self.part, line, column, path, is_number, optional))
        if isinstance(expression, FilteredExpression):
            names = [used_filter.name for used_filter in expression.filters or ()]
            self.visit_item_names(expression, loop_variables)
            optional = optional or "default" in names
            is_number = any(name in NUMBER_FILTERS for name in names)
        for child in expression.children():
            self.visit_expression(child, loop_variables, optional, is_number)

    def visit_item_names(self, expression: FilteredExpression, loop_variables: Mapping[str, VariablePath]) -> None:
        """Add the names that filters such as `map: "use"` read from the items of a list."""
        path = self.path_of(expression.left, loop_variables)
        for used_filter in expression.filters or ():
            if not path or used_filter.name not in LIST_FILTERS:
                return
            name = _item_name(used_filter)
            if name is not None:
                item_path = (*path, ANY_ITEM, name)
                line, column = self.lines.position(used_filter.token.start_index)
                text = format_path(segment for segment in item_path if segment != ANY_ITEM)
                self.variables.append(Variable(text, self.part, line, column, item_path))
            if used_filter.name == "map":
                return

    def path_of_result(self, expression: Any, loop_variables: Mapping[str, VariablePath]) -> VariablePath:
        """Return the path of the value of an assignment, or an empty path if its filters compute another value."""
        if not isinstance(expression, FilteredExpression):
            return self.path_of(expression, loop_variables)
        keeps_path = all(used_filter.name in LIST_FILTERS - {"map"} for used_filter in expression.filters or ())
        return self.path_of(expression.left, loop_variables) if keeps_path else ()

    def path_of(self, expression: Any, loop_variables: Mapping[str, VariablePath]) -> VariablePath:
        """Return the path in the data, or an empty path if the variable is not from the data."""
        if not isinstance(expression, Path):
            return ()
        root, *rest = (segment for segment in expression.path)
        if not isinstance(root, str) or root in BUILT_IN_NAMES:
            return ()
        names: list[str | int] = []
        for segment in rest:
            if isinstance(segment, Path) or segment in ("first", "last"):
                names.append(ANY_ITEM)
            elif segment == "size":
                break
            else:
                names.append(ANY_ITEM if isinstance(segment, int) else segment)
        known_paths = {**self.assigned, **loop_variables}
        if root in known_paths:
            return (*known_paths[root], *names) if known_paths[root] else ()
        return (root, *names)


def _item_name(used_filter: Any) -> str | None:
    """Return the first argument of a filter if it is a literal text, which names a member of the items."""
    argument = used_filter.args[0].value if used_filter.args else None
    return str(argument.value) if isinstance(argument, StringLiteral) else None


def find_variables(source: str, part: TemplatePart) -> list[Variable]:
    """Return the variables that a source needs, once for each position. Raise TemplateSyntaxError."""
    template = parse_template(source, part)
    collector = _VariableCollector(part, LineIndex(source), RenderContext(template))
    collector.visit_nodes(template.nodes, {})
    return sorted(collector.variables, key=lambda variable: (variable.line, variable.column))


def sample_data(required: Iterable[Variable]) -> dict[str, Any]:
    """Return data with all required variables. The values are chosen by the names."""
    tree: dict[str | int, Any] = {}
    numbers: set[VariablePath] = set()
    for variable in required:
        node = tree
        for segment in variable.path:
            node = node.setdefault(segment, {})
        if variable.is_number:
            numbers.add(variable.path)
    return {str(name): _sample_node(inner, (name,), numbers) for name, inner in tree.items()}


def _sample_node(inner: Mapping[str | int, Any], path: VariablePath, numbers: set[VariablePath]) -> Any:
    if ANY_ITEM in inner:
        return [_sample_node(inner[ANY_ITEM], (*path, ANY_ITEM), numbers)] * 2
    if inner:
        return {str(name): _sample_node(child, (*path, name), numbers) for name, child in inner.items()}
    return 42 if path in numbers else sample_value([str(segment) for segment in path if segment != ANY_ITEM][-1])


def sample_value(name: str) -> Any:
    """Return a plausible value for a variable of this name."""
    key = name.lower().replace("_", "").replace("-", "")
    if name.startswith(("is_", "has_")):
        return True
    for words, value in SAMPLE_VALUES:
        if any(word in key for word in words):
            return value
    return name.replace("_", " ").replace("-", " ")


def value_paths(data: Any, path: VariablePath = ()) -> Iterator[VariablePath]:
    """Yield the paths of all values. A list counts as its first item."""
    if isinstance(data, Mapping):
        for name, member in data.items():
            yield from value_paths(member, (*path, str(name)))
    elif isinstance(data, list) and data:
        for item in data[:1]:
            yield from value_paths(item, (*path, ANY_ITEM))
    else:
        yield path
