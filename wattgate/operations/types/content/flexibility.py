"""GraphQL types of the demand flexibility service (DFS)."""

from decimal import Decimal

import strawberry

from wattgate.db import models
from wattgate.db.queries.content import reference_loader
from wattgate.enums import DfsEventState
from wattgate.operations.core.fields import RestForm, edge, field_with_rest_form, list_result
from wattgate.operations.core.pagination import Connection, connection_edge
from wattgate.operations.types.meters.quantities import Rate
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.scalars import InputCurrency
from wattgate.principal import Permission
from wattgate.values import terms


@strawberry.type(description="Time range in which households are paid to use less electricity.")
class DfsEvent:
    dfs_event_id: ids.DfsEventId
    application_id: ids.ApplicationId
    name: terms.Name
    state: DfsEventState = strawberry.field(description="State of the event.")
    starts_at: terms.StartsAt
    ends_at: terms.EndsAt
    reward_rate: Rate = field_with_rest_form(
        "reward",
        RestForm("reward", Decimal, "Reward in pence for each kWh that is not used."),
        description="Reward for each kWh that is not used.",
    )
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    participations: "Connection[DfsParticipation]" = connection_edge(
        models.DfsParticipation,
        column="dfs_event_id",
        needs=Permission.FLEXIBILITY_READ,
        description="Participations in the event that the caller may see.",
    )


@strawberry.input(description="Demand flexibility event to announce.")
class NewDfsEvent:
    name: terms.Name
    starts_at: terms.StartsAt
    ends_at: terms.EndsAt
    reward: Decimal = strawberry.field(
        description="Reward for each kWh that is not used, in the major unit of `currency`, such as pounds."
    )
    currency: InputCurrency


@strawberry.type(description="Enrolment of a user in the demand flexibility service with one meter point.")
class DfsUser:
    dfs_user_id: strawberry.ID = strawberry.field(description="ID of the DFS enrolment.")
    application_id: ids.ApplicationId
    user_id: ids.UserId
    mpxn: terms.Mpxn
    active: bool = strawberry.field(description="Whether the enrolment is active. False after the user opted out.")
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


DfsUsers = list_result(
    "DfsUsers",
    DfsUser,
    description="Enrolments that a call has changed.",
    items="One enrolment for each meter point.",
)


@strawberry.type(description="Participation of a user in a demand flexibility event with one meter point.")
class DfsParticipation:
    participation_id: strawberry.ID = strawberry.field(description="ID of the participation.")
    application_id: ids.ApplicationId
    dfs_event_id: ids.DfsEventId
    user_id: ids.UserId
    mpxn: terms.Mpxn
    created_at: terms.CreatedAt
    event: DfsEvent | None = edge(
        reference_loader(models.DfsEvent, "dfs_event_id"),
        needs=Permission.FLEXIBILITY_READ,
        description="The event. Null if the caller may not see it.",
    )


DfsParticipations = list_result(
    "DfsParticipations",
    DfsParticipation,
    description="Participations that a call has added.",
    items="One participation for each meter point.",
)
