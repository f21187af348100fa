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
        return [self._acquire(seat) for seat in slots]

    def _acquire(self, slot: ConnectionSlot) -> list[str]:
        bench = self._scopes.setdefault(slot.scope, OrderedDict())
        bench[slot.slot_id] = None
        return [bench.popitem(last=False)[0] for _ in range(len(bench) - slot.limit)]

    async def renew(self, slots: Sequence[ConnectionSlot]) -> None:
        return

    async def release(self, slots: Sequence[ConnectionSlot]) -> None:
        for seat in slots:
            bench = self._scopes.get(seat.scope)
            if bench is not None:
                bench.pop(seat.slot_id, None)
                if not bench:
                    del self._scopes[seat.scope]
