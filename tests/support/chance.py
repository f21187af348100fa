"""Profiles of hypothesis: the same examples in each run of the suite, and random ones in `make fuzz`.

The suite must not fail by chance or because the machine is busy: it has no deadlines and draws no random numbers.
"""

import os

from hypothesis import HealthCheck, settings

FUZZ = "WATTGATE_TEST_FUZZ"
"""The environment variable that `make fuzz` sets."""

TIMES = 20
"""How many times as many examples `make fuzz` draws as the suite does."""


def fuzzing() -> bool:
    """Return whether this is a run of `make fuzz`."""
    return FUZZ in os.environ


def examples(count: int) -> int:
    """Return the number of examples of a test: `count` in the suite, many more in `make fuzz`."""
    return count * TIMES if fuzzing() else count


def load_profile() -> None:
    """Register both profiles and load the one of this run. Call it before a test module is imported."""
    patient = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("suite", patient, derandomize=True)
    settings.register_profile("fuzz", patient, derandomize=False, print_blob=True, max_examples=100 * TIMES)
    settings.load_profile("fuzz" if fuzzing() else "suite")
