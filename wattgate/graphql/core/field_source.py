"""How a plan reaches what a field tells: by an attribute, an edge, an operation, or as the event itself."""

from dataclasses import dataclass
from keyword import iskeyword

from graphql import GraphQLField, GraphQLObjectType
from strawberry.types.field import StrawberryField

from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.fields import edge_of, operation_of
from wattgate.graphql.core.operation import Kind, Operation

DEFINITION = "strawberry-definition"
"""The extension under which Strawberry keeps its own definition of a field."""


class Refused(Exception):
    """A document is left to graphql-core; the message says why."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the parent."""

    name: str


@dataclass(frozen=True, slots=True)
class Typename:
    """The name of the parent's type."""


@dataclass(frozen=True, slots=True)
class Payload:
    """What a subscription is told."""


TYPENAME, PAYLOAD = Typename(), Payload()

Reach = Attribute | Typename | Payload | Edge | Operation


def reach_of(kind: GraphQLObjectType, field: GraphQLField) -> Reach:
    """How a field is reached. Refused where only its resolver knows."""
    declared: StrawberryField | None = field.extensions.get(DEFINITION)
    if declared is None or declared.extensions or declared.permission_classes:
        raise Refused(f"a field of {kind.name} is not declared as ours are")
    operation = operation_of(declared)
    if operation is not None:
        return PAYLOAD if operation.kind is Kind.SUBSCRIPTION else operation
    edge = edge_of(declared)
    if edge is not None:
        return edge
    name = declared.python_name
    if not declared.is_basic_field or not name.isidentifier() or iskeyword(name):
        raise Refused(f"{kind.name}.{name} has a resolver of its own")
    return Attribute(name)
