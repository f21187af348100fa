"""The tree of the fields that an operation selects.

graphql-core collects the fields, and so applies fragments and directives.
"""

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
from graphql.execution import VariableValues
from graphql.execution.collect_fields import (
    FieldDetails,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)

from wattgate.operations.core.fields import TYPENAME, FieldSource, NotCompilable, field_source_of
from wattgate.operations.vocabulary.node import EdgeField

MAX_FIELDS = 3_000
"""Maximum number of fields of a compiled document, counted for each member of an interface or union."""


@dataclass(frozen=True, slots=True)
class SelectedField:
    """A response key of an object. `selections_by_type` contains the selection of its objects by type name.

    `has_edges` is true if an edge has to be loaded to compute the value, `has_nested_edges` if its objects have edges.
    """

    key: str
    source: FieldSource
    field: GraphQLField | None
    nodes: Sequence[FieldDetails]
    selections_by_type: dict[str, "ObjectSelection"]

    def names_below(self) -> frozenset[str]:
        """Return the names of all fields that are selected below this one, at any depth."""
        selections = self.selections_by_type.values()
        fields = [field for selection in selections for field in selection.fields]
        names = frozenset(field.nodes[0].node.name.value for field in fields)
        return names.union(*(field.names_below() for field in fields))

    @property
    def has_nested_edges(self) -> bool:
        return any(selection.has_edges for selection in self.selections_by_type.values())

    @property
    def has_edges(self) -> bool:
        return isinstance(self.source, EdgeField) or self.has_nested_edges


@dataclass(frozen=True, slots=True)
class ObjectSelection:
    """The selection of the objects of one type at one position, in response order."""

    kind: GraphQLObjectType
    fields: tuple[SelectedField, ...]
    has_edges: bool


class SelectionTreeBuilder:
    """Builds the tree of one operation, for the values of the variables in its directives."""

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

    def build(self) -> ObjectSelection:
        """Return the selection of the root type. Raise NotCompilable if graphql-core has to execute the operation."""
        kind = self._schema.get_root_type(self._operation.operation)
        assert kind is not None  # the document is valid
        collected = collect_fields(self._schema, self._fragments, self._variables, kind, self._operation)
        return self._build_selection(kind, collected.grouped_field_set)

    def _build_selection(self, kind: GraphQLObjectType, fields: GroupedFieldSet) -> ObjectSelection:
        selected = tuple(self._build_field(kind, key, nodes) for key, nodes in fields.items())
        return ObjectSelection(kind, selected, any(field.has_edges for field in selected))

    def _build_field(self, kind: GraphQLObjectType, key: str, nodes: list[FieldDetails]) -> SelectedField:
        self._count += 1
        if self._count > MAX_FIELDS:
            raise NotCompilable(f"it selects more than {MAX_FIELDS} fields")
        name = nodes[0].node.name.value
        if name == "__typename":
            return SelectedField(key, TYPENAME, None, nodes, {})
        field = kind.fields.get(name)
        if field is None:
            raise NotCompilable(f"{name} is an introspection field")
        return SelectedField(
            key,
            field_source_of(kind, field),
            field,
            nodes,
            self._build_selections_by_type(get_named_type(field.type), nodes),
        )

    def _build_selections_by_type(
        self, kind: GraphQLNamedType, nodes: list[FieldDetails]
    ) -> dict[str, ObjectSelection]:
        if is_object_type(kind):
            kinds: Sequence[GraphQLObjectType] = [kind]
        elif is_abstract_type(kind):
            kinds = self._schema.get_possible_types(kind)
        else:
            return {}
        return {member.name: self._build_selection(member, self._collect_subfields(member, nodes)) for member in kinds}

    def _collect_subfields(self, kind: GraphQLObjectType, nodes: list[FieldDetails]) -> GroupedFieldSet:
        collected = collect_subfields(self._schema, self._fragments, self._variables, self._operation, kind, nodes)
        return collected.grouped_field_set
