"""Freshness and devices' states, followed: the first payload is the whole state, and so is every later one."""

import strawberry

from wattgate.db import models
from wattgate.graphql.core.cost_weights import FRESHNESS, STATEMENTS, Size, count_of, per_item
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.resolvers.live_readings import followed
from wattgate.graphql.types import freshness as types
from wattgate.principal import Permission
from wattgate.realtime.subscriptions.freshness import DeviceStatesView, FreshnessView, topics_of, topics_of_devices
from wattgate.realtime.subscriptions.subscription_source import Watch


@operation(
    Kind.SUBSCRIPTION,
    returns=list[types.ResourceFreshness],
    needs=Permission.READINGS_READ,
    weight=per_item("resourceIds", weight=STATEMENTS, of_item=FRESHNESS, most=10_000),
    sizes=[Size(count_of("resourceIds"))],
)
async def freshness(call: Call, *, resource_ids: list[strawberry.ID]) -> Watch:
    """How fresh these resources are, at once and whenever the state or cause of one has changed."""
    resources = await followed(call, resource_ids)
    return Watch(await topics_of(call.rows, resources), view=FreshnessView(resource_ids))


@operation(
    Kind.SUBSCRIPTION,
    returns=list[types.DeviceState],
    needs=Permission.DEVICE_READ,
    weight=per_item("deviceIds", weight=STATEMENTS, of_item=FRESHNESS, most=10_000),
    sizes=[Size(count_of("deviceIds"))],
)
async def device_states(call: Call, *, device_ids: list[strawberry.ID]) -> Watch:
    """How these devices are, at once and whenever one has changed: what it says of itself, or that it is silent."""
    known = await call.rows.named(models.Device, device_ids)
    return Watch(await topics_of_devices(call.rows, known), view=DeviceStatesView(device_ids))
