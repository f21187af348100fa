"""How the processor time of a function grows with the size of its input."""

import gc
from collections.abc import Callable
from math import inf
from time import thread_time
from typing import TypeVar

MAX_GROWTH = 40
"""Maximum growth of the time for ten times the input. Linear work grows by 10, quadratic work by 100."""

NEGLIGIBLE_SECONDS = 0.005
"""Time of the large input below which the growth is not measured: there is nothing to gain, and much noise."""

REPETITIONS = 3
"""Number of measurements of each input. The shortest counts, because a busy machine only makes a call longer."""

Input = TypeVar("Input")


def check_linear(work: Callable[[Input], object], build: Callable[[int], Input], size: int) -> None:
    """Fail if ten times the input takes more than MAX_GROWTH times as long.

    Each repetition has a slightly larger input, because some functions keep the result of an input.
    """
    short = long = inf
    for repetition in range(REPETITIONS):
        long = min(long, measure(work, build(10 * (size + repetition))))
        if long < NEGLIGIBLE_SECONDS:
            return
        first = size + repetition * REPETITIONS
        short = min(short, *(measure(work, build(first + more)) for more in range(REPETITIONS)))
        growth = long / max(short, 1e-4)
        if growth <= MAX_GROWTH:
            return
    raise AssertionError(f"ten times the input takes {growth:.0f} times as long; at most {MAX_GROWTH} is linear")


def measure(work: Callable[[Input], object], value: Input) -> float:
    """Return the processor time of this thread for a call, without garbage collection."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        start = thread_time()
        work(value)
        return thread_time() - start
    finally:
        if was_enabled:
            gc.enable()
