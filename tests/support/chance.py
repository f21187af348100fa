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

SHORT_SHARE = 5
"""`make test-all` draws this many times as many examples as `make test` and `make test-quick`."""

TIMES = 20
"""How many times as many examples `make fuzz` draws as `make test-all` does."""


def fuzzing() -> bool:
    """Return whether this is a run of `make fuzz`."""
    return FUZZ in os.environ


def examples(count: int) -> int:
    """Return the number of examples of a test: `count` in the whole suite, more or fewer in other runs."""
    if fuzzing():
        return count * TIMES
    return max(count // SHORT_SHARE, 1) if QUICK in os.environ or is_short() else count


def load_profile() -> None:
    """Register both profiles and load the one of this run. Call it before a test module is imported."""
    patient = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("suite", patient, derandomize=True, max_examples=examples(100))
    settings.register_profile("fuzz", patient, derandomize=False, print_blob=True, max_examples=examples(100))
    settings.load_profile("fuzz" if fuzzing() else "suite")
