"""Profiles of hypothesis: the same examples in each run of the suite, and many random ones in `make fuzz`.

The suite must not fail by chance or because the machine is busy: it has no deadlines and draws no random numbers.
"""

import os

from hypothesis import HealthCheck, settings

from tests.support.short_form import is_short

FUZZ = "WATTGATE_TEST_FUZZ"
"""The environment variable that `make fuzz` sets."""

QUICK = "WATTGATE_TEST_QUICK"
"""The environment variable that `make test-quick` sets."""

SUITE_SHARE = 2
"""`make test-all` draws one of so many examples. They are the same in each run, so more find little that is new."""

SHORT_SHARE = 5
"""`make test` and `make test-quick` draw one of so many examples."""

TIMES = 20
"""`make fuzz` draws so many times the number of examples that a test states, other ones in each run."""


def fuzzing() -> bool:
    """Return whether this is a run of `make fuzz`."""
    return FUZZ in os.environ


def examples(count: int) -> int:
    """Return the number of examples of a test in this run: a share of `count`, and in `make fuzz` many times it."""
    if fuzzing():
        return count * TIMES
    return max(count // (SHORT_SHARE if QUICK in os.environ or is_short() else SUITE_SHARE), 1)


def load_profile() -> None:
    """Register both profiles and load the one of this run. Call it before a test module is imported."""
    patient = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("suite", patient, derandomize=True, max_examples=examples(100))
    settings.register_profile("fuzz", patient, derandomize=False, print_blob=True, max_examples=examples(100))
    settings.load_profile("fuzz" if fuzzing() else "suite")
