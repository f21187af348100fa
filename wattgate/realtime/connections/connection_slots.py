"""How many connections an account and an application may have at once, over all gateways: the oldest gives way."""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

log = logging.getLogger(__name__)

SLOT_LEASE_SECONDS = 180.0
"""After so long without a renewal a seat is free: its gateway is gone."""


@dataclass(frozen=True, slots=True)
class ConnectionSlot:
    """A place among `limit` of the same `bench`; `number` is unique, and `since` (ms) is its age."""

    scope: str
    limit: int
    slot_id: str
    opened_at_ms: int


class ConnectionSlots(Protocol):
    """Knows who sits where. What is displaced is named by its number, wherever its gateway is."""

    async def acquire(self, slots: Sequence[ConnectionSlot]) -> list[list[str]]:
        """Take these seats; for each the numbers of those that had to give way."""

    async def renew(self, slots: Sequence[ConnectionSlot]) -> None:
        """Renew the leases of these seats."""

    async def release(self, slots: Sequence[ConnectionSlot]) -> None:
        """Leave these seats."""


class LocalConnectionSlots:
    """The seats of a single process, which need no lease."""

    def __init__(self) -> None:
        self._scopes: dict[str, OrderedDict[str, None]] = {}

    async def acquire(self, slots: Sequence[ConnectionSlot]) -> list[list[str]]:
        return [self._acquire(slot) for slot in slots]

    def _acquire(self, slot: ConnectionSlot) -> list[str]:
        slot_ids = self._scopes.setdefault(slot.scope, OrderedDict())
        slot_ids[slot.slot_id] = None
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
