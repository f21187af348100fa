"""Live readings."""

import strawberry

from wattgate.db import models
from wattgate.db.queries.consent import withheld
from wattgate.errors import NotFound
from wattgate.graphql.operation import Call, Kind, operation
from wattgate.graphql.types import readings as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.watch import Watch


@operation(Kind.SUBSCRIPTION, returns=types.LiveReading, needs=Permission.READINGS_READ, resumes=True)
async def readings(call: Call, *, resource_ids: list[strawberry.ID]) -> Watch:
    """Every reading of these resources, as it is recorded."""
    known = await call.rows.many(models.Resource, resource_ids)
    for resource_id in resource_ids:
        if resource_id not in known:
            raise NotFound(f"no resource with id {resource_id}")
    for refusal in (await withheld(call.rows, list(known.values()))).values():
        raise refusal
    return Watch(tuple(topics.readings(resource_id) for resource_id in known))
