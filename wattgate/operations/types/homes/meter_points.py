"""GraphQL types of meter points."""

import strawberry

from wattgate.operations.types.homes.resources import Resource
from wattgate.values import terms


@strawberry.type(description="Resources that are measured at a meter point.")
class MeterPointResources:
    valid: bool = strawberry.field(description="Always true, because a meter point without resources returns an error.")
    mpxn: terms.Mpxn
    resources: list[Resource] = strawberry.field(description="Resources that are measured at the meter point.")
