"""The display of a home, live."""

import strawberry

from wattgate.db import models
from wattgate.db.queries import displays as queries
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.db.queries.consent import find_consent_errors
from wattgate.graphql.core.cost_weights import DISPLAY_WEIGHT
from wattgate.graphql.core.operation import Call, OperationKind, operation
from wattgate.graphql.types import displays as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.subscriptions.display_snapshot import DisplaySnapshot
from wattgate.realtime.subscriptions.freshness_snapshots import topics_of_resources
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource


@operation(OperationKind.SUBSCRIPTION, returns=types.Display, needs=Permission.READINGS_READ, weight=DISPLAY_WEIGHT)
async def display(call: Call, *, virtual_entity_id: strawberry.ID) -> SubscriptionSource:
    """Publish the complete content of a home's in-home display: immediately, and after each change.

    Each power reading updates the content. Stale power becomes null. Energy and cost follow live power and stored
    readings.
    """
    home = await call.rows.get(models.VirtualEntity, virtual_entity_id)
    (owned,) = await home_queries.resources(call.rows, [home])
    for refusal in (await find_consent_errors(call.rows, owned)).values():
        raise refusal
    drawn = queries.display_resources(owned)
    fresh = await topics_of_resources(call.rows, drawn)
    priced = [topics.tariffs(one.resource_id) for one in drawn]
    alerts = (topics.alerts(home.owner_id), topics.alerts_read(home.owner_id))
    return SubscriptionSource(
        (topics.virtual_entities(home.ve_id), *priced, *alerts, *fresh), snapshot=DisplaySnapshot(home.ve_id)
    )
