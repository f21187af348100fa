"""Audiences of the schema: kinds of callers, and the fields that each may use, as directives for tools."""

from collections.abc import Mapping

import strawberry
from graphql import GraphQLSchema
from strawberry.schema_directive import Location

from wattgate.enums import Audience
from wattgate.operations.core.fields import edge_of, operation_of
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryField
from wattgate.principal import GRANTS, Permission, Role

ROLES: Mapping[Audience, Role] = {
    Audience.APP: Role.ACCOUNT,
    Audience.DISPLAY: Role.DISPLAY,
    Audience.EDITOR: Role.TEMPLATE_EDITOR,
    Audience.SUPPORT: Role.ADMINISTRATOR,
    Audience.BACK_END: Role.APPLICATION,
}
"""The role of the callers of each audience."""


TAG = "tag"


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    name=TAG,
    repeatable=True,
    description="Audience that may use the field: `app` (accounts of households), `display` (paired displays), "
    "`editor` (template editors), `support` (administrators) or `back-end` (applications). A field without tags is for "
    "all of them.",
)
class Tag:
    name: str


def needs_of(declared: StrawberryField | None) -> Permission | None:
    """Return the permission that a root field or an edge needs. None for a plain field, which needs none of its own."""
    source = declared and (operation_of(declared) or edge_of(declared))
    return source.needs if source else None


def add_audience_tags(schema: GraphQLSchema) -> None:
    """Add the tags of root fields and edges that not every audience may use."""
    for kind in schema.type_map.values():
        for field in getattr(kind, "fields", {}).values():
            declared: StrawberryField | None = field.extensions.get(STRAWBERRY_DEFINITION)
            needs = needs_of(declared)
            if declared is None or needs is None:
                continue
            audiences = [audience for audience, role in ROLES.items() if needs in GRANTS[role]]
            others = [one for one in declared.directives if not isinstance(one, Tag)]  # other schemas share the field
            tags = [] if len(audiences) == len(ROLES) else [Tag(name=audience.value) for audience in audiences]
            declared.directives = [*others, *tags]
