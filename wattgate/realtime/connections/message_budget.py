"""The budget of messages and frames that a client of a WebSocket may send."""

from wattgate.realtime.connections.limits import ConnectionLimits

FRAMES_FOR_EACH_MESSAGE = 8
"""Frames that count as a message together. A message of the maximum size may have hundreds of fragments."""


class MessageBudget:
    """A budget that begins full, and fills again with time. It is small until the client has authenticated."""

    __slots__ = ("_burst", "_credits", "_limits", "_now")

    def __init__(self, limits: ConnectionLimits, now: float) -> None:
        self._limits = limits
        self._burst = min(limits.max_unknown_burst, limits.max_message_burst)
        self._credits = float(self._burst)
        self._now = now

    def admit(self) -> None:
        """Give a client that has authenticated the whole budget."""
        self._credits += self._limits.max_message_burst - self._burst
        self._burst = self._limits.max_message_burst

    def take_message(self, now: float) -> bool:
        """Count a message. Return False if none is left."""
        return self._take(1, now)

    def take_frames(self, count: int, now: float) -> bool:
        """Count frames that are no whole messages. Return False if they are too many."""
        return self._take(count / FRAMES_FOR_EACH_MESSAGE, now)

    def _take(self, count: float, now: float) -> bool:
        earned = (now - self._now) * self._limits.max_messages_per_second
        self._credits = min(self._burst, self._credits + earned) - count
        self._now = now
        return self._credits >= 0
