"""The source of a field in a compiled plan: an attribute, an edge, an operation, or the subscription payload."""

from dataclasses import dataclass
from keyword import iskeyword

from graphql import GraphQLField, GraphQLObjectType
from strawberry.types.field import StrawberryField

from wattgate.graphql.core.edge import EdgeField
from wattgate.graphql.core.fields import edge_of, operation_of
from wattgate.graphql.core.operation import Operation, OperationKind

STRAWBERRY_DEFINITION = "strawberry-definition"
"""The extension in which Strawberry stores its own definition of a field."""


class NotCompilable(Exception):
    """A document cannot be compiled, and graphql-core executes it; the message says why."""


@dataclass(frozen=True, slots=True)
class AttributeSource:
    """An attribute of the parent."""

    name: str


@dataclass(frozen=True, slots=True)
class TypenameSource:
    """The name of the parent's type."""


@dataclass(frozen=True, slots=True)
class PayloadSource:
    """The payload of a subscription event."""


TYPENAME, PAYLOAD = TypenameSource(), PayloadSource()

FieldSource = AttributeSource | TypenameSource | PayloadSource | EdgeField | Operation


def field_source_of(kind: GraphQLObjectType, field: GraphQLField) -> FieldSource:
    """Return the source of a field. Raise NotCompilable if only its resolver can compute it."""
    declared: StrawberryField | None = field.extensions.get(STRAWBERRY_DEFINITION)
    if declared is None or declared.extensions or declared.permission_classes:
        raise NotCompilable(f"a field of {kind.name} is not declared with operation(), edge() or a plain attribute")
    operation = operation_of(declared)
    if operation is not None:
        return PAYLOAD if operation.kind is OperationKind.SUBSCRIPTION else operation
    edge = edge_of(declared)
    if edge is not None:
        return edge
    name = declared.python_name
    if not declared.is_basic_field or not name.isidentifier() or iskeyword(name):
        raise NotCompilable(f"{kind.name}.{name} has a resolver of its own")
    return AttributeSource(name)
