"""Subscription to the freshness of resources. Every payload is the complete state."""

from wattgate.graphql.core import ids
from wattgate.graphql.core.cost_weights import FRESHNESS_WEIGHT, STATEMENT_WEIGHT, ListSize, list_length, per_item
from wattgate.graphql.core.operation import Call, OperationKind, operation
from wattgate.graphql.services.consent import require_readable_resources
from wattgate.graphql.types import freshness as types
from wattgate.principal import Permission
from wattgate.realtime.subscriptions.freshness_reducers import (
    ResourceFreshnessReducer,
    topics_of_resources,
)
from wattgate.realtime.subscriptions.subscription_source import SubscriptionSource


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
