"""How many documents are compared: some hundreds in `make test`, tens of thousands in `make fuzz`."""

import os
from dataclasses import dataclass

RATES = (0.0, 0.002, 0.01, 0.05)
"""The shares of wrong values."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Seeds, and how many documents are made of each."""

    seeds: range
    documents: int
    mutations: int
    events: int
    gateway: int


def scale() -> Scale:
    """What WATTGATE_TEST_FUZZ, the first seed of a long run, asks for, or the short form."""
    asked = os.environ.get("WATTGATE_TEST_FUZZ")
    if asked is None:
        return Scale(range(3), documents=20, mutations=12, events=12, gateway=25)
    first = int(asked)
    return Scale(range(first, first + 4), documents=1_500, mutations=500, events=500, gateway=500)
