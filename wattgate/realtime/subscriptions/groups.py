"""The groups of a process, by what their subscribers have asked for."""

import asyncio
from collections.abc import Hashable

from wattgate.clock import Clock
from wattgate.metrics import SUBSCRIBER_GROUPS
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.snapshot_group import SnapshotGroup
from wattgate.realtime.subscriptions.stream_group import StreamGroup
from wattgate.realtime.subscriptions.subscription import Subscriber, Subscription
from wattgate.realtime.timer_wheel import TimerWheel

MAX_CONCURRENT_LOADS = 4
"""How many views read the database at the same time: more would hold up requests, and wait for each other."""


class SubscriptionGroups:
    """Brings subscribers together that are told the same."""

    def __init__(self, hub: Hub, wheel: TimerWheel, clock: Clock) -> None:
        self._hub = hub
        self._wheel = wheel
        self._clock = clock
        self._load_semaphore = asyncio.Semaphore(MAX_CONCURRENT_LOADS)
        self._groups: dict[Hashable, Group] = {}

    async def join(self, subscription: Subscription, subscriber: Subscriber) -> Group:
        """The group in which a subscriber is told what its subscription follows, from now or from where it was.

        GatewayError where that cannot be; the subscriber is then told nothing more.
        """
        group = self._groups.get(subscription.key) or self._create_group(subscription)
        group.joining_count += 1
        try:
            await group.add_subscriber(subscription, subscriber)
        except BaseException:
            group.remove_subscriber(subscriber)
            raise
        finally:
            group.joining_count -= 1
            self._close_if_unused(group)
        return group

    def leave(self, group: Group, subscriber: Subscriber) -> None:
        """Tell a subscriber nothing more."""
        group.remove_subscriber(subscriber)
        self._close_if_unused(group)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self._groups)

    def _create_group(self, subscription: Subscription) -> Group:
        reducer = subscription.source.reducer
        group: Group
        if reducer is None:
            group = StreamGroup(self._hub, subscription)
        else:
            group = SnapshotGroup(self._hub, subscription, reducer, self._wheel, self._clock, self._load_semaphore)
        self._groups[subscription.key] = group
        self._hub.add_listener(group, group.topics)
        SUBSCRIBER_GROUPS.set(len(self._groups))
        return group

    def _close_if_unused(self, group: Group) -> None:
        """End a group in which nobody is left."""
        if not group.is_needed and self._groups.get(group.key) is group:
            del self._groups[group.key]
            group.close()
            self._hub.remove_listener(group, group.topics)
            SUBSCRIBER_GROUPS.set(len(self._groups))
