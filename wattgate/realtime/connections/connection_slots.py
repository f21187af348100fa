"""Connection slots: the maximum numbers of concurrent connections, over all gateways.

A connection takes a slot in the scope of its account, or of its paired display, and in that of its application. If a
scope then has more slots than its limit, the oldest slots are displaced, and their gateways close those connections.
The maxima come from `limits`, which also has the limits of a single connection. Those need no slots.
"""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

log = logging.getLogger(__name__)

SLOT_LEASE_SECONDS = 180.0
"""A slot that was not renewed for this long is free, because its gateway has stopped."""


@dataclass(frozen=True, slots=True)
class ConnectionSlot:
    """One of at most `limit` slots of a scope, such as `account:ID`. `slot_id` is unique over all gateways."""

    scope: str
    limit: int
    slot_id: str
    opened_at_ms: int


class ConnectionSlots(Protocol):
    """A store of slots. A displaced slot may belong to another gateway."""

    async def acquire(self, slots: Sequence[ConnectionSlot]) -> list[list[str]]:
        """Take these slots. Return for each the ids of the slots that it displaces."""

    async def renew(self, slots: Sequence[ConnectionSlot]) -> None:
        """Renew the leases of these slots."""

    async def release(self, slots: Sequence[ConnectionSlot]) -> None:
        """Free these slots."""


class LocalConnectionSlots:
    """A store in the memory of one process, without leases."""

    def __init__(self) -> None:
        self._scopes: dict[str, OrderedDict[str, None]] = {}

    async def acquire(self, slots: Sequence[ConnectionSlot]) -> list[list[str]]:
        self.add(slots)
        return self.displace(slots)

    def add(self, slots: Sequence[ConnectionSlot]) -> None:
        """Take these slots, and displace none."""
        for slot in slots:
            self._scopes.setdefault(slot.scope, OrderedDict())[slot.slot_id] = None

    def displace(self, slots: Sequence[ConnectionSlot]) -> list[list[str]]:
        """Free the oldest slots above the limits of the scopes of these slots. Return their ids for each slot."""
        return [self._displace(slot) for slot in slots]

    def _displace(self, slot: ConnectionSlot) -> list[str]:
        slot_ids = self._scopes.get(slot.scope, OrderedDict())
        return [slot_ids.popitem(last=False)[0] for _ in range(len(slot_ids) - slot.limit)]

    async def renew(self, slots: Sequence[ConnectionSlot]) -> None:
        return

    async def release(self, slots: Sequence[ConnectionSlot]) -> None:
        for slot in slots:
            slot_ids = self._scopes.get(slot.scope)
            if slot_ids is not None:
                slot_ids.pop(slot.slot_id, None)
                if not slot_ids:
                    del self._scopes[slot.scope]
