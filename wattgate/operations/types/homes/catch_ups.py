"""GraphQL types of catch-ups of a resource."""

import strawberry

from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.meters.devices import CatchUp
from wattgate.values import terms


@strawberry.type(description="Result of a request to start a catch-up.")
class StartedCatchUp:
    resource: Resource = strawberry.field(description=terms.RESOURCE)
    started: bool = strawberry.field(
        description="Whether this call started the catch-up. False if one was started in the same half hour before."
    )
    catch_up: CatchUp = strawberry.field(description="The catch-up: a retrieval of readings from the meter network.")
