"""Values of the variables of a contract: checks of data, sample data, and values that know their declarations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wattgate.delivery.templates.language.contract import (
    NUMBER_TYPES,
    Contract,
    VariableDeclaration,
    VariableType,
    name_path,
)
from wattgate.delivery.templates.language.diagnostics import closest_match
from wattgate.delivery.templates.language.formatting import FormatError, to_date, to_instant, to_number

ANY_ITEM = "[]"
"""Segment of a path for any item of a list."""

MAX_DATA_PROBLEMS = 100
"""Maximum problems of data that are reported."""

DEFAULT_SAMPLES: Mapping[VariableType, Any] = {
    VariableType.TEXT: "Sample",
    VariableType.NUMBER: 42,
    VariableType.ENERGY: 4.2,
    VariableType.POWER: 4200,
    VariableType.MONEY: "12.34",
    VariableType.PERCENTAGE: 12.5,
    VariableType.INSTANT: "2026-01-05T18:30:00.000Z",
    VariableType.DATE: "2026-01-05",
    VariableType.BOOLEAN: True,
    VariableType.URL: "https://example.com/details",
    VariableType.LIST: [],
}
"""The samples of variables that are declared without one."""

EXPECTED_VALUES: Mapping[VariableType, str] = {
    VariableType.TEXT: "a text",
    VariableType.INSTANT: "an instant such as 2026-01-05T18:30:00Z",
    VariableType.DATE: "a date such as 2026-01-05",
    VariableType.BOOLEAN: "true or false",
    VariableType.URL: "a text that begins with https:// or http://",
    VariableType.LIST: "a list",
}


@dataclass(slots=True)
class DeclaredNode:
    """A segment of the declared names: its declaration if it is one, and the segments that follow it."""

    variable: VariableDeclaration | None = None
    children: dict[str, "DeclaredNode"] = field(default_factory=dict)


class DeclaredText(str):
    """A text of a declared variable."""

    __slots__ = ("variable",)
    variable: VariableDeclaration


class DeclaredInteger(int):
    """An integer of a declared variable."""

    variable: VariableDeclaration


class DeclaredFloat(float):
    """A number of a declared variable."""

    __slots__ = ("variable",)
    variable: VariableDeclaration


DeclaredValue = DeclaredText | DeclaredInteger | DeclaredFloat


def declared_tree(variables: Iterable[VariableDeclaration]) -> DeclaredNode:
    """Return declarations as a tree of the segments of their names."""
    root = DeclaredNode()
    for variable in variables:
        node = root
        for segment in name_path(variable.name):
            node = node.children.setdefault(segment, DeclaredNode())
        node.variable = variable
    return root


def expected_value(variable: VariableDeclaration) -> str:
    """Return what a value of a variable must be."""
    if variable.type in NUMBER_TYPES:
        kind = "a number" if variable.type is VariableType.NUMBER else f"a number ({variable.type.lower()})"
        return f"{kind} in {variable.unit}" if variable.unit else kind
    return EXPECTED_VALUES[variable.type]


def fits_type(value: Any, variable: VariableDeclaration) -> bool:
    """Return whether a JSON value has the type of a variable."""
    try:
        match variable.type:
            case VariableType.TEXT:
                return isinstance(value, str)
            case VariableType.URL:
                return isinstance(value, str) and value.startswith(("https://", "http://"))
            case VariableType.BOOLEAN:
                return isinstance(value, bool)
            case VariableType.LIST:
                return isinstance(value, list)
            case VariableType.INSTANT:
                to_instant(value)
            case VariableType.DATE:
                to_date(value)
            case _:
                to_number(value)
    except FormatError:
        return False
    return True


def data_problems(contract: Contract, data: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the paths and messages of values that the own variables of a contract do not allow.

    An undeclared contract allows everything. At most MAX_DATA_PROBLEMS are returned.
    """
    if not contract.declared:
        return []
    if data is not None and not isinstance(data, Mapping):
        return [((), "must be an object with the variables of the alert type")]
    tree = declared_tree(contract.own)
    problems = _group_problems(data or {}, tree, ())
    return [problem for problem, _ in zip(problems, range(MAX_DATA_PROBLEMS), strict=False)]


def _group_problems(
    value: Mapping[str, Any], node: DeclaredNode, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for name in value:
        if name not in node.children:
            similar = closest_match(name, node.children)
            hint = f" Did you mean {similar}?" if similar else ""
            yield (*path, name), f"is not a variable of the alert type; remove it, or declare it with variables.{hint}"
    for name, child in node.children.items():
        yield from _value_problems(value.get(name), child, (*path, name))


def _value_problems(
    value: Any, node: DeclaredNode, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    variable = node.variable
    if value is None:
        if variable is not None and variable.required:
            yield path, f"is missing; give {expected_value(variable)}{_example(variable)}"
        elif variable is None and ANY_ITEM not in node.children:
            yield from _group_problems({}, node, path)
    elif variable is not None and not fits_type(value, variable):
        yield path, f"is not {expected_value(variable)}{_example(variable)}"
    elif variable is None and not isinstance(value, Mapping):
        yield path, f"must be an object with {', '.join(list(node.children)[:10])}"
    elif variable is None:
        yield from _group_problems(value, node, path)
    elif ANY_ITEM in node.children:
        for index, item in enumerate(value):
            yield from _value_problems(item, node.children[ANY_ITEM], (*path, index))


def _example(variable: VariableDeclaration) -> str:
    example = variable.sample if variable.sample is not None else DEFAULT_SAMPLES[variable.type]
    is_short = isinstance(example, str | int | float) and len(str(example)) <= 40
    return f", such as {example}" if is_short and variable.type in NUMBER_TYPES | {VariableType.TEXT} else ""


def sample_values(variables: Iterable[VariableDeclaration]) -> dict[str, Any]:
    """Return data with the samples of variables. A list without a sample has two items."""
    return {name: _sample(child) for name, child in declared_tree(variables).children.items()}


def _sample(node: DeclaredNode) -> Any:
    variable = node.variable
    if variable is not None and variable.sample is not None:
        return variable.sample
    if ANY_ITEM in node.children:
        return [_sample(node.children[ANY_ITEM]) for _ in range(2)]
    if variable is not None:
        return DEFAULT_SAMPLES[variable.type]
    return {name: _sample(child) for name, child in node.children.items()}


def bind_values(contract: Contract, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data whose declared values know their declarations. Optional variables without a value are None.

    A value that does not have its declared type remains as it is.
    """
    return _bind_group(data, declared_tree(contract.variables))


def _bind_group(data: Mapping[str, Any], node: DeclaredNode) -> dict[str, Any]:
    bound = dict(data)
    for name, child in node.children.items():
        if name in data:
            bound[name] = _bind(data[name], child)
        elif child.variable is not None:
            if not child.variable.required:
                bound[name] = None
        else:
            group = _bind_group({}, child)
            if group:
                bound[name] = group
    return bound


def _bind(value: Any, node: DeclaredNode) -> Any:
    if isinstance(value, list) and ANY_ITEM in node.children:
        return [_bind(item, node.children[ANY_ITEM]) for item in value]
    if node.variable is None:
        return _bind_group(value, node) if isinstance(value, Mapping) else value
    return declare_value(value, node.variable)


def declare_value(value: Any, variable: VariableDeclaration) -> Any:
    """Return a value that knows its declaration, if it has the declared type."""
    if value is None or variable.type in (VariableType.BOOLEAN, VariableType.LIST) or not fits_type(value, variable):
        return value
    declared: DeclaredValue
    if variable.type not in NUMBER_TYPES:
        declared = DeclaredText(value)
    elif isinstance(value, int):
        declared = DeclaredInteger(value)
    else:
        declared = DeclaredFloat(value)
    declared.variable = variable
    return declared
