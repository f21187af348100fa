"""Lists of objects of which a document selects only attributes, so that columns are enough."""

from collections.abc import Mapping
from typing import NamedTuple

from graphql import get_named_type, is_abstract_type, is_leaf_type

from wattgate.graphql.execution.compiled.selection_tree import SelectedField
from wattgate.operations.core.field_source import AttributeSource


class LeafAttribute(NamedTuple):
    """An attribute of rows that may have columns, and the name of its leaf type."""

    attribute: str
    scalar: str


def leaf_attributes(selected: SelectedField) -> dict[str, LeafAttribute] | None:
    """Return the attributes that the objects of a list have in the response; None if others need more than columns."""
    if len(selected.selections_by_type) != 1:
        return None
    (selection,) = selected.selections_by_type.values()
    if selected.field is None or is_abstract_type(get_named_type(selected.field.type)):
        return None
    leaves = {}
    for inner in selection.fields:
        if not isinstance(inner.source, AttributeSource) or inner.source.node_type is not None or inner.field is None:
            return None
        if not is_leaf_type(get_named_type(inner.field.type)):
            return None
        leaves[inner.key] = LeafAttribute(inner.source.name, get_named_type(inner.field.type).name)
    return leaves or None


def columns_call(var: str, leaves: Mapping[str, LeafAttribute]) -> str:
    """Return the expression that reads the columns of the rows in a variable. See `serialized_columns`."""
    attributes = tuple(leaf.attribute for leaf in leaves.values())
    floats, integers = (
        tuple(position for position, leaf in enumerate(leaves.values()) if leaf.scalar == scalar)
        for scalar in ("Float", "Int")
    )
    return f"serialized_columns({var}, {attributes!r}, {floats!r}, {integers!r})"
