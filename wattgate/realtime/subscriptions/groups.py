"""The groups of a process, by what their subscribers have asked for."""

import asyncio
from collections.abc import Hashable

from wattgate.clock import Clock
from wattgate.metrics import GROUPS
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.snapshot_group import ViewGroup
from wattgate.realtime.subscriptions.stream_group import StreamGroup
from wattgate.realtime.subscriptions.subscription import Subscriber, Subscription
from wattgate.realtime.timer_wheel import Wheel

LOADS_AT_ONCE = 4
"""How many views read the database at the same time: more would hold up requests, and wait for each other."""


class Groups:
    """Brings subscribers together that are told the same."""

    def __init__(self, hub: Hub, wheel: Wheel, clock: Clock) -> None:
        self._hub = hub
        self._wheel = wheel
        self._clock = clock
        self._loads = asyncio.Semaphore(LOADS_AT_ONCE)
        self._groups: dict[Hashable, Group] = {}

    async def join(self, subscription: Subscription, subscriber: Subscriber) -> Group:
        """The group in which a subscriber is told what its subscription follows, from now or from where it was.

        GatewayError where that cannot be; the subscriber is then told nothing more.
        """
        group = self._groups.get(subscription.key) or self._add(subscription)
        group.joining += 1
        try:
            await group.admit(subscription, subscriber)
        except BaseException:
            group.leave(subscriber)
            raise
        finally:
            group.joining -= 1
            self._let_go(group)
        return group

    def leave(self, group: Group, subscriber: Subscriber) -> None:
        """Tell a subscriber nothing more."""
        group.leave(subscriber)
        self._let_go(group)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self._groups)

    def _add(self, subscription: Subscription) -> Group:
        view = subscription.watch.view
        group: Group
        if view is None:
            group = StreamGroup(self._hub, subscription)
        else:
            group = ViewGroup(self._hub, subscription, view, self._wheel, self._clock, self._loads)
        self._groups[subscription.key] = group
        self._hub.listen(group, group.topics)
        GROUPS.set(len(self._groups))
        return group

    def _let_go(self, group: Group) -> None:
        """End a group in which nobody is left."""
        if not group.needed and self._groups.get(group.key) is group:
            del self._groups[group.key]
            group.close()
            self._hub.leave(group, group.topics)
            GROUPS.set(len(self._groups))
