"""`@cost` and `@listSize` in the schema: they come from the declared weights, and tools can compute costs from them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from graphql import (
    FieldDefinitionNode,
    FieldNode,
    InlineFragmentNode,
    ObjectTypeDefinitionNode,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    parse,
    value_from_ast_untyped,
)
from graphql.execution import VariableValues

from tests.support.gateway_schema import SCHEMA, sdl
from wattgate.clock import utc_now
from wattgate.graphql.cost.estimate import estimate_cost
from wattgate.operations.core.fields import edge_of, list_sizes_of, operation_of
from wattgate.operations.vocabulary.cost_weights import DEFAULT_LIST_SIZE, STATEMENT_WEIGHT


@cache
def object_types() -> dict[str, ObjectTypeDefinitionNode]:
    """Return the object types of the schema as tools read them."""
    return {node.name.value: node for node in parse(sdl()).definitions if isinstance(node, ObjectTypeDefinitionNode)}


@cache
def schema_fields() -> dict[str, tuple[FieldDefinitionNode, Any]]:
    """Return the fields of the object types as tools read them, each with its definition in the gateway."""
    return {
        f"{type_name}.{node.name.value}": (node, SCHEMA.type_map[type_name].fields[node.name.value])  # type: ignore[attr-defined]
        for type_name, definition in object_types().items()
        for node in definition.fields or ()
    }


def directive(node: Any, name: str) -> dict[str, Any]:
    """Return the arguments of a directive; empty if the node does not have it."""
    for one in node.directives or ():
        if one.name.value == name:
            return {argument.name.value: value_from_ast_untyped(argument.value) for argument in one.arguments or ()}
    return {}


def weight(node: FieldDefinitionNode, field: Any) -> int:
    """Return the weight of a field by the specification."""
    default = "0" if is_leaf_type(get_named_type(field.type)) else "1"
    return int(directive(node, "cost").get("weight", default))


def declared_weight(definition: Any) -> Any:
    operation, edge = operation_of(definition), edge_of(definition)
    return operation.base_cost if operation else edge.weight if edge else 0


def test_weights_are_those_of_the_declarations() -> None:
    differing = {}
    for name, (node, field) in schema_fields().items():
        declared = declared_weight(field.extensions["strawberry-definition"])
        if isinstance(declared, int):
            if weight(node, field) != declared:
                differing[name] = declared
        elif directive(node, "cost") or any(f"`{one}`" not in field.description for one in declared.slicing_arguments):
            differing[name] = declared
    assert differing == {}


def test_list_sizes_are_those_of_the_declarations() -> None:
    differing: dict[str, Any] = {}
    for name, (node, field) in schema_fields().items():
        published = directive(node, "listSize")
        sizes = list_sizes_of(field.extensions["strawberry-definition"])
        expected = {size if isinstance(size := one.assumed_size, int) else size.default for one in sizes}
        if "assumedSize" in published and published["assumedSize"] not in (expected or {DEFAULT_LIST_SIZE}):
            differing[name] = published
        for argument in published.get("slicingArguments", ()):
            if str(get_nullable_type(field.args[argument].type)) != "Int":
                differing[name] = published
        unknown = set(published.get("sizedFields", ())) - set(getattr(get_named_type(field.type), "fields", ()))
        if unknown:
            differing[name] = published
        computed = [
            size for size in sizes if not isinstance(size.assumed_size, int) and size.assumed_size.default is None
        ]
        if computed and "The length of" not in field.description:
            differing[name] = computed
    assert differing == {}
    assert directive(schema_fields()["Viewer.alerts"][0], "listSize") == {
        "assumedSize": 50,
        "slicingArguments": ["first", "last"],
        "sizedFields": ["edges"],
        "requireOneSlicingArgument": False,
    }


class SpecifiedCost:
    """The cost of a document by the directives of the schema: type cost and field cost of the specification."""

    def __init__(self) -> None:
        self.statements = 0

    def of(self, type_name: str, selections: SelectionSetNode | None, sized: Mapping[str, int]) -> int:
        declared = object_types().get(type_name)  # a union has no weight of its own
        total = int(directive(declared, "cost").get("weight", "1")) if declared else 1
        for selection in selections.selections if selections else ():
            if isinstance(selection, InlineFragmentNode):
                assert selection.type_condition is not None
                total += self.of(selection.type_condition.name.value, selection.selection_set, sized) - 1
                continue
            assert isinstance(selection, FieldNode)
            name = selection.name.value
            node, field = schema_fields()[f"{type_name}.{name}"]
            self.statements += edge_of(field.extensions["strawberry-definition"]) is not None
            size = directive(node, "listSize")
            given = {
                argument.name.value: value_from_ast_untyped(argument.value) for argument in selection.arguments or ()
            }
            length = size.get("assumedSize", 1)
            for argument in size.get("slicingArguments", ()):
                length = int(given.get(argument, length))
            below = dict.fromkeys(size.get("sizedFields", ()), length)
            count = sized.get(name, 1 if below else length) if is_list_type(get_nullable_type(field.type)) else 1
            total += weight(node, field)
            if not is_leaf_type(get_named_type(field.type)):
                total += count * self.of(get_named_type(field.type).name, selection.selection_set, below)
        return total


@pytest.mark.parametrize(
    "text",
    [
        '{ home(homeId: "x") { resources { name type { name } } } }',
        "{ viewer { homes { edges { node { name resources { device { status { lastPacketAt } } lastTime } } } } } }",
        "{ viewer { alerts(first: 20) { edges { cursor node { priority } } pageInfo { hasNextPage } } } }",
        "{ application { alertTypes { name declared variables { name } } } }",
        "{ application { templates { edges { node { published { version } versions { version } } } } } }",
        "mutation { createToken { ... on IssuedToken { token } } }",
    ],
)
def test_the_specification_gives_the_cost_that_the_gateway_estimates(text: str) -> None:
    document = parse(text)
    (operation,) = document.definitions
    assert isinstance(operation, OperationDefinitionNode)
    cost = SpecifiedCost()
    specified = cost.of(operation.operation.value.title(), operation.selection_set, {})
    estimate = estimate_cost(SCHEMA, document, operation, utc_now).estimate(VariableValues({}, {}))
    assert specified + STATEMENT_WEIGHT * cost.statements == estimate.total
