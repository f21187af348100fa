"""Exponential backoff with full jitter."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays before retries, in seconds: a random part of a limit that doubles with each attempt, up to a maximum."""

    min_seconds: float = 1.0
    max_seconds: float = 60.0

    def delay_seconds(self, attempt: int) -> float:
        """Return the delay before the next attempt. `attempt` is 0 after the first failure, 1 after the second."""
        return random.uniform(0, min(self.max_seconds, self.min_seconds * 2 ** min(attempt, 16)))  # noqa: S311 (jitter, not a secret)
