"""Sizes of lists, as fields declare them for cost estimation."""

from collections.abc import Sequence
from functools import lru_cache

from graphql import GraphQLField, GraphQLSchema, get_nullable_type, is_list_type, is_object_type

from wattgate.operations.core.fields import list_sizes_of
from wattgate.operations.vocabulary.cost_weights import DEFAULT_LIST_SIZE, ListSize
from wattgate.operations.vocabulary.definitions import STRAWBERRY_DEFINITION


@lru_cache(maxsize=16)
def sized_fields(schema: GraphQLSchema) -> frozenset[str]:
    """Return the types and fields whose list sizes are declared by a field above them."""
    objects = [kind for kind in schema.type_map.values() if is_object_type(kind)]
    definitions = [field.extensions.get(STRAWBERRY_DEFINITION) for kind in objects for field in kind.fields.values()]
    return frozenset(
        name
        for definition in definitions
        if definition
        for size in list_sizes_of(definition)
        for name in size.sized_fields
    )


def own_list_size(sizes: Sequence[ListSize]) -> ListSize:
    """Return the declared size of a field's own list, or the default size."""
    return next((size for size in sizes if not size.sized_fields), ListSize(DEFAULT_LIST_SIZE))


def size_covers(size: ListSize, coordinate: str) -> bool:
    """Return whether a declared size applies to a field, by its coordinate or its type."""
    return coordinate in size.sized_fields or coordinate.partition(".")[0] in size.sized_fields


def list_depth(field: GraphQLField) -> int:
    """Return the nesting depth of the lists in the type of a field."""
    kind, count = get_nullable_type(field.type), 0
    while is_list_type(kind):
        kind, count = get_nullable_type(kind.of_type), count + 1
    return count
