"""The display of a home, live."""

import strawberry

from wattgate.db import models
from wattgate.db.queries import displays as queries
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.db.queries.consent import withheld
from wattgate.graphql.core.cost_weights import DISPLAY
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.types import displays as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.subscriptions.display import DisplayView
from wattgate.realtime.subscriptions.freshness import topics_of
from wattgate.realtime.subscriptions.subscription_source import Watch


@operation(Kind.SUBSCRIPTION, returns=types.Display, needs=Permission.READINGS_READ, weight=DISPLAY)
async def display(call: Call, *, virtual_entity_id: strawberry.ID) -> Watch:
    """All that a home's display draws: at once as it stands, and anew whenever something of it has changed.

    Power is told with every reading and taken back when it is old. Amounts follow power, and what is stored.
    """
    home = await call.rows.get(models.VirtualEntity, virtual_entity_id)
    (owned,) = await home_queries.resources(call.rows, [home])
    for refusal in (await withheld(call.rows, owned)).values():
        raise refusal
    drawn = queries.measured(owned)
    fresh = await topics_of(call.rows, drawn)
    priced = [topics.tariffs(one.resource_id) for one in drawn]
    alerts = (topics.alerts(home.owner_id), topics.alerts_read(home.owner_id))
    return Watch((topics.homes(home.ve_id), *priced, *alerts, *fresh), view=DisplayView(home.ve_id))
