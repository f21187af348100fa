"""Sources of a subscription: its topics, its backfill and the reducer of its state."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from wattgate.db.rows.rows import Rows
from wattgate.errors import GatewayError
from wattgate.realtime.events import Event

Backfill = Callable[[Rows, datetime | None], Awaitable[list[Any]]]
"""Load payloads that the bus does not retain, oldest first: all since a time, or the newest of each kind if there is no
time or there are too many."""


class WithheldTopics(NamedTuple):
    """The topics whose payloads are withheld, and the time until the first consent to another one expires.

    They are withheld without a valid consent, or because the caller does not see their record any more.

    `seconds_until_change` is None if no consent can expire.
    """

    errors: Mapping[str, GatewayError]
    seconds_until_change: float | None


FindWithheld = Callable[[Rows], Awaitable[WithheldTopics]]
"""Find the topics of a subscription whose payloads the caller must not receive now."""


class SnapshotReducer(Protocol):
    """The rules of a state that many events change and that subscribers receive as a whole, such as a display.

    A state is a payload, and a value: no method changes it. `apply_event` and `advance` return the next state. They
    return the same object if nothing has changed for subscribers, and None if the state must be loaded again.
    """

    async def load(self, rows: Rows) -> Any:
        """Load the state from the database."""

    async def find_topics(self, rows: Rows) -> tuple[str, ...]:
        """Return the topics with events that change the state. They differ if resources or devices were changed."""

    def apply_event(self, state: Any, event: Event, now: datetime) -> Any | None:
        """Return the state after an event that arrives at `now`. The state may have the event already."""

    def advance(self, state: Any, now: datetime) -> Any | None:
        """Return the state after time has passed, until `now`."""

    def refresh_for_join(self, state: Any, now: datetime) -> Any:
        """Return the state for a new subscriber, with ages at `now`. The other subscribers do not receive it."""

    def next_change(self, state: Any) -> int:
        """Return the instant (ms since 1970) at which time alone changes the state, if no event does so before."""


@dataclass(frozen=True, slots=True)
class SubscriptionSource:
    """The source of a subscription. Its resolver returns it after checking the permission of the caller.

    Without a `reducer`, subscribers receive the payload of each event on `topics`. With a `reducer`, they receive the
    state that the events change. `backfill` provides payloads at the start, and after a gap that the bus cannot fill.
    Without a `reducer`, `find_withheld` says which topics the subscribers do not receive for want of consent.
    `depends_on_rows_only` is true if the states of the reducer are equal for all callers that see the same rows.
    """

    topics: tuple[str, ...]
    backfill: Backfill | None = None
    reducer: SnapshotReducer | None = None
    find_withheld: FindWithheld | None = None
    depends_on_rows_only: bool = False
