"""How much of everything there is: a few seconds of it in `make test`, all of it in `make faults`."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Counts of a run. A resource keeps at least 60 readings in Redis, which `pace` makes of so many seconds."""

    long: bool
    resources: int
    displays: int
    meters: int
    """How many calls are under way at once."""

    pace: float
    """Seconds between two rounds of readings."""

    rounds: int
    """How many rounds are sent between one fault and the next."""

    cycles: int
    """How often a server is killed and started again."""

    reconnects: int
    """How many connections of displays are cut."""

    resets: int
    """How often the connections on which Redis tells events are cut."""

    slow_displays: int
    """How many displays do not read."""

    slow_rounds: int
    """How many rounds they do not read."""


SHORT = Scale(
    long=False,
    resources=6,
    displays=18,
    meters=3,
    pace=0.1,
    rounds=4,
    cycles=1,
    reconnects=36,
    resets=2,
    slow_displays=8,
    slow_rounds=15,
)
LONG = Scale(
    long=True,
    resources=60,
    displays=300,
    meters=6,
    pace=0.3,
    rounds=8,
    cycles=3,
    reconnects=1_000,
    resets=10,
    slow_displays=10,
    slow_rounds=40,
)


def selected_scale() -> Scale:
    """What WATTGATE_TEST_FAULTS=long asks for, or the short form."""
    return LONG if os.environ.get("WATTGATE_TEST_FAULTS") == "long" else SHORT
