"""How many connections an account and an application may have at once, over all gateways: the oldest gives way."""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

log = logging.getLogger(__name__)

LEASE_SECONDS = 180.0
"""After so long without a renewal a seat is free: its gateway is gone."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A place among `limit` of the same `bench`; `number` is unique, and `since` (ms) is its age."""

    bench: str
    limit: int
    number: str
    since: int


class Seats(Protocol):
    """Knows who sits where. What is displaced is named by its number, wherever its gateway is."""

    async def take(self, seats: Sequence[Seat]) -> list[list[str]]:
        """Take these seats; for each the numbers of those that had to give way."""

    async def keep(self, seats: Sequence[Seat]) -> None:
        """Renew the leases of these seats."""

    async def leave(self, seats: Sequence[Seat]) -> None:
        """Leave these seats."""


class LocalSeats:
    """The seats of a single process, which need no lease."""

    def __init__(self) -> None:
        self._benches: dict[str, OrderedDict[str, None]] = {}

    async def take(self, seats: Sequence[Seat]) -> list[list[str]]:
        return [self._take(seat) for seat in seats]

    def _take(self, seat: Seat) -> list[str]:
        bench = self._benches.setdefault(seat.bench, OrderedDict())
        bench[seat.number] = None
        return [bench.popitem(last=False)[0] for _ in range(len(bench) - seat.limit)]

    async def keep(self, seats: Sequence[Seat]) -> None:
        return

    async def leave(self, seats: Sequence[Seat]) -> None:
        for seat in seats:
            bench = self._benches.get(seat.bench)
            if bench is not None:
                bench.pop(seat.number, None)
                if not bench:
                    del self._benches[seat.bench]
