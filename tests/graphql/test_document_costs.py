"""What an operation costs: each rule on a small schema, and random documents against a naive count."""

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
from graphql.execution.collect_fields import FragmentDetails, collect_fields, collect_subfields
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from graphql.validation import NoUnusedFragmentsRule, NoUnusedVariablesRule
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.documents import bomb
from tests.support.priced import SCHEMA, documents
from wattgate.graphql.core.cost_weights import ASSUMED_SIZE, INTROSPECTION, MUTATION, STATEMENTS, VALUES, Amount
from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.fields import edge_of, operation_of
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.cost.estimate import Cost, estimate

RULES = [rule for rule in specified_rules if rule not in (NoUnusedFragmentsRule, NoUnusedVariablesRule)]


def operation_in(text: str) -> OperationDefinitionNode:
    node = parse(text).definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    return node


def estimated(text: str, schema: GraphQLSchema = SCHEMA) -> Cost:
    document = parse(text)
    assert validate(schema, document, RULES) == []
    node = document.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    return estimate(schema, document, node)


def variables_of(text: str, **given: Any) -> VariableValues:
    found = get_variable_values(SCHEMA, operation_in(text).variable_definitions or (), given)
    assert isinstance(found, VariableValues)
    return found


def cost(text: str, **given: Any) -> int:
    """What the first operation of a document costs."""
    return estimated(text)(variables_of(text, **given))


def test_an_operation_costs_its_weight_and_each_object_one() -> None:
    assert cost("{ house { name } }") == STATEMENTS + 1
    assert cost("{ count }") == 8
    assert cost("{ count house { name address { name size } } }") == 8 + STATEMENTS + 2
    assert cost("mutation { paint { name } }") == MUTATION + 1


def test_leaves_cost_nothing_and_neither_does_the_name_of_a_type() -> None:
    assert cost("{ house { name __typename } __typename }") == STATEMENTS + 1


def test_a_list_costs_by_its_size_and_so_often_what_is_selected_of_its_items() -> None:
    assert cost("{ houses(first: 3) { name } }") == STATEMENTS + 3
    assert cost("{ houses(first: 3) { address { name } } }") == STATEMENTS + 3 * 2
    assert cost("{ houses { name } }") == STATEMENTS + 5


def test_a_list_of_which_nothing_is_declared_has_the_assumed_size() -> None:
    assert cost("{ allHouses { name } }") == STATEMENTS + ASSUMED_SIZE
    assert cost("{ allHouses { things { name } } }") == STATEMENTS + ASSUMED_SIZE * (1 + ASSUMED_SIZE)


def test_an_edge_costs_its_statements_once_at_a_place_and_its_weight_for_each_parent() -> None:
    assert cost("{ house { age } }") == STATEMENTS + 1 + STATEMENTS + 1
    assert cost("{ houses(first: 4) { age } }") == STATEMENTS + 4 + STATEMENTS + 4
    assert cost("{ houses(first: 4) { neighbour { name } } }") == STATEMENTS + 4 + STATEMENTS + 4 * (5 + 1)
    rooms = 4 * 3
    lamps = STATEMENTS + rooms * (2 + 4)
    assert cost("{ houses(first: 4) { rooms { lamps { name } } } }") == STATEMENTS + 4 + STATEMENTS + 4 + rooms + lamps


def test_lists_of_values_cost_by_their_size() -> None:
    assert cost("{ house { rooms { tags } } }") == cost("{ house { rooms { name } } }")
    series = STATEMENTS + 1 + STATEMENTS + 7 + 1
    assert cost("{ house { series(count: 2000) { columns { at } } } }") == series + 2 * 2_000 + 1 + 2_000 // VALUES
    assert cost("{ house { series(count: 2000) { columns { at value } } } }") == series + 4_000 + 1 + 2 * (
        2_000 // VALUES
    )


def test_items_of_a_series_share_a_unit_and_what_is_below_them_does_not() -> None:
    assert cost("{ house { series(count: 95) { points { size } } } }") == 2 * STATEMENTS + 1 + 7 + 2 * 95 + 1 + 10
    below = cost("{ house { series(count: 95) { points { size label { text } labels { text } } } } }")
    assert below == 2 * STATEMENTS + 1 + 7 + 2 * 95 + 1 + 10 + 95 * (1 + ASSUMED_SIZE)


def test_a_size_is_that_of_the_nearest_field_that_tells_it() -> None:
    of = "{ house { series(count: 100) { unit %s } } }"
    nothing = cost(of % "")
    assert cost(of % "points { size }") == nothing + 10
    assert cost(of % "again { points { size } }") == nothing + STATEMENTS + 3 + 1 + 10
    inner = STATEMENTS + 7 + 2 * 50 + 1 + 5
    assert cost(of % "house { series(count: 50) { points { size } } }") == nothing + 1 + inner
    assert cost(of % "other { points { size } }") == nothing + STATEMENTS + 2 + 10
    assert cost(of % "columns { at }") == nothing + 1
    assert cost(of % "other { columns { at } }") == nothing + STATEMENTS + 2 + 1 + 1_000 // VALUES


def test_lists_in_lists_have_the_assumed_size_each() -> None:
    assert cost("{ house { rooms { grid { name } } } }") == cost("{ house { rooms { name } } }") + 3 * ASSUMED_SIZE**2


def test_fields_that_are_merged_are_one() -> None:
    assert cost("{ house { name } house { address { name } } house { address { size } name } }") == STATEMENTS + 2
    once = cost("{ house { age rooms { name lamps { name } } } }")
    twice = """{ house { ...A ...B ... on House { age rooms { name } } } }
               fragment A on House { age rooms { lamps { name } } }
               fragment B on Thing { name ... on House { rooms { lamps { size } } } }"""
    assert cost(twice) == once


def test_an_alias_makes_another_field() -> None:
    assert cost("{ a: house { name } b: house { name } }") == 2 * (STATEMENTS + 1)


def test_each_member_of_a_union_or_interface_adds_what_is_selected_of_it() -> None:
    nothing = cost("{ house { pets { __typename } } }")
    assert nothing == STATEMENTS + 1 + STATEMENTS + 1 + 2
    dog = cost("{ house { pets { ... on Dog { collar { name } } } } }")
    assert dog == nothing + 2
    cat = cost("{ house { pets { ... on Cat { kittens { name } } } } }")
    assert cat == nothing + STATEMENTS + 2 * (1 + 6)
    both = "{ house { pets { ... on Dog { collar { name } } ... on Cat { kittens { name } } } } }"
    assert cost(both) == nothing + (dog - nothing) + (cat - nothing)
    assert cost("{ house { things { name ... on Dog { collar { name } } } } }") == STATEMENTS + 1 + 2 * ASSUMED_SIZE


def test_directives_with_variables_count_as_if_they_took_nothing_away() -> None:
    text = "query ($no: Boolean!) { house { age @include(if: $no) neighbour @skip(if: $no) { name } } }"
    everything = cost("{ house { age neighbour { name } } }")
    assert cost(text, no=False) == cost(text, no=True) == everything
    assert estimated(text).fixed == everything


def test_what_a_directive_leaves_out_for_good_costs_nothing() -> None:
    nothing = STATEMENTS + 1
    assert cost("{ house { name age @skip(if: true) ... @include(if: false) { neighbour { name } } } }") == nothing
    assert cost("{ house { name ...A @skip(if: true) } } fragment A on House { age }") == nothing
    assert cost("{ house { name age @skip(if: false) @include(if: true) } }") == nothing + STATEMENTS + 1


def test_introspection_has_a_price_of_its_own() -> None:
    assert cost('{ __schema { types { fields { name } } } __type(name: "House") { name } }') == sum(
        INTROSPECTION.values()
    )


def test_a_subscription_is_charged_for_one_event() -> None:
    assert cost("subscription { sold { rooms { name } } }") == STATEMENTS + 1 + STATEMENTS + 1 + 3


@pytest.mark.parametrize(
    ("first", "size"), [({}, 7), ({"first": 3}, 3), ({"first": 50}, 50), ({"first": 51}, 50), ({"first": -4}, 1)]
)
def test_variables_and_their_defaults_are_what_they_say(first: dict[str, int], size: int) -> None:
    assert cost("query ($first: Int! = 7) { houses(first: $first) { name } }", **first) == STATEMENTS + size


def test_a_variable_without_a_value_leaves_the_arguments_default() -> None:
    text = "query ($first: Int) { houses(first: $first) { name } }"
    document = parse(text)
    node = document.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    made = estimate(SCHEMA, document, node)
    assert made(VariableValues({}, {})) == STATEMENTS + 5
    assert made(VariableValues({}, {"first": None})) == STATEMENTS + 5
    assert made(VariableValues({}, {"first": 9})) == STATEMENTS + 9


def test_lists_and_objects_among_the_arguments_are_looked_into() -> None:
    def built(count: int) -> int:
        return MUTATION + count + ASSUMED_SIZE

    assert cost('mutation { build(input: [{name: "a", rooms: [1, 2]}, {name: "b"}]) { name } }') == built(2)
    assert cost('mutation { build(input: {name: "a", rooms: 3}) { name } }') == built(1)
    assert cost("mutation { build(input: []) { name } }") == built(0)
    whole = "mutation ($input: [NewHouse!]!) { build(input: $input) { name } }"
    assert cost(whole, input=[{"name": "a", "rooms": [1, 2, 3]}, {"name": "b", "rooms": list(range(90))}]) == built(30)
    inside = 'mutation ($rooms: [Int!]!, $one: NewHouse!) { build(input: [{name: "a", rooms: $rooms}, $one]) { name } }'
    assert cost(inside, rooms=[1, 2], one={"name": "b", "rooms": [3]}) == built(3)


def test_what_does_not_depend_on_variables_is_fixed() -> None:
    assert estimated("query ($s: Boolean!) { houses(first: 3) { name @skip(if: $s) rooms { name } } }").fixed == (
        STATEMENTS + 3 + STATEMENTS + 3 + 9
    )
    assert estimated("query ($n: Int!) { houses(first: $n) { name } }").fixed is None


def test_numbers_that_variables_tell_multiply() -> None:
    text = """query ($n: Int!, $m: Int!) {
        houses(first: $n) { series(count: $m) { points { size } again { columns { at } } } } }"""
    for n, m in ((1, 1), (7, 40), (50, 1_000)):
        each = (7 + 2 * m) + 1 + -(-m // 10) + 3 + 1 + 1 + m // VALUES
        assert cost(text, n=n, m=m) == STATEMENTS + n + 2 * STATEMENTS + n * each


def test_a_schema_without_declarations_costs_its_objects() -> None:
    schema = build_schema("type Query { a: A, all: [A!]! } type A { b: A, c: Int }")
    assert estimated("{ a { b { c } } all { c } }", schema).fixed == 2 + ASSUMED_SIZE


@pytest.mark.parametrize("levels", [10, 30, 99])
def test_fragments_that_double_are_looked_at_once(levels: int) -> None:
    flat = bomb(levels, leaf="house { name }")
    assert estimated(flat).fixed == STATEMENTS + 1
    assert estimated(flat).visited <= 2 * levels + 2
    deep = bomb(levels, spread="a: neighbour {{ ...{0} }} b: neighbour {{ ...{0} }}", leaf="age", on="House")
    made = estimated(deep.replace("{ ...F0 }", "{ house { ...F0 } }"))
    parents = 2 ** (levels - 1)
    edges = STATEMENTS * (2 * (parents - 1)) + STATEMENTS * parents
    assert made.fixed == STATEMENTS + 1 + edges + 6 * (2 * parents - 2) + parents
    assert made.visited <= 6 * levels


def test_a_bomb_with_a_variable_at_its_end_is_computed_in_as_many_steps_as_it_has_levels() -> None:
    deep = bomb(
        60, spread="a: neighbour {{ ...{0} }} b: neighbour {{ ...{0} }}", leaf="series(count: $n) { unit }", on="House"
    )
    text = deep.replace("{ ...F0 }", "query ($n: Int!) { house { ...F0 } }")
    few, many = (cost(text, n=n) for n in (1, 2))
    assert many - few == 2 * 2**59
    assert len(estimated(text)._steps) < 5 * 60


def naive(text: str, given: Mapping[str, Any]) -> int:
    """What a query costs, by walking through everything that graphql-core collects, with sizes told from above."""
    document, variables = parse(text), variables_of(text, **given)
    operation = operation_in(text)
    defined = [one for one in document.definitions if isinstance(one, FragmentDefinitionNode)]
    fragments = {one.name.value: FragmentDetails(one) for one in defined}
    walk = _Walk(fragments, variables, operation)
    root = SCHEMA.query_type
    assert root is not None
    collected = collect_fields(SCHEMA, fragments, variables, root, operation).grouped_field_set
    once, each = walk.selection(root, collected, {})
    return once + each


@dataclass(frozen=True)
class _Told:
    count: int
    per_unit: int


class _Walk:
    def __init__(self, fragments: Any, variables: VariableValues, operation: OperationDefinitionNode) -> None:
        self._fragments, self._variables, self._operation = fragments, variables, operation

    def selection(self, kind: Any, fields: Any, scope: Mapping[str, _Told]) -> tuple[int, int]:
        """What a selection costs once, and for each of its objects."""
        found = [self.field(kind, details, scope) for details in fields.values()]
        return sum(once for once, _ in found), sum(each for _, each in found)

    def field(self, kind: Any, details: Any, scope: Mapping[str, _Told]) -> tuple[int, int]:
        node = details[0].node
        if node.name.value == "__typename":
            return 0, 0
        field = kind.fields[node.name.value]
        arguments = get_argument_values(field, node, self._variables)
        definition = field.extensions["strawberry-definition"]
        declared: Edge | Operation | None = edge_of(definition) or operation_of(definition)
        sizes = declared.sizes if declared else ()
        inner = dict(scope)
        for size in sizes:
            for name in size.sized_fields:
                told = _Told(_number(size.assumed, arguments), size.per_unit)
                inner |= dict.fromkeys(_places(name), told)
        once, each = self.below(get_named_type(field.type), details, inner)
        once, each = self.told(f"{kind.name}.{node.name.value}", field, once, each, sizes, arguments, scope)
        if isinstance(declared, Edge):
            return once + STATEMENTS, each + _number(declared.weight, arguments)
        return once, each + (_number(declared.costs, arguments) if declared else 0)

    def below(self, kind: Any, details: Any, scope: Mapping[str, _Told]) -> tuple[int, int]:
        if is_leaf_type(kind):
            return 0, 0
        once = each = 0
        for one in SCHEMA.get_possible_types(kind) if is_abstract_type(kind) else [kind]:
            fields = collect_subfields(SCHEMA, self._fragments, self._variables, self._operation, one, details)
            more = self.selection(one, fields.grouped_field_set, scope)
            once, each = once + more[0], each + more[1]
        return once, each

    @staticmethod
    def told(
        coordinate: str, field: Any, once: int, each: int, sizes: Any, arguments: Any, scope: Mapping[str, _Told]
    ) -> tuple[int, int]:
        leaf = is_leaf_type(get_named_type(field.type))
        lists, kind = 0, get_nullable_type(field.type)
        while is_list_type(kind):
            lists, kind = lists + 1, get_nullable_type(kind.of_type)
        if not lists:
            return once, each + (not leaf)
        own = next(
            (_Told(_number(one.assumed, arguments), one.per_unit) for one in sizes if not one.sized_fields), None
        )
        size = own or scope.get(coordinate) or _Told(ASSUMED_SIZE, 1)
        count = size.count * ASSUMED_SIZE ** (lists - 1)
        return once, count // VALUES if leaf else -(-count // size.per_unit) + count * each


def _places(name: str) -> list[str]:
    kind = name.partition(".")
    return [name] if kind[2] else [f"{name}.{one}" for one in SCHEMA.type_map[name].fields]  # type: ignore[attr-defined]


def _number(amount: Amount, arguments: Mapping[str, Any]) -> int:
    if isinstance(amount, int):
        return amount
    return amount.of(datetime.now(UTC), *[arguments.get(name) for name in amount.slicing_arguments])


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(documents(), st.integers(1, 60), st.integers(1, 3_000))
def test_documents_cost_what_a_walk_through_everything_adds_up(text: str, n: int, m: int) -> None:
    for values in ({"n": n, "m": m}, {}):
        assert estimated(text)(variables_of(text, **values)) == naive(text, values)


def test_a_deep_document_is_no_matter_of_recursion() -> None:
    deep = "{ house { " + "neighbour { " * 190 + "name" + " }" * 192
    assert estimated(deep).fixed == STATEMENTS + 1 + 190 * (STATEMENTS + 5 + 1)
