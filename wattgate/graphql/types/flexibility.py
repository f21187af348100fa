"""The demand flexibility service (DFS)."""

from datetime import datetime
from decimal import Decimal
from enum import Enum

import strawberry

from wattgate.db import models
from wattgate.db.queries.references import referred
from wattgate.graphql.core.fields import edge
from wattgate.principal import Permission


@strawberry.enum(description="Where a demand flexibility event stands.")
class DfsEventState(Enum):
    ANNOUNCED = "announced"
    OPEN = "open"
    ACTIVE = "active"
    ENDED = "ended"
    SETTLED = "settled"
    CANCELLED = "cancelled"


@strawberry.type(description="A time in which households are paid for using less.")
class DfsEvent:
    dfs_event_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    state: str = strawberry.field(description="announced, open, active, ended, settled or cancelled.")
    starts_at: datetime
    ends_at: datetime
    reward: Decimal = strawberry.field(description="Pence for each kWh that is not used.")
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="An event to announce.")
class NewDfsEvent:
    name: str
    starts_at: datetime
    ends_at: datetime
    reward: Decimal = strawberry.field(description="Pence for each kWh that is not used.")


@strawberry.type(description="A user who opted in with a meter point.")
class DfsUser:
    dfs_user_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    mpxn: str
    active: bool = strawberry.field(description="Whether the user is still opted in.")
    created_at: datetime
    updated_at: datetime


@strawberry.type(description="A user taking part in an event with a meter point.")
class DfsParticipation:
    participation_id: strawberry.ID
    application_id: strawberry.ID
    dfs_event_id: strawberry.ID
    user_id: strawberry.ID
    mpxn: str
    created_at: datetime
    event: DfsEvent | None = edge(
        referred(models.DfsEvent, "dfs_event_id"), needs=Permission.FLEXIBILITY_READ, description="The event."
    )
