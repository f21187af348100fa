"""The subscription to live readings."""

from wattgate.operations.consent.consent_check import require_readable_resources
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.types.meters import readings as types
from wattgate.operations.vocabulary import ids
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.subscriptions import backfill
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
