"""GraphQL types of the freshness of readings and devices."""

from datetime import datetime

import strawberry

from wattgate.enums import FreshnessCause, FreshnessState
from wattgate.operations.types.meters.devices import NetworkState
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.directives import ONLY_ON_ERROR


@strawberry.type(description="Freshness of readings. Do not show a value that is STALE or OFFLINE as current.")
class Freshness:
    state: FreshnessState = strawberry.field(description="Freshness, derived from the age of the newest reading.")
    as_of: datetime | None = strawberry.field(description="End of the newest sample. Null if there is no reading.")
    age_seconds: int | None = strawberry.field(
        description="Age of the newest sample, in seconds. Null if there is no reading."
    )
    expected_every_seconds: int = strawberry.field(
        description="Usual time between new readings, in seconds, learned from the last days or minutes."
    )
    cause: FreshnessCause | None = strawberry.field(
        description="Cause of missing readings. Null while the state is LIVE."
    )


@strawberry.type(description="Freshness of the readings of a resource.")
class ResourceFreshness:
    resource_id: ids.ResourceId
    freshness: Freshness | None = strawberry.field(
        description="Freshness of the storage field with the most frequent readings. Null with the error "
        "CONSENT_REVOKED while the data is withheld.",
        directives=[ONLY_ON_ERROR],
    )


@strawberry.type(description="State of a device: its freshness and its last report.")
class DeviceState:
    device_id: ids.DeviceId
    freshness: Freshness | None = strawberry.field(
        description="Freshness of its newest live reading or its last report about itself. Null with the error "
        "CONSENT_REVOKED while the data of all its resources is withheld.",
        directives=[ONLY_ON_ERROR],
    )
    network_state: NetworkState | None = strawberry.field(
        description="Last report of the device about itself. Null if it never sent one, and if `freshness` is withheld."
    )
