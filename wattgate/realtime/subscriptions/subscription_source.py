"""What a subscription follows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from wattgate.db.rows import Rows
from wattgate.realtime.events import Event

Missed = Callable[[Rows, datetime | None], Awaitable[list[Any]]]
"""The payloads for whoever cannot be caught up by the bus, oldest first: all since an instant, or the newest of each
kind where there is no instant or too much has come since."""


class View(Protocol):
    """A state that many events change, and that is told whole: what a display draws.

    A state is a payload. It is a value: `take` and `turn` answer another one, or the same object where nothing that
    is told has changed, or None where it must be loaded again.
    """

    async def load(self, rows: Rows) -> Any:
        """The state, from the database."""

    def take(self, state: Any, event: Event, now: datetime) -> Any | None:
        """The state after an event that has come now."""

    def turn(self, state: Any, now: datetime) -> Any | None:
        """The state as time passes."""

    def seen(self, state: Any, now: datetime) -> Any:
        """The state for somebody who joins now: with ages as they are now, though nobody else is told of them."""

    def next_turn(self, state: Any) -> datetime:
        """When time alone will change the state, if no event does."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What a subscription follows, which its resolver answers once it is sure that the caller may.

    Each event on `topics` is told with its payload, or, with a `view`, changes the state that is told. `missed` is
    for whoever begins, or comes back too late.
    """

    topics: tuple[str, ...]
    missed: Missed | None = None
    view: View | None = None
