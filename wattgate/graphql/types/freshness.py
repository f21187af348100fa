"""How fresh readings are."""

from datetime import datetime

import strawberry

from wattgate.names import FreshnessCause, FreshnessState

strawberry.enum(
    FreshnessState,
    description="What the age of the newest reading says, by how often readings come. An interval is "
    "`expectedEverySeconds`.",
)
strawberry.enum(FreshnessCause, description="Where readings stay away that do not come.")


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
