"""Global object identification: the interface `Node`, global ids of records, and edges to records.

A global id is the base64 of `Type:key`, as Relay and Strawberry encode it. The key is the id that the type has as well.
"""

import binascii
from base64 import b64decode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import strawberry
from graphql import GraphQLSchema, is_object_type

from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import row_class
from wattgate.errors import BadInput, Problem
from wattgate.operations.vocabulary.cost_weights import Amount, ListSize, ResultUnits
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryField
from wattgate.principal import Permission

_NODE_METADATA = "wattgate.global-id"


class NodeKey(NamedTuple):
    """The parts of a global id: the name of a type, and the id of a record of it."""

    type_name: str
    key: str


def encode_global_id(type_name: str, key: str) -> str:
    """Return the global id of a record."""
    return binascii.b2a_base64(f"{type_name}:{key}".encode(), newline=False).decode()


def decode_global_id(global_id: str, argument: str = "id") -> NodeKey:
    """Return the parts of a global id. Raise BadInput unless it has the form that `encode_global_id` returns."""
    try:
        type_name, separator, key = b64decode(global_id, validate=True).decode().partition(":")
    except ValueError:
        type_name = separator = key = ""
    if not (type_name and separator and key) or encode_global_id(type_name, key) != global_id:
        raise invalid_global_id(global_id, argument)
    return NodeKey(type_name, key)


def invalid_global_id(global_id: str, argument: str = "id") -> BadInput:
    """Return the error for a text that is no global id of this gateway."""
    return BadInput(
        f"{global_id[:100]!r} is no global ID. Pass the value of a field `id`, not one of another field, such as "
        "`resourceId`.",
        problems=[Problem((argument,), "is no global ID")],
    )


def _resolve_global_id(root: Any, info: strawberry.Info) -> strawberry.ID:
    type_name = info.path.typename or ""
    kind: Any = info.schema.get_type_by_name(type_name)
    return strawberry.ID(encode_global_id(type_name, getattr(root, kind.origin.node_key)))


@strawberry.interface(description="Record that `node` returns by its global ID.")
class Node:
    """The interface of records that can be read alone. A subclass names its model.

    `node_key` is the attribute with the id of the record: by default the key of the model.
    """

    node_model: ClassVar[type[Tenanted]]
    node_key: ClassVar[str]

    id: strawberry.ID = strawberry.field(
        resolver=_resolve_global_id,
        description="Global ID of the record: unique among all types, and valid for `node`.",
        metadata={_NODE_METADATA: True},
    )

    def __init_subclass__(cls, *, model: type[Tenanted], key: str | None = None) -> None:
        super().__init_subclass__()
        cls.node_model, cls.node_key = model, key or model.key

    @classmethod
    def resolve_type(cls, value: Any, info: Any, kind: Any) -> str:
        """Return the name of a record's type: of a row, an ORM object, or an object of the type itself."""
        return _type_names(info.schema)[value.__class__]


def is_global_id(field: StrawberryField) -> bool:
    """Return whether a field is the global id of a record. REST does not have it."""
    return bool(field.metadata and field.metadata.get(_NODE_METADATA))


@lru_cache(maxsize=16)
def _type_names(schema: GraphQLSchema) -> dict[type, str]:
    """Return the names of the types that implement `Node`, by the classes of their objects."""
    names: dict[type, str] = {}
    for kind in schema.type_map.values():
        origin = kind.extensions[STRAWBERRY_DEFINITION].origin if is_node_type(kind) else None
        if origin is not None:
            names |= dict.fromkeys((origin, origin.node_model, row_class(origin.node_model)), kind.name)
    return names


def is_node_type(kind: Any) -> bool:
    """Return whether an object type of a schema implements `Node`."""
    return is_object_type(kind) and any(interface.name == Node.__name__ for interface in kind.interfaces)


EdgeLoader = Callable[..., Awaitable[list[Any]]]
"""A set-wise loader of `db.queries`: (rows, parents, **arguments) -> one result for each parent, in order."""


@dataclass(frozen=True, slots=True)
class EdgeField:
    """A set-wise loader and the permission that it requires. Each edge field of a type has its own instance.

    `weight` is the cost for each parent, added to the statements for all of them. `sizes` declares list lengths.
    `result_units` returns the additional cost of a result. `load_values` loads the same results with the parts alone
    that the fields `value_fields` need.
    """

    load: EdgeLoader
    needs: Permission
    weight: Amount = field(default=1, compare=False)
    sizes: tuple[ListSize, ...] = field(default=(), compare=False)
    result_units: ResultUnits | None = field(default=None, compare=False)
    value_fields: frozenset[str] = field(default=frozenset(), compare=False)
    load_values: EdgeLoader | None = field(default=None, compare=False)

    def for_selection(self, names: frozenset[str]) -> "EdgeField":
        """Return the edge with the loader that reads no more than the fields with these names need."""
        if self.load_values is None or not names <= self.value_fields:
            return self
        return replace(self, load=self.load_values)
