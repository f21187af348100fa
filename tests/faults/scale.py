"""The sizes of fault tests: a few seconds in `make test-all`, the full form in `make faults`."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """The counts of a run. Redis retains at least 60 readings of a resource, which is 60 times `pace` seconds."""

    long: bool
    resources: int
    displays: int
    meters: int
    """Number of concurrent calls."""

    pace: float
    """Seconds between two rounds of readings."""

    rounds: int
    """Number of rounds between two faults."""

    cycles: int
    """Number of restarts of a server."""

    reconnects: int
    """Number of dropped connections of displays."""

    resets: int
    """Number of times that the pub/sub connections to Redis are killed."""

    slow_displays: int
    """Number of displays that stop reading."""

    slow_rounds: int
    """Number of rounds for which they do not read."""


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
    """Return the long form if WATTGATE_TEST_FAULTS is `long`, else the short form."""
    return LONG if os.environ.get("WATTGATE_TEST_FAULTS") == "long" else SHORT
