"""Reservations of event streams: who may open a stream that a token names, and from which origin.

A reservation waits at most `RESERVATION_SECONDS` for its stream, and `EventStreamRegistry` checks its credentials again
when the stream opens. Its owner is the account, the paired display, or the user for whom an application acts, or else
the application. An owner that reserves more than its maximum loses its own oldest reservation. An application at its
maximum gets no further reservation, so that no owner takes one from another.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from wattgate.clock import Clock, utc_now
from wattgate.errors import RateLimited
from wattgate.principal import Principal, Role

RESERVATION_SECONDS = 60.0
"""Time in which a client must open the stream that it has reserved."""

MAX_OWNER_RESERVATIONS = 20
"""Maximum waiting reservations of an account or a paired display. Above it, its own oldest one ends."""

MAX_APPLICATION_RESERVATIONS = 10_000
"""Maximum waiting reservations of an application and its accounts. Above it, further ones are refused."""

MAX_LOCAL_RESERVATIONS = 50_000
"""Maximum waiting reservations in the memory of a process. Above it, further ones are refused."""


@dataclass(frozen=True, slots=True)
class StreamReservation:
    """A stream that its caller may open from the origin of the reservation. `digest` is the digest of its token."""

    digest: str
    principal: Principal
    origin: str | None

    @property
    def owner(self) -> str:
        """The account, display, user or application whose reservations are counted together."""
        principal = self.principal
        if principal.role is Role.DISPLAY:
            return f"display:{principal.token_id}"
        if principal.account_id is not None:
            return f"account:{principal.account_id}"
        return "application" if principal.user_id is None else f"user:{principal.user_id}"

    @property
    def application(self) -> str:
        return self.principal.application_id or ""


class StreamReservations(Protocol):
    """A store of reservations. It may drop any of them; the client then reserves another stream."""

    async def add(self, reservation: StreamReservation) -> None:
        """Store a reservation. Raise RateLimited if the application has too many."""

    async def get(self, digest: str) -> StreamReservation | None:
        """Return the reservation with this digest, or None."""

    async def take(self, reservation: StreamReservation) -> bool:
        """Remove a reservation. Return False if another request was faster."""


class LocalStreamReservations:
    """A store in the memory of one process."""

    def __init__(
        self,
        clock: Clock = utc_now,
        *,
        max_owner: int = MAX_OWNER_RESERVATIONS,
        max_application: int = MAX_APPLICATION_RESERVATIONS,
        max_total: int = MAX_LOCAL_RESERVATIONS,
    ) -> None:
        self._clock = clock
        self._max_owner, self._max_application, self._max_total = max_owner, max_application, max_total
        self._reservations: OrderedDict[str, tuple[datetime, StreamReservation]] = OrderedDict()
        self._owned: dict[tuple[str, str], OrderedDict[str, None]] = {}
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._reservations)

    async def add(self, reservation: StreamReservation) -> None:
        self._drop_expired()
        owned = self._owned.get(_owner_key(reservation), ())
        if len(owned) >= self._max_owner:
            self._remove(next(iter(owned)))
        full = self._counts.get(reservation.application, 0) >= self._max_application
        if full or len(self._reservations) >= self._max_total:
            raise too_many_reservations()
        expires_at = self._clock() + timedelta(seconds=RESERVATION_SECONDS)
        self._reservations[reservation.digest] = expires_at, reservation
        self._owned.setdefault(_owner_key(reservation), OrderedDict())[reservation.digest] = None
        self._counts[reservation.application] = self._counts.get(reservation.application, 0) + 1

    async def get(self, digest: str) -> StreamReservation | None:
        self._drop_expired()
        stored = self._reservations.get(digest)
        return None if stored is None else stored[1]

    async def take(self, reservation: StreamReservation) -> bool:
        return self._remove(reservation.digest)

    def _drop_expired(self) -> None:
        """Drop the reservations whose time is over. They end in the order in which they were added.

        One that would wait longer than the maximum is from before the clock was set back. It would keep its place until
        the clock has caught up.
        """
        now = self._clock()
        latest = now + timedelta(seconds=RESERVATION_SECONDS)
        while self._reservations and not now < next(iter(self._reservations.values()))[0] <= latest:
            self._remove(next(iter(self._reservations)))

    def _remove(self, digest: str) -> bool:
        stored = self._reservations.pop(digest, None)
        if stored is None:
            return False
        reservation = stored[1]
        owned = self._owned[_owner_key(reservation)]
        del owned[digest]
        if not owned:
            del self._owned[_owner_key(reservation)]
        self._counts[reservation.application] -= 1
        if not self._counts[reservation.application]:
            del self._counts[reservation.application]
        return True


def digest_of_token(token: str) -> str:
    """Return the digest under which the reservation of a token is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def too_many_reservations() -> RateLimited:
    """Return the error of an application with too many reservations."""
    return RateLimited(
        "The application has too many reserved event streams that were not opened. Retry later.",
        retry_after=int(RESERVATION_SECONDS),
    )


def _owner_key(reservation: StreamReservation) -> tuple[str, str]:
    return reservation.application, reservation.owner
