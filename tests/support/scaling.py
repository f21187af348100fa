"""How the processor time of a function grows with the size of its input."""

import gc
from collections.abc import Callable
from time import process_time
from typing import TypeVar

MAX_GROWTH = 40
"""Maximum growth of the time for ten times the input. Linear work grows by 10, quadratic work by 100."""

NEGLIGIBLE_SECONDS = 0.005
"""Time of the large input below which the growth is not measured: there is nothing to gain, and much noise."""

ATTEMPTS = 3

Input = TypeVar("Input")


def check_linear(work: Callable[[Input], object], build: Callable[[int], Input], size: int) -> None:
    """Fail if ten times the input takes more than MAX_GROWTH times as long, in the best of some attempts."""
    small, large = build(size), build(10 * size)
    growths = []
    for _ in range(ATTEMPTS):
        seconds = measure(work, large)
        if seconds < NEGLIGIBLE_SECONDS:
            return
        growths.append(seconds / max(measure(work, small), 1e-4))
        if growths[-1] <= MAX_GROWTH:
            return
    raise AssertionError(f"ten times the input takes {min(growths):.0f} times as long; at most {MAX_GROWTH} is linear")


def measure(work: Callable[[Input], object], value: Input) -> float:
    """Return the processor time of a call, without garbage collection."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        start = process_time()
        work(value)
        return process_time() - start
    finally:
        if was_enabled:
            gc.enable()
