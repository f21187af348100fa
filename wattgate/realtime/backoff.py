"""How long to wait before another attempt."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before another attempt, in seconds: a random part of what doubles with each."""

    min_seconds: float = 1.0
    max_seconds: float = 60.0

    def delay_seconds(self, attempt: int) -> float:
        """Before the attempt after so many that failed, 0 at first."""
        return random.uniform(0, min(self.max_seconds, self.min_seconds * 2 ** min(attempt, 16)))
