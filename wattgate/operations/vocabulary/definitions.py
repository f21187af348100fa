"""Strawberry's definitions in a schema of graphql-core, and the facts that their annotations state."""

from typing import Any

from graphql import GraphQLArgument, GraphQLField, GraphQLInputField

from wattgate.values.annotations import NO_FACTS, Facts, facts_of

STRAWBERRY_DEFINITION = "strawberry-definition"
"""The extension in which Strawberry stores its own definition of a type or a field."""


def declared_facts(declared: GraphQLArgument | GraphQLField | GraphQLInputField) -> Facts:
    """Return the facts that the declaration of an argument or a field states."""
    return _annotation_facts(declared.extensions.get(STRAWBERRY_DEFINITION))


def declared_description(definition: Any) -> str | None:
    """Return the description of Strawberry's definition of an argument or a field, or that of its annotation."""
    return definition.description or _annotation_facts(definition).description


def _annotation_facts(definition: Any) -> Facts:
    annotation = getattr(definition, "type_annotation", None)
    return NO_FACTS if annotation is None else facts_of(annotation.raw_annotation)
