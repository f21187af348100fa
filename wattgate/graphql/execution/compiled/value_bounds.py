"""Upper bounds of the number of values in a response, from its selection and the lengths of its lists.

A response with few values is encoded at once, a large one in pieces. To count the values of every object takes longer
than to encode a small response. The selection has the maximum number of values of each object, so only lists are
visited.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from graphql import (
    GraphQLEnumType,
    GraphQLList,
    GraphQLNamedType,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    specified_scalar_types,
)

from wattgate.graphql.execution.compiled.selection_tree import ObjectSelection, SelectedField
from wattgate.operations.vocabulary.scalars import FAST_SERIALIZERS

BoundValues = Callable[[Any], int]
"""Returns an upper bound of the number of values in the value of a field, including itself."""


class Unbounded(Exception):
    """A value, such as one of type JSON, may contain any number of values."""


class _ObjectBound(NamedTuple):
    """The maximum number of values in an object without its lists, and the bounds of its lists by response keys."""

    fixed: int
    lists: Sequence[tuple[Sequence[str], BoundValues]]

    def count_listed(self, value: Mapping[str, Any]) -> int:
        """Return an upper bound of the values in the lists of an object."""
        total = 0
        for path, bound in self.lists:
            found: Any = value
            for key in path:
                found = found.get(key)
                if found is None:
                    break
            else:
                total += bound(found)
        return total


def bound_response(root: ObjectSelection) -> BoundValues | None:
    """Return the bound of the data of an operation, or None if a selected value may have any number of values."""
    try:
        bound = _bound_object([root])
    except Unbounded:
        return None
    return lambda data: 1 + bound.fixed + bound.count_listed(data)


def _bound_object(selections: Sequence[ObjectSelection]) -> _ObjectBound:
    """Return the bound of objects of one of several types. It is that of all their fields together."""
    fixed = 0
    lists: list[tuple[Sequence[str], BoundValues]] = []
    for selected in (selected for selection in selections for selected in selection.fields):
        fixed += 1
        if selected.field is None:  # __typename
            continue
        kind = get_nullable_type(selected.field.type)
        if isinstance(kind, GraphQLList):
            lists.append(((selected.key,), _bound_items(kind, selected)))
        elif selected.selections_by_type:
            below = _bound_object([*selected.selections_by_type.values()])
            fixed += below.fixed
            lists += [((selected.key, *path), bound) for path, bound in below.lists]
        else:
            _check_leaf(get_named_type(kind))
    return _ObjectBound(fixed, lists)


def _bound_items(kind: GraphQLList[Any], selected: SelectedField) -> BoundValues:
    """Return the bound of the items of a list, without the list itself."""
    inner = get_nullable_type(kind.of_type)
    if isinstance(inner, GraphQLList):
        bound = _bound_items(inner, selected)
        return lambda items: len(items) + sum([bound(item) for item in items if item is not None])
    if not selected.selections_by_type:
        _check_leaf(get_named_type(inner))
        return len
    item_bound = _bound_object([*selected.selections_by_type.values()])
    per_item = 1 + item_bound.fixed
    if not item_bound.lists:
        return lambda items: len(items) * per_item
    count_listed = item_bound.count_listed
    return lambda items: len(items) * per_item + sum([count_listed(item) for item in items if item is not None])


def _check_leaf(named: GraphQLNamedType) -> None:
    """Raise Unbounded unless each value of a leaf type is one value in JSON."""
    if isinstance(named, GraphQLEnumType) or specified_scalar_types.get(named.name) is named:
        return
    if not is_leaf_type(named) or named.coerce_output_value not in FAST_SERIALIZERS:
        raise Unbounded(named.name)
