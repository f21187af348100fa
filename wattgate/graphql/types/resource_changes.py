"""GraphQL input for changes of resources."""

import strawberry

from wattgate.graphql.core.scalars import Json


@strawberry.input(description="Fields of a resource to change. Omitted fields keep their values.")
class ResourceChange:
    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET
    label: str | None = strawberry.UNSET
    data_source_resource_type_info: Json | None = strawberry.UNSET
    data_source_unit_info: Json | None = strawberry.UNSET
    active: bool | None = strawberry.field(
        default=strawberry.UNSET,
        description="False closes the resource: lists omit it, nothing more is recorded for it, and its alert rules "
        "pause. True opens it again.",
    )
