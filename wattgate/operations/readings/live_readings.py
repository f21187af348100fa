"""The subscription to live readings, and the freshness of readings and devices."""

from wattgate.operations.consent.consent_records import require_readable_resources
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.types.meters import readings as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import (
    FRESHNESS_WEIGHT,
    STATEMENT_WEIGHT,
    ListSize,
    list_length,
    per_item,
)
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.subscriptions import backfill
from wattgate.realtime.subscriptions.freshness_reducers import (
    ResourceFreshnessReducer,
    topics_of_resources,
)
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource


@operation(OperationKind.SUBSCRIPTION, returns=types.LiveReading, needs=Permission.READINGS_READ, resumes=True)
async def readings(call: Call, *, resource_ids: ids.ResourceIds) -> SubscriptionSource:
    """Publish each reading of these resources when it is recorded.

    A payload without data has the error CONSENT_REVOKED of each resource whose data is withheld. The subscription goes
    on with the other resources, and ends when the data of all is withheld.
    """
    resources = await require_readable_resources(call.rows, resource_ids)
    watched = tuple(topics.readings(resource.resource_id) for resource in resources)
    return SubscriptionSource(
        watched,
        backfill=backfill.readings(resource_ids),
        find_withheld=backfill.withheld_readings(resource_ids),
    )


@operation(
    OperationKind.SUBSCRIPTION,
    returns=list[types.ResourceFreshness],
    needs=Permission.READINGS_READ,
    weight=per_item("resourceIds", weight=STATEMENT_WEIGHT, item_weight=FRESHNESS_WEIGHT, max_items=10_000),
    sizes=[ListSize(list_length("resourceIds"))],
)
async def freshness(call: Call, *, resource_ids: ids.ResourceIds) -> SubscriptionSource:
    """Publish the freshness of these resources: immediately, and after each change of a state or cause.

    The freshness of a resource whose data is withheld is null, with the error CONSENT_REVOKED.
    """
    resources = await require_readable_resources(call.rows, resource_ids)
    return SubscriptionSource(
        await topics_of_resources(call.rows, resources), reducer=ResourceFreshnessReducer(resource_ids)
    )
