"""Directives of the schema for code generators and clients, and Strawberry's definitions behind its types."""

from typing import Any

import strawberry
from graphql import GraphQLArgument, GraphQLField, GraphQLInputField
from strawberry.schema_directive import Location

from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT
from wattgate.values.annotations import NO_FACTS, Facts, facts_of


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    name="semanticNonNull",
    description="The field is null only if `errors` has an entry for it. `levels` names the levels of lists for which "
    "that holds: 0 is the field itself, 1 the items of its list.",
)
class SemanticNonNull:
    levels: list[int] = strawberry.directive_field(name="levels", default=(0,))  # immutable, as dataclasses demand


ONLY_ON_ERROR = SemanticNonNull(levels=strawberry.UNSET)  # printed without its default
"""The directive of a field that is null only on an error."""


@strawberry.schema_directive(
    locations=[
        Location.ARGUMENT_DEFINITION,
        Location.ENUM,
        Location.FIELD_DEFINITION,
        Location.INPUT_FIELD_DEFINITION,
        Location.OBJECT,
        Location.SCALAR,
    ],
    name="cost",
    description="Weight of a field or type, as in the GraphQL cost directives specification. An operation costs the "
    f"sum of its type cost, its field cost, and {STATEMENT_WEIGHT} for each position of the document with a relation: "
    "a field below the root that loads records. The schema does not mark relations. Where the weight of a field "
    "depends on its arguments, the description of the field says so. A dry run returns the exact estimate.",
)
class Cost:
    weight: str


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    name="listSize",
    description="Assumed length of a list, or of the lists in `sizedFields`, as in the GraphQL cost directives "
    "specification. The integer arguments in `slicingArguments` state the length.",
)
class ListSizeDirective:
    assumed_size: int | None = strawberry.UNSET
    slicing_arguments: list[str] | None = strawberry.UNSET
    sized_fields: list[str] | None = strawberry.UNSET
    require_one_slicing_argument: bool | None = True


# Strawberry's definitions in a schema of graphql-core, and the facts that their annotations state.

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
