"""From a validated document to the tree of what it selects, with graphql-core's own collecting of fields."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphql import (
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    get_named_type,
    is_abstract_type,
    is_object_type,
)
from graphql.execution.collect_fields import (
    FieldDetails,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)
from graphql.execution.values import VariableValues

from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.field_source import TYPENAME, Reach, Refused, reach_of

MAX_SLOTS = 3_000
"""How many fields a compiled document has at most, those of each member of a union counted."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A key of an object in the answer. `below` are what is selected of its objects, by the names of their types.

    `awaits` says that an edge has to be followed before the object can be told, `forks` that one of its own has.
    """

    key: str
    reach: Reach
    field: GraphQLField | None
    nodes: Sequence[FieldDetails]
    below: dict[str, "Selected"]

    @property
    def forks(self) -> bool:
        return any(one.awaits for one in self.below.values())

    @property
    def awaits(self) -> bool:
        return isinstance(self.reach, Edge) or self.forks


@dataclass(frozen=True, slots=True)
class Selected:
    """What is selected of the objects of one type at one place, in the order of the answer."""

    kind: GraphQLObjectType
    slots: tuple[Slot, ...]
    awaits: bool


class Shaper:
    """Makes trees of one operation, for the values of the variables that its conditions name."""

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: dict[str, FragmentDetails],
        operation: OperationDefinitionNode,
        variables: VariableValues,
    ) -> None:
        self._schema = schema
        self._fragments = fragments
        self._operation = operation
        self._variables = variables
        self._count = 0

    def root(self) -> Selected:
        """What the operation selects of its root type. Refused where graphql-core has to serve it."""
        kind = self._schema.get_root_type(self._operation.operation)
        assert kind is not None  # the document is valid
        found = collect_fields(self._schema, self._fragments, self._variables, kind, self._operation)
        return self._selected(kind, found.grouped_field_set)

    def _selected(self, kind: GraphQLObjectType, fields: GroupedFieldSet) -> Selected:
        slots = tuple(self._slot(kind, key, nodes) for key, nodes in fields.items())
        return Selected(kind, slots, any(slot.awaits for slot in slots))

    def _slot(self, kind: GraphQLObjectType, key: str, nodes: list[FieldDetails]) -> Slot:
        self._count += 1
        if self._count > MAX_SLOTS:
            raise Refused("it selects too much")
        name = nodes[0].node.name.value
        if name == "__typename":
            return Slot(key, TYPENAME, None, nodes, {})
        field = kind.fields.get(name)
        if field is None:
            raise Refused(f"{name} is of graphql-core")
        return Slot(key, reach_of(kind, field), field, nodes, self._below(get_named_type(field.type), nodes))

    def _below(self, kind: GraphQLNamedType, nodes: list[FieldDetails]) -> dict[str, Selected]:
        if is_object_type(kind):
            kinds: Sequence[GraphQLObjectType] = [kind]
        elif is_abstract_type(kind):
            kinds = self._schema.get_possible_types(kind)
        else:
            return {}
        return {one.name: self._selected(one, self._fields_of(one, nodes)) for one in kinds}

    def _fields_of(self, kind: GraphQLObjectType, nodes: list[FieldDetails]) -> GroupedFieldSet:
        found = collect_subfields(self._schema, self._fragments, self._variables, self._operation, kind, nodes)
        return found.grouped_field_set
