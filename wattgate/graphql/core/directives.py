"""Directives of the schema: facts about fields that types do not express, for code generators and clients."""

import strawberry
from strawberry.schema_directive import Location


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
