"""The live display of a home."""

import strawberry

from wattgate.db import models
from wattgate.db.queries import displays as queries
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.graphql.core.cost_weights import DISPLAY_WEIGHT
from wattgate.graphql.core.operation import Call, OperationKind, operation
from wattgate.graphql.services.consent import require_consent
from wattgate.graphql.types import displays as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.subscriptions.display_reducer import DisplayReducer
from wattgate.realtime.subscriptions.freshness_reducers import topics_of_resources
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource


@operation(OperationKind.SUBSCRIPTION, returns=types.Display, needs=Permission.READINGS_READ, weight=DISPLAY_WEIGHT)
async def display(call: Call, *, virtual_entity_id: strawberry.ID) -> SubscriptionSource:
    """Publish the complete content of a home's in-home display: immediately, and after each change.

    Each power reading updates the content. Stale power becomes null. Energy and cost follow live power and stored
    readings.
    """
    home = await call.rows.get(models.VirtualEntity, virtual_entity_id)
    (resources,) = await home_queries.resources(call.rows, [home])
    await require_consent(call.rows, resources)
    shown = queries.display_resources(resources)
    freshness_topics = await topics_of_resources(call.rows, shown)
    tariff_topics = [topics.tariffs(resource.resource_id) for resource in shown]
    alert_topics = (topics.alerts(home.owner_id), topics.alerts_read(home.owner_id))
    return SubscriptionSource(
        (topics.virtual_entities(home.ve_id), *tariff_topics, *alert_topics, *freshness_topics),
        reducer=DisplayReducer(home.ve_id),
    )
