"""Live readings."""

from collections.abc import Sequence

import strawberry

from wattgate.db import models
from wattgate.db.queries.consent import withheld
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.types import readings as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import Watch


@operation(Kind.SUBSCRIPTION, returns=types.LiveReading, needs=Permission.READINGS_READ, resumes=True)
async def readings(call: Call, *, resource_ids: list[strawberry.ID]) -> Watch:
    """Every reading of these resources, as it is recorded."""
    watched = tuple(topics.readings(one.resource_id) for one in await followed(call, resource_ids))
    return Watch(watched, missed=backfill.readings(resource_ids))


async def followed(call: Call, resource_ids: Sequence[str]) -> list[models.Resource]:
    """These resources, whose readings the caller may follow."""
    found = await call.rows.named(models.Resource, resource_ids)
    for refusal in (await withheld(call.rows, found)).values():
        raise refusal
    return found
