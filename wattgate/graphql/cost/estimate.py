"""What an operation costs, told before it runs: of a document once, and then of the values of its variables.

An operation costs its weight, and an edge its statements once at each place of the document and its weight for each
parent. Each object costs a unit, and leaves nothing, but for columns; a list costs by its size, and so often what is
selected of its items. Of an interface or union each member adds what is selected of it. Directives with variables
count as if they took nothing away. See `weights` for the units, and for how sizes are declared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from graphql import (
    BooleanValueNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
)
from graphql.execution.values import VariableValues

from wattgate.clock import EPOCH, Clock, utc_now
from wattgate.graphql.core.cost_weights import (
    ASSUMED_SIZE,
    IN_SERIES,
    INTROSPECTION,
    STATEMENTS,
    VALUES,
    Amount,
    Measure,
    Size,
)
from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.field_source import DEFINITION
from wattgate.graphql.core.fields import edge_of, operation_of, sizes_of
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.cost.argument_values import Known, Read, given, reading
from wattgate.graphql.cost.expressions import ONE, ZERO, Step, Steps, Sum, plus

MAX_COST = 20_000
"""What an operation may cost: about 0.6 s of a processor. `docs/reference/limits.md` has what others cost."""


class Cost:
    """What an operation costs, by the values of its variables; `fixed` is it where they change nothing.

    `visited` is how many selections were looked at to know it.
    """

    __slots__ = ("_clock", "_steps", "fixed", "visited")

    def __init__(self, steps: Sequence[Step], fixed: int | None, clock: Clock | None, visited: int) -> None:
        self.fixed = fixed
        self.visited = visited
        self._steps = tuple(steps)
        self._clock = clock

    def __call__(self, variables: VariableValues) -> int:
        if self.fixed is not None:
            return self.fixed
        now = EPOCH if self._clock is None else self._clock()
        coerced, numbers = variables.coerced, list[int]()
        push = numbers.append
        for step in self._steps:
            push(step(numbers, coerced, now))
        return numbers[-1]


def estimate(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, clock: Clock = utc_now
) -> Cost:
    """What an operation of a valid document costs. Work is bounded by the fields that `limits` lets a document have.

    Merged fields are one, and what is selected alike in several places is looked at once.
    """
    return _Estimate(schema, document, clock).of(operation)


def cost_of_call(
    operation: Operation, arguments: Mapping[str, Any], edges: Iterable[Edge] = (), clock: Clock = utc_now
) -> int:
    """What a call of an operation costs with what it answers and these edges of it, as REST calls it."""
    now = clock()

    def number(amount: Amount) -> int:
        if isinstance(amount, int):
            return amount
        return amount.of(now, *[arguments.get(name) for name in amount.slicing_arguments])

    own = _own(operation.sizes)
    count = number(own.assumed) if operation.many else 1
    beneath = max((number(one.assumed) // IN_SERIES for one in operation.sizes if one.sized_fields), default=0)
    followed = sum(STATEMENTS + count * number(one.weight) for one in edges)
    return number(operation.costs) + -(-count // own.per_unit) + beneath + followed


_TOLD, _TIMES, _VALUES = "told", "times", "values"
"""How the size of a list beneath weighs: as objects, as often as what is selected of them, or as values."""


class _Form(NamedTuple):
    """What a selection costs once at its place, and for each object there; `beneath` by lists whose size is told above.

    These are named by their coordinates and how their size weighs.
    """

    once: Sum = ZERO
    each: Sum = ZERO
    beneath: Mapping[tuple[str, str], Sum] = {}


def _together(forms: Sequence[_Form]) -> _Form:
    beneath = defaultdict[tuple[str, str], list[Sum]](list)
    for one in forms:
        for key, factor in one.beneath.items():
            beneath[key].append(factor)
    return _Form(
        plus(*[one.once for one in forms]),
        plus(*[one.each for one in forms]),
        {key: plus(*factors) for key, factors in beneath.items()},
    )


class _Estimate:
    """The estimate of one document: what is selected of a type by the same fields is looked at once."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, clock: Clock) -> None:
        self._schema = schema
        self._clock = clock
        self._fragments = {
            one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)
        }
        self._sized = _sized_fields(schema)
        self._steps = Steps()
        self._moves = False
        self._visited = 0
        self._known: dict[tuple[str, frozenset[int]], _Form] = {}
        self._measured: dict[tuple[int, Measure], Sum] = {}

    def of(self, operation: OperationDefinitionNode) -> Cost:
        root = self._schema.get_root_type(operation.operation)
        form = self._closed(self._selected(root, [operation.selection_set])) if root else _Form()
        total = plus(form.once, form.each)
        if not total.terms:
            return Cost((), total.constant, None, self._visited)
        last = self._steps.place(total)
        if last != len(self._steps.all) - 1:
            self._steps.all.append(lambda numbers, *_: numbers[last])
        return Cost(self._steps.all, None, self._clock if self._moves else None, self._visited)

    def _selected(self, kind: GraphQLNamedType, sets: list[SelectionSetNode]) -> _Form:
        """What selection sets of a type cost together."""
        if is_abstract_type(kind):
            return _together([self._selected(one, sets) for one in self._schema.get_possible_types(kind)])
        if not is_object_type(kind):
            return _Form()
        fields = self._collected(kind, sets)
        key = kind.name, frozenset(id(node) for nodes in fields.values() for node in nodes)
        if key not in self._known:
            once, each, beneath = _together([self._field(kind, nodes) for nodes in fields.values()])
            short = self._steps.short
            self._known[key] = _Form(short(once), short(each), {name: short(one) for name, one in beneath.items()})
        return self._known[key]

    def _collected(self, kind: GraphQLObjectType, sets: list[SelectionSetNode]) -> Mapping[str, list[FieldNode]]:
        """The fields that are selected of a type, by their names in the answer."""
        fields = defaultdict[str, list[FieldNode]](list)
        pending, spread = list(sets), set[str]()
        while pending:
            for one in pending.pop().selections:
                self._visited += 1
                if _is_left_out(one):
                    continue
                if isinstance(one, FieldNode):
                    fields[(one.alias or one.name).value].append(one)
                    continue
                within: Any = one
                if isinstance(one, FragmentSpreadNode):
                    within = None if one.name.value in spread else self._fragments.get(one.name.value)
                    spread.add(one.name.value)
                if within is not None and self._is_for(kind, within.type_condition):
                    pending.append(within.selection_set)
        return fields

    def _is_for(self, kind: GraphQLObjectType, condition: Any) -> bool:
        """Whether a fragment with such a condition is for objects of a type."""
        if condition is None or condition.name.value == kind.name:
            return True
        wanted = self._schema.get_type(condition.name.value)
        return is_abstract_type(wanted) and self._schema.is_sub_type(wanted, kind)

    def _field(self, kind: GraphQLObjectType, nodes: list[FieldNode]) -> _Form:
        """What a field costs for each object that has it."""
        node = nodes[0]
        name = node.name.value
        if name.startswith("__"):
            return _Form(each=Sum(INTROSPECTION.get(name, 0)))
        field = kind.fields.get(name)
        if field is None:
            return _Form()
        definition = field.extensions.get(DEFINITION)
        declared = definition and (edge_of(definition) or operation_of(definition))
        sizes = sizes_of(definition) if definition else ()
        below = self._selected(get_named_type(field.type), [one.selection_set for one in nodes if one.selection_set])
        below = self._closed(below, sizes, field, node) if sizes else below
        told = self._told(f"{kind.name}.{name}", field, node, below, sizes)
        if not declared:
            return told
        weight = self._number(declared.weight if isinstance(declared, Edge) else declared.costs, field, node)
        once = plus(told.once, Sum(STATEMENTS)) if isinstance(declared, Edge) else told.once
        return _Form(once, plus(told.each, weight), told.beneath)

    def _told(
        self, coordinate: str, field: GraphQLField, node: FieldNode, below: _Form, sizes: Sequence[Size]
    ) -> _Form:
        """What the objects or values of a field cost, with what is selected of them."""
        leaf = is_leaf_type(get_named_type(field.type))
        lists = _lists_of(field)
        if not lists:
            return _Form(below.once, plus(below.each, ZERO if leaf else ONE), below.beneath)
        if self._is_sized(coordinate):
            if leaf:
                return _Form(beneath={(coordinate, _VALUES): ONE})
            below = self._closed(below)
            return _Form(below.once, ZERO, {(coordinate, _TOLD): ONE, (coordinate, _TIMES): below.each})
        own = _own(sizes)
        count = self._steps.times(self._number(own.assumed, field, node), Sum(ASSUMED_SIZE ** (lists - 1)))
        if leaf:
            return _Form(each=self._steps.divided(count, VALUES, up=False))
        each = plus(self._steps.divided(count, own.per_unit, up=True), self._steps.times(count, below.each))
        return _Form(below.once, each, {key: self._steps.times(count, one) for key, one in below.beneath.items()})

    def _closed(
        self, form: _Form, sizes: Sequence[Size] = (), field: GraphQLField | None = None, node: FieldNode | None = None
    ) -> _Form:
        """A form with the sizes of lists beneath it, as a field tells them; without one, as they are assumed."""
        each, beneath = [form.each], dict[tuple[str, str], Sum]()
        for (coordinate, weighs), factor in form.beneath.items():
            size = next((one for one in sizes if _names(one, coordinate)), _own(()) if field is None else None)
            if size is None:
                beneath[coordinate, weighs] = factor
                continue
            count = self._number(size.assumed, field, node)
            if weighs == _TOLD:
                count = self._steps.divided(count, size.per_unit, up=True)
            elif weighs == _VALUES:
                count = self._steps.divided(count, VALUES, up=False)
            each.append(self._steps.times(count, factor))
        return _Form(form.once, plus(*each), beneath)

    def _is_sized(self, coordinate: str) -> bool:
        return coordinate in self._sized or coordinate.partition(".")[0] in self._sized

    def _number(self, amount: Amount, field: GraphQLField | None, node: FieldNode | None) -> Sum:
        """What is declared, as a number or as what the arguments of a field say."""
        if isinstance(amount, int):
            return Sum(amount)
        assert field is not None  # only the fields themselves are measured by their arguments
        assert node is not None
        key = id(node), amount
        if key not in self._measured:
            self._measured[key] = self._sum_of(amount, field, node)
        return self._measured[key]

    def _sum_of(self, measure: Measure, field: GraphQLField, node: FieldNode) -> Sum:
        values = [given(field, node, name) for name in measure.slicing_arguments]
        known = [one.value for one in values if isinstance(one, Known)]
        of, moves = measure.of, measure.moves
        if len(known) == len(values) and not (moves and moves(*known)):
            return Sum(of(EPOCH, *known))
        self._moves = self._moves or moves is not None
        return self._steps.number(_measuring(of, [reading(one) for one in values]))


def _measuring(of: Callable[..., int], reads: Sequence[Read]) -> Step:
    """A step that measures; most measure one or two arguments."""
    if len(reads) == 1:
        (only,) = reads
        return lambda numbers, coerced, now: of(now, only(coerced))
    if len(reads) == 2:
        one, other = reads
        return lambda numbers, coerced, now: of(now, one(coerced), other(coerced))
    return lambda numbers, coerced, now: of(now, *[read(coerced) for read in reads])


@lru_cache(maxsize=16)
def _sized_fields(schema: GraphQLSchema) -> frozenset[str]:
    """The types and fields whose sizes are told above them."""
    objects = [kind for kind in schema.type_map.values() if is_object_type(kind)]
    found = [field.extensions.get(DEFINITION) for kind in objects for field in kind.fields.values()]
    return frozenset(name for one in found if one for size in sizes_of(one) for name in size.sized_fields)


def _own(sizes: Sequence[Size]) -> Size:
    """The size of a field's own list."""
    return next((one for one in sizes if not one.sized_fields), Size(ASSUMED_SIZE))


def _names(size: Size, coordinate: str) -> bool:
    return coordinate in size.sized_fields or coordinate.partition(".")[0] in size.sized_fields


def _lists_of(field: GraphQLField) -> int:
    """How many lists are in each other."""
    kind, count = get_nullable_type(field.type), 0
    while is_list_type(kind):
        kind, count = get_nullable_type(kind.of_type), count + 1
    return count


def _is_left_out(node: SelectionNode) -> bool:
    """Whether a directive leaves a selection out, whatever variables say."""
    return any(
        isinstance(one.value, BooleanValueNode) and one.value.value is (directive.name.value == "skip")
        for directive in node.directives or ()
        if directive.name.value in ("skip", "include")
        for one in directive.arguments or ()
    )
