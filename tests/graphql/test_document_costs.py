"""Costs of operations: each rule on a small schema, and random documents compared with a naive count."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from graphql import (
    FragmentDefinitionNode,
    GraphQLSchema,
    OperationDefinitionNode,
    build_schema,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_leaf_type,
    is_list_type,
    parse,
    specified_rules,
    validate,
)
from graphql.execution import VariableValues, get_argument_values, get_variable_values
from graphql.execution.collect_fields import FragmentDetails, collect_fields, collect_subfields
from graphql.validation import NoUnusedFragmentsRule, NoUnusedVariablesRule
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.documents import bomb
from tests.support.priced import SCHEMA, documents
from wattgate.graphql.cost.estimate import estimate_cost
from wattgate.graphql.cost.operation_cost import OperationCost
from wattgate.operations.core.fields import edge_of, operation_of
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.cost_weights import (
    DEFAULT_LIST_SIZE,
    INTROSPECTION_WEIGHTS,
    MUTATION_WEIGHT,
    STATEMENT_WEIGHT,
    VALUES_PER_UNIT,
    Amount,
)
from wattgate.operations.vocabulary.node import EdgeField

RULES = [rule for rule in specified_rules if rule not in (NoUnusedFragmentsRule, NoUnusedVariablesRule)]


def operation_in(text: str) -> OperationDefinitionNode:
    node = parse(text).definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    return node


def estimated(text: str, schema: GraphQLSchema = SCHEMA) -> OperationCost:
    document = parse(text)
    assert validate(schema, document, RULES) == []
    node = document.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    return estimate_cost(schema, document, node)


def variables_of(text: str, **values: Any) -> VariableValues:
    variables = get_variable_values(SCHEMA, operation_in(text).variable_definitions or (), values)
    assert isinstance(variables, VariableValues)
    return variables


def cost(text: str, **values: Any) -> int:
    """Return the cost of the first operation of a document."""
    return estimated(text)(variables_of(text, **values))


def test_operation_costs_its_weight_and_one_unit_for_each_object() -> None:
    assert cost("{ house { name } }") == STATEMENT_WEIGHT + 1
    assert cost("{ count }") == 8
    assert cost("{ count house { name address { name size } } }") == 8 + STATEMENT_WEIGHT + 2
    assert cost("mutation { paint { name } }") == MUTATION_WEIGHT + 1


def test_leaves_and_typename_cost_nothing() -> None:
    assert cost("{ house { name __typename } __typename }") == STATEMENT_WEIGHT + 1


def test_list_costs_its_size_times_the_cost_of_an_item() -> None:
    assert cost("{ houses(first: 3) { name } }") == STATEMENT_WEIGHT + 3
    assert cost("{ houses(first: 3) { address { name } } }") == STATEMENT_WEIGHT + 3 * 2
    assert cost("{ houses { name } }") == STATEMENT_WEIGHT + 5


def test_list_without_declared_size_has_the_default_size() -> None:
    assert cost("{ allHouses { name } }") == STATEMENT_WEIGHT + DEFAULT_LIST_SIZE
    assert cost("{ allHouses { things { name } } }") == STATEMENT_WEIGHT + DEFAULT_LIST_SIZE * (1 + DEFAULT_LIST_SIZE)


def test_edge_costs_its_statement_once_and_its_weight_for_each_parent() -> None:
    assert cost("{ house { age } }") == STATEMENT_WEIGHT + 1 + STATEMENT_WEIGHT + 1
    assert cost("{ houses(first: 4) { age } }") == STATEMENT_WEIGHT + 4 + STATEMENT_WEIGHT + 4
    assert cost("{ houses(first: 4) { neighbour { name } } }") == STATEMENT_WEIGHT + 4 + STATEMENT_WEIGHT + 4 * (5 + 1)
    rooms = 4 * 3
    lamps = STATEMENT_WEIGHT + rooms * (2 + 4)
    assert (
        cost("{ houses(first: 4) { rooms { lamps { name } } } }")
        == STATEMENT_WEIGHT + 4 + STATEMENT_WEIGHT + 4 + rooms + lamps
    )


def test_lists_of_values_cost_by_their_size() -> None:
    assert cost("{ house { rooms { tags } } }") == cost("{ house { rooms { name } } }")
    series = STATEMENT_WEIGHT + 1 + STATEMENT_WEIGHT + 7 + 1
    assert (
        cost("{ house { series(count: 2000) { columns { at } } } }")
        == series + 2 * 2_000 + 1 + 2_000 // VALUES_PER_UNIT
    )
    assert cost("{ house { series(count: 2000) { columns { at value } } } }") == series + 4_000 + 1 + 2 * (
        2_000 // VALUES_PER_UNIT
    )


def test_series_items_share_a_unit_and_objects_below_them_do_not() -> None:
    assert cost("{ house { series(count: 95) { points { size } } } }") == 2 * STATEMENT_WEIGHT + 1 + 7 + 2 * 95 + 1 + 10
    below = cost("{ house { series(count: 95) { points { size label { text } labels { text } } } } }")
    assert below == 2 * STATEMENT_WEIGHT + 1 + 7 + 2 * 95 + 1 + 10 + 95 * (1 + DEFAULT_LIST_SIZE)


def test_list_size_is_that_of_the_nearest_field_that_declares_it() -> None:
    of = "{ house { series(count: 100) { unit %s } } }"
    nothing = cost(of % "")
    assert cost(of % "points { size }") == nothing + 10
    assert cost(of % "again { points { size } }") == nothing + STATEMENT_WEIGHT + 3 + 1 + 10
    inner = STATEMENT_WEIGHT + 7 + 2 * 50 + 1 + 5
    assert cost(of % "house { series(count: 50) { points { size } } }") == nothing + 1 + inner
    assert cost(of % "other { points { size } }") == nothing + STATEMENT_WEIGHT + 2 + 10
    assert cost(of % "columns { at }") == nothing + 1
    assert cost(of % "other { columns { at } }") == nothing + STATEMENT_WEIGHT + 2 + 1 + 1_000 // VALUES_PER_UNIT


def test_each_nested_list_has_the_default_size() -> None:
    assert (
        cost("{ house { rooms { grid { name } } } }") == cost("{ house { rooms { name } } }") + 3 * DEFAULT_LIST_SIZE**2
    )


def test_merged_fields_cost_once() -> None:
    assert cost("{ house { name } house { address { name } } house { address { size } name } }") == STATEMENT_WEIGHT + 2
    once = cost("{ house { age rooms { name lamps { name } } } }")
    twice = """{ house { ...A ...B ... on House { age rooms { name } } } }
               fragment A on House { age rooms { lamps { name } } }
               fragment B on Thing { name ... on House { rooms { lamps { size } } } }"""
    assert cost(twice) == once


def test_aliased_field_costs_again() -> None:
    assert cost("{ a: house { name } b: house { name } }") == 2 * (STATEMENT_WEIGHT + 1)


def test_union_or_interface_costs_the_sum_of_its_members() -> None:
    nothing = cost("{ house { pets { __typename } } }")
    assert nothing == STATEMENT_WEIGHT + 1 + STATEMENT_WEIGHT + 1 + 2
    dog = cost("{ house { pets { ... on Dog { collar { name } } } } }")
    assert dog == nothing + 2
    cat = cost("{ house { pets { ... on Cat { kittens { name } } } } }")
    assert cat == nothing + STATEMENT_WEIGHT + 2 * (1 + 6)
    both_members = "{ house { pets { ... on Dog { collar { name } } ... on Cat { kittens { name } } } } }"
    assert cost(both_members) == nothing + (dog - nothing) + (cat - nothing)
    assert (
        cost("{ house { things { name ... on Dog { collar { name } } } } }")
        == STATEMENT_WEIGHT + 1 + 2 * DEFAULT_LIST_SIZE
    )


def test_fields_with_variable_directives_count_as_included() -> None:
    text = "query ($no: Boolean!) { house { age @include(if: $no) neighbour @skip(if: $no) { name } } }"
    everything = cost("{ house { age neighbour { name } } }")
    assert cost(text, no=False) == cost(text, no=True) == everything
    assert estimated(text).fixed == everything


def test_fields_excluded_by_a_constant_directive_cost_nothing() -> None:
    nothing = STATEMENT_WEIGHT + 1
    assert cost("{ house { name age @skip(if: true) ... @include(if: false) { neighbour { name } } } }") == nothing
    assert cost("{ house { name ...A @skip(if: true) } } fragment A on House { age }") == nothing
    assert cost("{ house { name age @skip(if: false) @include(if: true) } }") == nothing + STATEMENT_WEIGHT + 1


def test_introspection_has_its_own_weights() -> None:
    assert cost('{ __schema { types { fields { name } } } __type(name: "House") { name } }') == sum(
        INTROSPECTION_WEIGHTS.values()
    )


def test_subscription_costs_one_event() -> None:
    assert cost("subscription { sold { rooms { name } } }") == STATEMENT_WEIGHT + 1 + STATEMENT_WEIGHT + 1 + 3


@pytest.mark.parametrize(
    ("first", "size"), [({}, 7), ({"first": 3}, 3), ({"first": 50}, 50), ({"first": 51}, 50), ({"first": -4}, 1)]
)
def test_variables_and_their_defaults_determine_sizes(first: dict[str, int], size: int) -> None:
    assert cost("query ($first: Int! = 7) { houses(first: $first) { name } }", **first) == STATEMENT_WEIGHT + size


def test_variable_without_value_uses_the_default_of_the_argument() -> None:
    text = "query ($first: Int) { houses(first: $first) { name } }"
    document = parse(text)
    node = document.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    estimate = estimate_cost(SCHEMA, document, node)
    assert estimate(VariableValues({}, {})) == STATEMENT_WEIGHT + 5
    assert estimate(VariableValues({}, {"first": None})) == STATEMENT_WEIGHT + 5
    assert estimate(VariableValues({}, {"first": 9})) == STATEMENT_WEIGHT + 9


def test_list_and_object_arguments_determine_sizes() -> None:
    def built(count: int) -> int:
        return MUTATION_WEIGHT + count + DEFAULT_LIST_SIZE

    assert cost('mutation { build(input: [{name: "a", rooms: [1, 2]}, {name: "b"}]) { name } }') == built(2)
    assert cost('mutation { build(input: {name: "a", rooms: 3}) { name } }') == built(1)
    assert cost("mutation { build(input: []) { name } }") == built(0)
    all_input = "mutation ($input: [NewHouse!]!) { build(input: $input) { name } }"
    assert cost(all_input, input=[{"name": "a", "rooms": [1, 2, 3]}, {"name": "b", "rooms": list(range(90))}]) == built(
        30
    )
    inside = 'mutation ($rooms: [Int!]!, $one: NewHouse!) { build(input: [{name: "a", rooms: $rooms}, $one]) { name } }'
    assert cost(inside, rooms=[1, 2], one={"name": "b", "rooms": [3]}) == built(3)


def test_cost_without_dependence_on_variables_is_fixed() -> None:
    assert estimated("query ($s: Boolean!) { houses(first: 3) { name @skip(if: $s) rooms { name } } }").fixed == (
        STATEMENT_WEIGHT + 3 + STATEMENT_WEIGHT + 3 + 9
    )
    assert estimated("query ($n: Int!) { houses(first: $n) { name } }").fixed is None


def test_sizes_from_variables_multiply() -> None:
    text = """query ($n: Int!, $m: Int!) {
        houses(first: $n) { series(count: $m) { points { size } again { columns { at } } } } }"""
    for n, m in ((1, 1), (7, 40), (50, 1_000)):
        each = (7 + 2 * m) + 1 + -(-m // 10) + 3 + 1 + 1 + m // VALUES_PER_UNIT
        assert cost(text, n=n, m=m) == STATEMENT_WEIGHT + n + 2 * STATEMENT_WEIGHT + n * each


def test_schema_without_declarations_costs_its_objects() -> None:
    schema = build_schema("type Query { a: A, all: [A!]! } type A { b: A, c: Int }")
    assert estimated("{ a { b { c } } all { c } }", schema).fixed == 2 + DEFAULT_LIST_SIZE


@pytest.mark.parametrize("levels", [10, 30, 99])
def test_repeated_fragments_are_visited_once(levels: int) -> None:
    flat = bomb(levels, leaf="house { name }")
    assert estimated(flat).fixed == STATEMENT_WEIGHT + 1
    assert estimated(flat).visited <= 2 * levels + 2
    deep = bomb(levels, spread="a: neighbour {{ ...{0} }} b: neighbour {{ ...{0} }}", leaf="age", on="House")
    estimate = estimated(deep.replace("{ ...F0 }", "{ house { ...F0 } }"))
    parents = 2 ** (levels - 1)
    edges = STATEMENT_WEIGHT * (2 * (parents - 1)) + STATEMENT_WEIGHT * parents
    assert estimate.fixed == STATEMENT_WEIGHT + 1 + edges + 6 * (2 * parents - 2) + parents
    assert estimate.visited <= 6 * levels


def test_fragment_bomb_with_a_variable_needs_steps_linear_in_its_levels() -> None:
    deep = bomb(
        60, spread="a: neighbour {{ ...{0} }} b: neighbour {{ ...{0} }}", leaf="series(count: $n) { unit }", on="House"
    )
    text = deep.replace("{ ...F0 }", "query ($n: Int!) { house { ...F0 } }")
    cost_of_one, cost_of_two = (cost(text, n=n) for n in (1, 2))
    assert cost_of_two - cost_of_one == 2 * 2**59
    assert len(estimated(text)._steps) < 5 * 60


def naive_cost(text: str, values: Mapping[str, Any]) -> int:
    """Return the cost of a query by walking through all fields that graphql-core collects, with sizes passed down."""
    document, variables = parse(text), variables_of(text, **values)
    operation = operation_in(text)
    definitions = [definition for definition in document.definitions if isinstance(definition, FragmentDefinitionNode)]
    fragments = {definition.name.value: FragmentDetails(definition) for definition in definitions}
    walk = _Walk(fragments, variables, operation)
    root = SCHEMA.query_type
    assert root is not None
    collected = collect_fields(SCHEMA, fragments, variables, root, operation).grouped_field_set
    once, each = walk.selection(root, collected, {})
    return once + each


@dataclass(frozen=True)
class _ListSize:
    count: int
    items_per_unit: int


class _Walk:
    def __init__(self, fragments: Any, variables: VariableValues, operation: OperationDefinitionNode) -> None:
        self._fragments, self._variables, self._operation = fragments, variables, operation

    def selection(self, kind: Any, fields: Any, scope: Mapping[str, _ListSize]) -> tuple[int, int]:
        """Return the cost of a selection for each occurrence and for each of its objects."""
        results = [self.field(kind, details, scope) for details in fields.values()]
        return sum(once for once, _ in results), sum(each for _, each in results)

    def field(self, kind: Any, details: Any, scope: Mapping[str, _ListSize]) -> tuple[int, int]:
        node = details[0].node
        if node.name.value == "__typename":
            return 0, 0
        field = kind.fields[node.name.value]
        arguments = get_argument_values(field, node, self._variables)
        definition = field.extensions["strawberry-definition"]
        declared: EdgeField | Operation | None = edge_of(definition) or operation_of(definition)
        sizes = declared.sizes if declared else ()
        inner = dict(scope)
        for size in sizes:
            for name in size.sized_fields:
                list_size = _ListSize(_amount(size.assumed_size, arguments), size.items_per_unit)
                inner |= dict.fromkeys(_coordinates(name), list_size)
        once, each = self.selection_below(get_named_type(field.type), details, inner)
        once, each = self.result_cost(f"{kind.name}.{node.name.value}", field, once, each, sizes, arguments, scope)
        if isinstance(declared, EdgeField):
            return once + STATEMENT_WEIGHT, each + _amount(declared.weight, arguments)
        return once, each + (_amount(declared.base_cost, arguments) if declared else 0)

    def selection_below(self, kind: Any, details: Any, scope: Mapping[str, _ListSize]) -> tuple[int, int]:
        if is_leaf_type(kind):
            return 0, 0
        once = each = 0
        for member in SCHEMA.get_possible_types(kind) if is_abstract_type(kind) else [kind]:
            fields = collect_subfields(SCHEMA, self._fragments, self._variables, self._operation, member, details)
            more = self.selection(member, fields.grouped_field_set, scope)
            once, each = once + more[0], each + more[1]
        return once, each

    @staticmethod
    def result_cost(
        coordinate: str, field: Any, once: int, each: int, sizes: Any, arguments: Any, scope: Mapping[str, _ListSize]
    ) -> tuple[int, int]:
        leaf = is_leaf_type(get_named_type(field.type))
        lists, kind = 0, get_nullable_type(field.type)
        while is_list_type(kind):
            lists, kind = lists + 1, get_nullable_type(kind.of_type)
        if not lists:
            return once, each + (not leaf)
        own_size = next(
            (
                _ListSize(_amount(size.assumed_size, arguments), size.items_per_unit)
                for size in sizes
                if not size.sized_fields
            ),
            None,
        )
        size = own_size or scope.get(coordinate) or _ListSize(DEFAULT_LIST_SIZE, 1)
        count = size.count * DEFAULT_LIST_SIZE ** (lists - 1)
        return once, count // VALUES_PER_UNIT if leaf else -(-count // size.items_per_unit) + count * each


def _coordinates(name: str) -> list[str]:
    kind = name.partition(".")
    return [name] if kind[2] else [f"{name}.{field_name}" for field_name in SCHEMA.type_map[name].fields]  # type: ignore[attr-defined]


def _amount(amount: Amount, arguments: Mapping[str, Any]) -> int:
    if isinstance(amount, int):
        return amount
    return amount.compute(datetime.now(UTC), *[arguments.get(name) for name in amount.slicing_arguments])


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(documents(), st.integers(1, 60), st.integers(1, 3_000))
def test_cost_equals_that_of_a_naive_walk(text: str, n: int, m: int) -> None:
    for values in ({"n": n, "m": m}, {}):
        assert estimated(text)(variables_of(text, **values)) == naive_cost(text, values)


def test_deep_document_does_not_exceed_the_recursion_limit() -> None:
    deep = "{ house { " + "neighbour { " * 190 + "name" + " }" * 192
    assert estimated(deep).fixed == STATEMENT_WEIGHT + 1 + 190 * (STATEMENT_WEIGHT + 5 + 1)
