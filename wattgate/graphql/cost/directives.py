"""The declared weights and list sizes of fields as directives of the GraphQL cost directives specification.

Source: https://ibm.github.io/graphql-specs/cost-spec.html. The directives have the weights and sizes that `estimate.py`
uses. The specification cannot express an amount that is computed from a time range, or from the length of a list in the
arguments. The description of such a field names these arguments.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import strawberry
from graphql import (
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
)

from wattgate.operations.core.fields import edge_of, list_sizes_of, operation_of
from wattgate.operations.vocabulary.cost_weights import DEFAULT_LIST_SIZE, Amount, ListSize
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION, Cost, ListSizeDirective
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryField
from wattgate.values.graphql_names import graphql_name

COST_DIRECTIVES: Sequence[type] = (Cost, ListSizeDirective)


def add_cost_directives(schema: GraphQLSchema) -> None:
    """Add the directives of all fields, and sentences to the descriptions of fields that they cannot express."""
    sized_names = sized_fields(schema)
    for type_ in schema.type_map.values():
        if not isinstance(type_, GraphQLObjectType) or type_.name.startswith("__"):
            continue
        for name, field in type_.fields.items():
            declared: StrawberryField | None = field.extensions.get(STRAWBERRY_DEFINITION)
            if declared is None:
                continue
            is_leaf = is_leaf_type(get_named_type(field.type))
            is_sized_above = bool({type_.name, f"{type_.name}.{name}"} & sized_names)
            sizes = [] if is_leaf else _sizes_of(field, declared, is_sized_above=is_sized_above)
            others = [one for one in declared.directives if not isinstance(one, Cost | ListSizeDirective)]
            declared.directives = [*others, *_cost_of(_weight_of(declared), is_leaf=is_leaf), *_list_size_of(sizes)]
            remarks = " ".join(_remarks(_weight_of(declared), sizes))
            if remarks:
                separator = "\n\n" if "\n" in (field.description or "") else " "
                field.description = f"{field.description}{separator}{remarks}"


def _weight_of(declared: StrawberryField) -> Amount:
    """Return the weight of a field. One that only leads to an object of its parent costs nothing itself."""
    if operation := operation_of(declared):
        return operation.base_cost
    edge = edge_of(declared)
    return edge.weight if edge else 0


def _sizes_of(field: GraphQLField, declared: StrawberryField, *, is_sized_above: bool) -> list[ListSize]:
    """Return the sizes of a field's own list, unless a field above states it, and of the lists below it."""
    own = [own_list_size(list_sizes_of(declared))] if list_depth(field) and not is_sized_above else []
    return own + [size for size in list_sizes_of(declared) if size.sized_fields]


def _cost_of(weight: Amount, *, is_leaf: bool) -> Iterator[Cost]:
    """Yield the directive of a weight, unless it is the default of the specification or depends on arguments."""
    if isinstance(weight, int) and weight != (0 if is_leaf else 1):
        yield Cost(weight=str(weight))


def _list_size_of(sizes: Sequence[ListSize]) -> Iterator[ListSizeDirective]:
    """Yield the directive of the first size that it can express: it is not repeatable."""
    for size in sizes:
        names = [name.partition(".")[2] for name in size.sized_fields]
        below = names if size.sized_fields else strawberry.UNSET
        if not all(names):  # a size for all lists of a type
            continue
        if isinstance(size.assumed_size, int):
            yield ListSizeDirective(
                assumed_size=size.assumed_size, sized_fields=below, require_one_slicing_argument=strawberry.UNSET
            )
            return
        if size.assumed_size.default is not None:
            arguments = [graphql_name(name) for name in size.assumed_size.slicing_arguments]
            yield ListSizeDirective(
                assumed_size=size.assumed_size.default,
                slicing_arguments=arguments,
                sized_fields=below,
                require_one_slicing_argument=False,
            )
            return


def _remarks(weight: Amount, sizes: Sequence[ListSize]) -> Iterator[str]:
    """Yield a sentence for each amount that the directives cannot express."""
    if not isinstance(weight, int):
        yield f"The cost depends on {_enumerate(weight.slicing_arguments)}."
    for size in sizes:
        if not isinstance(size.assumed_size, int) and size.assumed_size.default is None:
            lists = _enumerate(size.sized_fields, "or") if size.sized_fields else "the list"
            yield f"The length of {lists} depends on {_enumerate(size.assumed_size.slicing_arguments)}."
        if size.items_per_unit != 1:
            items = f"items of {_enumerate(size.sized_fields, 'or')}" if size.sized_fields else "items"
            yield f"{size.items_per_unit} {items} cost one unit."


def _enumerate(names: Sequence[str], conjunction: str = "and") -> str:
    *first, last = [f"`{graphql_name(name)}`" for name in names]
    return f"{', '.join(first)} {conjunction} {last}" if first else last


# Sizes of lists, as fields declare them for cost estimation.


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
