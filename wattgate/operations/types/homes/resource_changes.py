"""GraphQL input for changes of resources."""

import strawberry

from wattgate.operations.vocabulary.scalars import SourceTypeInfo, SourceUnitInfo
from wattgate.values import terms


@strawberry.input(description="Fields of a resource to change. Omitted fields keep their values.")
class ResourceChange:
    name: terms.Name | None = strawberry.UNSET
    description: terms.Description | None = strawberry.UNSET
    label: terms.Label | None = strawberry.UNSET
    data_source_resource_type_info: SourceTypeInfo | None = strawberry.UNSET
    data_source_unit_info: SourceUnitInfo | None = strawberry.UNSET
    active: bool | None = strawberry.field(
        default=strawberry.UNSET,
        description="False closes the resource: lists omit it, nothing more is recorded for it, and its alert rules "
        "pause. True opens it again.",
    )
