"""The number of compared documents: hundreds in `make test-all`, tens of thousands in `make fuzz`."""

import os
from dataclasses import dataclass

RATES = (0.0, 0.002, 0.01, 0.05)
"""The shares of wrong values in results."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The seeds, and the number of documents for each."""

    seeds: range
    documents: int
    mutations: int
    events: int
    gateway: int


def scale() -> Scale:
    """Return the scale of a long run if WATTGATE_TEST_FUZZ contains its first seed, else the short scale."""
    first_seed = os.environ.get("WATTGATE_TEST_FUZZ")
    if first_seed is None:
        return Scale(range(3), documents=20, mutations=12, events=12, gateway=25)
    first = int(first_seed)
    return Scale(range(first, first + 4), documents=1_500, mutations=500, events=500, gateway=500)
