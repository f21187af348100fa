"""The live display of a home."""

from wattgate.db import models
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.db.queries.displays import display_resources
from wattgate.operations.consent.consent_records import require_some_consent
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.types.homes import displays as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import DISPLAY_WEIGHT
from wattgate.principal import Permission
from wattgate.realtime.subscriptions.display_reducer import DisplayReducer, display_topics
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource


@operation(
    OperationKind.SUBSCRIPTION,
    returns=types.Display,
    needs=Permission.READINGS_READ,
    weight=DISPLAY_WEIGHT,
)
async def display(call: Call, *, ve_id: ids.VeId) -> SubscriptionSource:
    """Publish the complete content of a home's in-home display: immediately, and after each change.

    Each power reading updates the content. Stale power becomes null. Energy and cost follow live power and stored
    readings. The content follows resources that join and leave the home. It leaves out meters whose data is withheld
    and lists them in `withheld`.
    """
    home = await call.rows.get(models.VirtualEntity, ve_id)
    (resources,) = await home_queries.resources(call.rows, [home])
    await require_some_consent(call.rows, display_resources(resources))
    topics = await display_topics(call.rows, home, resources)
    return SubscriptionSource(topics, reducer=DisplayReducer(home.ve_id), depends_on_rows_only=True)
