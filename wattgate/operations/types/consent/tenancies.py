"""GraphQL type of the tenancies of meter points."""

from datetime import datetime

import strawberry

from wattgate.enums import TenancyProof


@strawberry.type(description="Time in which a user lives at a meter point.")
class MeterPointTenancy:
    tenancy_id: strawberry.ID = strawberry.field(description="ID of the tenancy.")
    user_id: strawberry.ID = strawberry.field(description="User who lives there.")
    mpxn: str = strawberry.field(description="Number of the meter point.")
    began_at: datetime | None = strawberry.field(
        description="When the user moved in. Null if the application knows no user who lived there before."
    )
    ended_at: datetime | None = strawberry.field(
        description="When the user moved out. Null while the user lives there."
    )
    proof: TenancyProof = strawberry.field(description="On whose word the user lives there.")
