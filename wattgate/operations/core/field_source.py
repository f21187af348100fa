"""The source of a field in a compiled plan: an attribute, an edge, an operation, or the subscription payload."""

from dataclasses import dataclass
from keyword import iskeyword

from graphql import GraphQLField, GraphQLObjectType
from strawberry.types.field import StrawberryField

from wattgate.operations.core.fields import edge_of, operation_of
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.vocabulary.definitions import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.edge import EdgeField
from wattgate.operations.vocabulary.node import is_global_id


class NotCompilable(Exception):
    """A document cannot be compiled, and graphql-core executes it; the message says why."""


@dataclass(frozen=True, slots=True)
class AttributeSource:
    """An attribute of the parent. With `node_type`, the source is the global id that the attribute has in this type."""

    name: str
    node_type: str | None = None


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
    if is_global_id(declared):
        return AttributeSource(kind.extensions[STRAWBERRY_DEFINITION].origin.node_key, kind.name)
    name = declared.python_name
    if not declared.is_basic_field or not name.isidentifier() or iskeyword(name):
        raise NotCompilable(f"{kind.name}.{name} has a resolver of its own")
    return AttributeSource(name)
