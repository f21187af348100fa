"""Which tests `make test` runs: a short form of the suite, which ends within 5 to 15 minutes on two cores.

`make test-all` runs every test. The short form follows three rules:

1. A test with the marker `long` is left out. The argument of the marker is the reason.
2. A test that runs on both databases runs on one of them, which the hash of its id chooses.
3. A test with many cases runs an eighth of them, at least one. The hash of the id chooses them. With the marker
   `every_case` it runs all of them, for the reason in its argument. `sample` chooses for a test that goes through its
   cases itself.

So each test function without the marker runs at least once. The choice is the same in each run and on each machine.
Property tests draw fewer random examples, see `tests.support.chance`.
"""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")

SHORT = "WATTGATE_TEST_SHORT"
"""The environment variable that `make test` sets."""

LONG = "long"
"""The marker of tests that the short form leaves out."""

EVERY_CASE = "every_case"
"""The marker of tests that run with all their cases in the short form too."""


CASES_FOR_EACH_KEPT = 8
"""The short form runs one case of so many."""

ENGINE = re.compile(r"(?:^|-)(sqlite|postgresql)(?=-|$)")
"""The part of an id of parameters that names a database."""


COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""The tests that this run has collected, before some are deselected."""


def is_short() -> bool:
    """Return whether this run is the short form."""
    return bool(os.environ.get(SHORT))


def deselect_all_others(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the tests that the short form leaves out from `items`, and report them to pytest."""
    kept = chosen_of(items)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


def chosen_of(items: Iterable[pytest.Item]) -> set[str]:
    """Return the ids of the tests that the short form runs."""
    short = [item for item in items if item.get_closest_marker(LONG) is None]
    return chosen(
        (item.nodeid for item in short),
        whole={function_of(item.nodeid) for item in short if item.get_closest_marker(EVERY_CASE)},
    )


def chosen(ids: Iterable[str], whole: Collection[str] = ()) -> set[str]:
    """Return the ids of the tests that the short form runs, among those of tests without the marker `long`.

    `whole` has the functions that run with all their cases.
    """
    functions: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for test_id in ids:
        functions[function_of(test_id)][case_of(test_id)].append(test_id)
    return {
        min(engines, key=_rank)
        for function, cases in functions.items()
        for engines in (cases.values() if function in whole else _sample(cases.values()))
    }


def sample(cases: Iterable[T], key: Callable[[T], str] = str) -> list[T]:
    """Return the cases of a test that goes through them itself: all, and in the short form an eighth, at least one.

    The hash of their keys chooses them. Raise ValueError if there is no case.
    """
    every = list(cases)
    if not every:
        raise ValueError("The test has no case.")
    return share(every, key) if is_short() else every


def share(
    cases: Collection[T], key: Callable[[T], str] = str, kind: Callable[[T], Hashable] = lambda _: None
) -> list[T]:
    """Return an eighth of the cases in their order, and at least one of each kind. The hash of their keys chooses."""
    ranked = sorted(cases, key=lambda case: _rank(key(case)))
    kept = {key(case) for case in ranked[: _eighth(len(ranked))]}
    kept |= {key(case) for case in {kind(case): case for case in reversed(ranked)}.values()}
    return [case for case in cases if key(case) in kept]


def function_of(test_id: str) -> str:
    """Return the part of an id that names the module and the function."""
    return test_id.partition("[")[0]


def case_of(test_id: str) -> str:
    """Return the parameters of an id without the database."""
    return ENGINE.sub("", _parameters_of(test_id), count=1)


def engine_of(test_id: str) -> str | None:
    """Return the database of an id, if it names one."""
    match = ENGINE.search(_parameters_of(test_id))
    return match[1] if match else None


def _parameters_of(test_id: str) -> str:
    return test_id.partition("[")[2].removesuffix("]")


def _sample(cases: Collection[list[str]]) -> list[list[str]]:
    """Return a share of the cases of a test function. Each case is a list of its ids on the databases."""
    return sorted(cases, key=lambda engines: _rank(*sorted(engines)))[: _eighth(len(cases))]


def _eighth(cases: int) -> int:
    """Return how many of so many cases the short form runs."""
    return -(-cases // CASES_FOR_EACH_KEPT)


def _rank(*ids: str) -> bytes:
    return hashlib.sha256("\n".join(ids).encode()).digest()
