"""Cost estimation: the cost of an operation, computed before it runs and without its data.

A document is analyzed once, into an `OperationCost`. Each request then evaluates it for the values of its variables.
Units, weights and declarations of list sizes are in `operations/vocabulary/cost_weights.py`.

Rules:
- An operation costs its base cost.
- An edge costs STATEMENT_WEIGHT once at each position of the document, because one statement loads it for all parents,
  and its own weight for each parent.
- An object costs one unit. Leaves cost nothing, except in lists: VALUES_PER_UNIT values cost one unit.
- A list costs its size: one unit for each `items_per_unit` items, and the cost of its item selection for each item.
  In nested lists, each inner list has DEFAULT_LIST_SIZE items.
- An interface or union costs the sum of the selections of all its members.
- A field that a variable in @skip or @include may exclude counts as included. A constant directive excludes it.

For example, `{ home(homeId: $id) { resources { name type { name } } } }` with an assumed size of 5 resources
costs 107: the operation 30, the home 1, the statements of both edges 60, the weight of the first edge 1, and for each
resource 3 (itself, the weight of the edge `type`, and its type).

Algorithm: `_Estimator` visits selections from the leaves up. The cost of a selection has three parts
(`_SelectionCost`):

    per_occurrence   once at its position in the document: statements of edges. Lists do not multiply it.
    per_object       for each object that has the selection. A list multiplies it by its size.
    by_sized_list    for lists below whose size a field further up declares (`ListSize.sized_fields`): the factor of
                     that size. It moves up to that field, or to the root, where the default size applies.

Sizes and weights may depend on arguments, and these on variables. So all numbers are `CostExpression`s: constants are
folded, and the rest becomes steps that run for each request (see `expressions.py`).

The result also contains the cost of each list (`ListCost`), so that the charge of a request can follow the sizes of
the lists that it loads (see `operation_charge.py`).

Invariants:
- The estimate depends only on the document, the variables and, if a time range has no end, the current time.
- Invalid values do not raise here; the resolver rejects them later.
- Merged fields count once. Equal selections of a type are analyzed once (`_selection_costs`), so that the work is
  bounded by the fields that `document_limits.py` permits, not by the expanded fragments.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from graphql import (
    BooleanValueNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInputType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    Undefined,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_input_object_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
)
from graphql.utilities import coerce_input_literal
from graphql.utilities.coerce_input_value import coerce_default_value

from wattgate.clock import EPOCH, Clock, utc_now
from wattgate.graphql.cost.directives import list_depth, own_list_size, size_covers, sized_fields
from wattgate.graphql.cost.operation_cost import (
    ONE,
    ZERO,
    CoercedVariables,
    CostExpression,
    ListCost,
    OperationCost,
    Step,
    StepProgram,
    add_expressions,
)
from wattgate.operations.core.fields import edge_of, list_sizes_of, operation_of
from wattgate.operations.vocabulary.cost_weights import (
    DEFAULT_LIST_SIZE,
    INTROSPECTION_WEIGHTS,
    STATEMENT_WEIGHT,
    VALUES_PER_UNIT,
    Amount,
    ArgumentMeasure,
    ListSize,
)
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.node import EdgeField

# Argument values of a document for cost estimation: constants, or read from the variables.
#
# Nothing is validated here.


class ConstantValue(NamedTuple):
    """A value that does not depend on variables. None stands for an omitted value without default."""

    value: Any


VariableReader = Callable[[CoercedVariables], Any]
ArgumentValue = ConstantValue | VariableReader


def argument_value(field: GraphQLField, node: FieldNode, name: str) -> ArgumentValue:
    """Return the value of an argument, or its default if it is omitted."""
    argument = field.args.get(name)
    if argument is None:
        return ConstantValue(None)
    value = next(
        (argument_node.value for argument_node in node.arguments or () if argument_node.name.value == name), None
    )
    return _literal_value(value, argument.type, _default_value(argument))


def to_reader(argument: ArgumentValue) -> VariableReader:
    """Return a function that reads the value of an argument from the variables."""
    if not isinstance(argument, ConstantValue):
        return argument
    value = argument.value
    return lambda coerced: value


def _default_value(declared: Any) -> Any:
    default = coerce_default_value(declared)
    return None if default is Undefined else default


def _literal_value(value: ValueNode | None, kind: GraphQLInputType, default: Any) -> ArgumentValue:
    if value is None:
        return ConstantValue(default)
    if isinstance(value, VariableNode):
        name = value.name.value
        return lambda coerced: default if (given := coerced.get(name, default)) is None else given
    nullable_type: Any = get_nullable_type(kind)
    if isinstance(value, NullValueNode):
        return ConstantValue(default)  # null stands for the default
    if is_list_type(nullable_type):
        items = value.values if isinstance(value, ListValueNode) else (value,)
        return _list_value([_literal_value(item, nullable_type.of_type, None) for item in items])
    if isinstance(value, ObjectValueNode) and is_input_object_type(nullable_type):
        return _object_value(value, nullable_type)
    coerced_value = coerce_input_literal(value, nullable_type)
    return ConstantValue(None if coerced_value is Undefined else coerced_value)


def _object_value(value: ObjectValueNode, kind: Any) -> ArgumentValue:
    fields = {object_field.name.value: object_field.value for object_field in value.fields}
    members = {
        name: _literal_value(fields.get(name), field.type, _default_value(field)) for name, field in kind.fields.items()
    }
    if all(isinstance(member, ConstantValue) for member in members.values()):
        return ConstantValue(
            {name: member.value for name, member in members.items() if isinstance(member, ConstantValue)}
        )
    readers = [(name, to_reader(member)) for name, member in members.items()]
    return lambda coerced: {name: read(coerced) for name, read in readers}


def _list_value(items: list[ArgumentValue]) -> ArgumentValue:
    if all(isinstance(item, ConstantValue) for item in items):
        return ConstantValue([item.value for item in items if isinstance(item, ConstantValue)])
    readers = [to_reader(item) for item in items]
    return lambda coerced: [read(coerced) for read in readers]


# Cost estimation: the cost of an operation, computed before it runs and without its data.


def estimate_cost(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, clock: Clock = utc_now
) -> OperationCost:
    """Return the cost of an operation of a valid document."""
    return _Estimator(schema, document, clock).operation_cost(operation)


_AS_OBJECTS, _AS_MULTIPLIER, _AS_LEAF_VALUES = "objects", "multiplier", "leaf values"
"""The effect of a list size from above: cost of objects, multiplier of their selection, or cost of leaf values."""


class _SelectionCost(NamedTuple):
    """The three parts of a selection's cost; see the module docstring.

    Keys of `by_sized_list` are (Type.field, effect of the size).
    """

    per_occurrence: CostExpression = ZERO
    per_object: CostExpression = ZERO
    by_sized_list: Mapping[tuple[str, str], CostExpression] = {}


def _combine_costs(costs: Sequence[_SelectionCost]) -> _SelectionCost:
    by_sized_list = defaultdict[tuple[str, str], list[CostExpression]](list)
    for cost in costs:
        for key, factor in cost.by_sized_list.items():
            by_sized_list[key].append(factor)
    return _SelectionCost(
        add_expressions(*[cost.per_occurrence for cost in costs]),
        add_expressions(*[cost.per_object for cost in costs]),
        {key: add_expressions(*factors) for key, factors in by_sized_list.items()},
    )


class _Estimator:
    """The analysis of one document."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, clock: Clock) -> None:
        self._schema = schema
        self._clock = clock
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._sized_names = sized_fields(schema)
        self._steps = StepProgram()
        self._depends_on_time = False
        self._visited = 0
        self._selection_costs: dict[tuple[str, frozenset[int]], _SelectionCost] = {}
        self._measure_expressions: dict[tuple[int, ArgumentMeasure], CostExpression] = {}
        self._list_costs = defaultdict[int, list[ListCost]](list)

    def operation_cost(self, operation: OperationDefinitionNode) -> OperationCost:
        root = self._schema.get_root_type(operation.operation)
        cost = (
            self._apply_list_sizes(self._selection_cost(root, [operation.selection_set])) if root else _SelectionCost()
        )
        total = add_expressions(cost.per_occurrence, cost.per_object)
        if not total.terms:
            return OperationCost((), total.constant, None, self._visited, self._list_costs)
        last = self._steps.step_index(total)
        if last != len(self._steps.steps) - 1:
            self._steps.steps.append(lambda numbers, *_: numbers[last])
        clock = self._clock if self._depends_on_time else None
        return OperationCost(self._steps.steps, None, clock, self._visited, self._list_costs)

    def _selection_cost(self, kind: GraphQLNamedType, sets: list[SelectionSetNode]) -> _SelectionCost:
        """Return the cost of selection sets of a type, merged."""
        if is_abstract_type(kind):
            return _combine_costs(
                [self._selection_cost(member, sets) for member in self._schema.get_possible_types(kind)]
            )
        if not is_object_type(kind):
            return _SelectionCost()
        fields = self._collect_fields(kind, sets)
        key = kind.name, frozenset(id(node) for nodes in fields.values() for node in nodes)
        if key not in self._selection_costs:
            per_occurrence, per_object, by_sized_list = _combine_costs(
                [self._field_cost(kind, nodes) for nodes in fields.values()]
            )
            to_single_term = self._steps.to_single_term
            self._selection_costs[key] = _SelectionCost(
                to_single_term(per_occurrence),
                to_single_term(per_object),
                {name: to_single_term(expression) for name, expression in by_sized_list.items()},
            )
        return self._selection_costs[key]

    def _collect_fields(self, kind: GraphQLObjectType, sets: list[SelectionSetNode]) -> Mapping[str, list[FieldNode]]:
        """Return the selected fields of a type, by response key."""
        fields = defaultdict[str, list[FieldNode]](list)
        pending, spread = list(sets), set[str]()
        while pending:
            for selection in pending.pop().selections:
                self._visited += 1
                if _is_always_excluded(selection):
                    continue
                if isinstance(selection, FieldNode):
                    fields[(selection.alias or selection.name).value].append(selection)
                    continue
                fragment: Any = selection
                if isinstance(selection, FragmentSpreadNode):
                    fragment = None if selection.name.value in spread else self._fragments.get(selection.name.value)
                    spread.add(selection.name.value)
                if fragment is not None and self._applies_to(kind, fragment.type_condition):
                    pending.append(fragment.selection_set)
        return fields

    def _applies_to(self, kind: GraphQLObjectType, condition: Any) -> bool:
        """Return whether a fragment with this type condition applies to objects of a type."""
        if condition is None or condition.name.value == kind.name:
            return True
        condition_type = self._schema.get_type(condition.name.value)
        return is_abstract_type(condition_type) and self._schema.is_sub_type(condition_type, kind)

    def _field_cost(self, kind: GraphQLObjectType, nodes: list[FieldNode]) -> _SelectionCost:
        """Return the cost of a field for each object that has it."""
        node = nodes[0]
        name = node.name.value
        if name.startswith("__"):
            return _SelectionCost(per_object=CostExpression(INTROSPECTION_WEIGHTS.get(name, 0)))
        field = kind.fields.get(name)
        if field is None:
            return _SelectionCost()
        definition = field.extensions.get(STRAWBERRY_DEFINITION)
        declared = definition and (edge_of(definition) or operation_of(definition))
        sizes = list_sizes_of(definition) if definition else ()
        selection_cost = self._selection_cost(
            get_named_type(field.type), [field_node.selection_set for field_node in nodes if field_node.selection_set]
        )
        selection_cost = self._apply_list_sizes(selection_cost, sizes, field, node) if sizes else selection_cost
        result_cost = self._result_cost(f"{kind.name}.{name}", field, nodes, selection_cost, sizes)
        if not declared:
            return result_cost
        weight = self._amount_expression(
            declared.weight if isinstance(declared, EdgeField) else declared.base_cost, field, node
        )
        per_occurrence = (
            add_expressions(result_cost.per_occurrence, CostExpression(STATEMENT_WEIGHT))
            if isinstance(declared, EdgeField)
            else result_cost.per_occurrence
        )
        return _SelectionCost(
            per_occurrence, add_expressions(result_cost.per_object, weight), result_cost.by_sized_list
        )

    def _result_cost(
        self,
        coordinate: str,
        field: GraphQLField,
        nodes: Sequence[FieldNode],
        selection_cost: _SelectionCost,
        sizes: Sequence[ListSize],
    ) -> _SelectionCost:
        """Return the cost of the objects or values of a field, including their selection."""
        leaf = is_leaf_type(get_named_type(field.type))
        depth = list_depth(field)
        if not depth:
            return _SelectionCost(
                selection_cost.per_occurrence,
                add_expressions(selection_cost.per_object, ZERO if leaf else ONE),
                selection_cost.by_sized_list,
            )
        if self._is_sized(coordinate):
            if leaf:
                return _SelectionCost(by_sized_list={(coordinate, _AS_LEAF_VALUES): ONE})
            selection_cost = self._apply_list_sizes(selection_cost)
            return _SelectionCost(
                selection_cost.per_occurrence,
                ZERO,
                {(coordinate, _AS_OBJECTS): ONE, (coordinate, _AS_MULTIPLIER): selection_cost.per_object},
            )
        own_size = own_list_size(sizes)
        count = self._steps.multiply(
            self._amount_expression(own_size.assumed_size, field, nodes[0]),
            CostExpression(DEFAULT_LIST_SIZE ** (depth - 1)),
        )
        if leaf:
            return _SelectionCost(per_object=self._steps.divide(count, VALUES_PER_UNIT, round_up=False))
        per_object = add_expressions(
            self._steps.divide(count, own_size.items_per_unit, round_up=True),
            self._steps.multiply(count, selection_cost.per_object),
        )
        for node in nodes:
            self._list_costs[id(node)].append(ListCost(count, own_size.items_per_unit, selection_cost.per_object))
        return _SelectionCost(
            selection_cost.per_occurrence,
            per_object,
            {key: self._steps.multiply(count, expression) for key, expression in selection_cost.by_sized_list.items()},
        )

    def _apply_list_sizes(
        self,
        cost: _SelectionCost,
        sizes: Sequence[ListSize] = (),
        field: GraphQLField | None = None,
        node: FieldNode | None = None,
    ) -> _SelectionCost:
        """Resolve the list sizes in a cost that the field declares.

        Without a field (at the root), assume the default size.
        """
        per_object, by_sized_list = [cost.per_object], dict[tuple[str, str], CostExpression]()
        for (coordinate, role), factor in cost.by_sized_list.items():
            size = next(
                (candidate for candidate in sizes if size_covers(candidate, coordinate)),
                own_list_size(()) if field is None else None,
            )
            if size is None:
                by_sized_list[coordinate, role] = factor
                continue
            count = self._amount_expression(size.assumed_size, field, node)
            if role == _AS_OBJECTS:
                count = self._steps.divide(count, size.items_per_unit, round_up=True)
            elif role == _AS_LEAF_VALUES:
                count = self._steps.divide(count, VALUES_PER_UNIT, round_up=False)
            per_object.append(self._steps.multiply(count, factor))
        return _SelectionCost(cost.per_occurrence, add_expressions(*per_object), by_sized_list)

    def _is_sized(self, coordinate: str) -> bool:
        return coordinate in self._sized_names or coordinate.partition(".")[0] in self._sized_names

    def _amount_expression(self, amount: Amount, field: GraphQLField | None, node: FieldNode | None) -> CostExpression:
        """Return a declared amount, which is a number or computed from the arguments of a field."""
        if isinstance(amount, int):
            return CostExpression(amount)
        assert field is not None  # default sizes are integers
        assert node is not None
        key = id(node), amount
        if key not in self._measure_expressions:
            self._measure_expressions[key] = self._measure_expression(amount, field, node)
        return self._measure_expressions[key]

    def _measure_expression(self, measure: ArgumentMeasure, field: GraphQLField, node: FieldNode) -> CostExpression:
        values = [argument_value(field, node, name) for name in measure.slicing_arguments]
        constants = [value.value for value in values if isinstance(value, ConstantValue)]
        compute, depends_on_time = measure.compute, measure.depends_on_time
        if len(constants) == len(values) and not (depends_on_time and depends_on_time(*constants)):
            return CostExpression(compute(EPOCH, *constants))
        self._depends_on_time = self._depends_on_time or depends_on_time is not None
        return self._steps.add_step(_build_measure_step(compute, [to_reader(value) for value in values]))


def _build_measure_step(compute: Callable[..., int], readers: Sequence[VariableReader]) -> Step:
    """Return a step that computes a measure. Most measures read one or two arguments."""
    if len(readers) == 1:
        (only,) = readers
        return lambda numbers, coerced, now: compute(now, only(coerced))
    if len(readers) == 2:
        first, second = readers
        return lambda numbers, coerced, now: compute(now, first(coerced), second(coerced))
    return lambda numbers, coerced, now: compute(now, *[read(coerced) for read in readers])


def _is_always_excluded(node: SelectionNode) -> bool:
    """Return whether a directive with a constant excludes a selection."""
    return any(
        isinstance(argument.value, BooleanValueNode) and argument.value.value is (directive.name.value == "skip")
        for directive in node.directives or ()
        if directive.name.value in ("skip", "include")
        for argument in directive.arguments or ()
    )
