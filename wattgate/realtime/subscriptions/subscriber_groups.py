"""The subscription groups of a process, by the key of their subscriptions."""

from collections.abc import Hashable

from wattgate.clock import Clock
from wattgate.metrics import SUBSCRIBER_GROUPS
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.snapshot_group import SnapshotGroup
from wattgate.realtime.subscriptions.stream_group import StreamGroup
from wattgate.realtime.subscriptions.subscriber_group import Group
from wattgate.realtime.subscriptions.subscription import Subscriber, Subscription
from wattgate.realtime.timer_wheel import TimerWheel
from wattgate.requests.fair_share import FairShare

MAX_CONCURRENT_LOADS = 4
"""Maximum number of snapshot groups that read the database at once. More would delay requests and each other."""

MAX_OWNER_LOADS = 3
"""Maximum number of them for one application."""


class SubscriberGroups:
    """Assign subscribers with equal subscriptions to the same group."""

    def __init__(self, hub: Hub, wheel: TimerWheel, clock: Clock) -> None:
        self._hub = hub
        self._wheel = wheel
        self._clock = clock
        self._loads = FairShare(MAX_CONCURRENT_LOADS, share=MAX_OWNER_LOADS)
        self._groups: dict[Hashable, Group] = {}

    async def join(self, subscription: Subscription, subscriber: Subscriber) -> Group:
        """Add a subscriber to the group of its subscription, from now on or from its last position. Return the group.

        Raise GatewayError if that fails. The subscriber then receives nothing more.
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
        """Remove a subscriber from its group, and close the group if it is unused."""
        group.remove_subscriber(subscriber)
        self._close_if_unused(group)

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self._groups)

    def _create_group(self, subscription: Subscription) -> Group:
        reducer = subscription.source.reducer
        group: Group
        if reducer is None:
            group = StreamGroup(self._hub, subscription)
        else:
            group = SnapshotGroup(self._hub, subscription, reducer, self._wheel, self._clock, self._loads)
        self._groups[subscription.key] = group
        self._hub.add_listener(group, group.topics)
        SUBSCRIBER_GROUPS.set(len(self._groups))
        return group

    def _close_if_unused(self, group: Group) -> None:
        """Close a group without subscribers."""
        if not group.is_needed and self._groups.get(group.key) is group:
            del self._groups[group.key]
            group.close()
            self._hub.remove_listener(group, group.topics)
            SUBSCRIBER_GROUPS.set(len(self._groups))
