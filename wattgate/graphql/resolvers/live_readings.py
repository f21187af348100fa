"""Live readings."""

from collections.abc import Sequence

import strawberry

from wattgate.db import models
from wattgate.db.queries.consent import find_consent_errors
from wattgate.graphql.core.operation import Call, OperationKind, operation
from wattgate.graphql.types import readings as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource


@operation(OperationKind.SUBSCRIPTION, returns=types.LiveReading, needs=Permission.READINGS_READ, resumes=True)
async def readings(call: Call, *, resource_ids: list[strawberry.ID]) -> SubscriptionSource:
    """Publish each reading of these resources when it is recorded."""
    watched = tuple(topics.readings(one.resource_id) for one in await require_readable_resources(call, resource_ids))
    return SubscriptionSource(watched, backfill=backfill.readings(resource_ids))


async def require_readable_resources(call: Call, resource_ids: Sequence[str]) -> list[models.Resource]:
    """These resources, whose readings the caller may follow."""
    found = await call.rows.require_many(models.Resource, resource_ids)
    for refusal in (await find_consent_errors(call.rows, found)).values():
        raise refusal
    return found
