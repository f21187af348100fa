"""How fresh readings are."""

from datetime import datetime

import strawberry

from wattgate.enums import FreshnessCause, FreshnessState
from wattgate.graphql.types.devices import NetworkState


@strawberry.type(description="How fresh readings are. Whoever draws a value that is STALE or OFFLINE draws an old one.")
class Freshness:
    state: FreshnessState
    as_of: datetime | None = strawberry.field(
        description="Up to when there are readings: the end of the newest sample; null before the first."
    )
    age_seconds: int | None = strawberry.field(description="How long before this answer that was.")
    expected_every_seconds: int = strawberry.field(
        description="After how long there is usually something newer, as the last days or minutes have shown."
    )
    cause: FreshnessCause | None = strawberry.field(
        description="What keeps readings away, as far as that is known; null while it is LIVE."
    )


@strawberry.type(description="How fresh a resource is.")
class ResourceFreshness:
    resource_id: strawberry.ID
    freshness: Freshness = strawberry.field(description="That of its readings that come most often.")


@strawberry.type(description="Whether a device still gives signs of life, and what it said of itself.")
class DeviceState:
    device_id: strawberry.ID
    freshness: Freshness = strawberry.field(
        description="That of its last sign: a live reading, or what it said of itself."
    )
    network_state: NetworkState | None = strawberry.field(description="What it said of itself, where it ever did.")
