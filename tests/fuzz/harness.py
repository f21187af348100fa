"""Harnesses for parsers: a check of one input, seeds, and the work that an input causes."""

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

MAX_INPUT_BYTES = 4_096
"""Maximum length of an input. Longer ones find little more, and are slow."""

MAX_CHANGES = 3
"""Maximum changes of one mutation."""

SHORT_GROWTH, LONG_GROWTH = 16, 64
"""Numbers of repetitions whose work is compared."""

MAX_GROWTH = 1.5 * LONG_GROWTH / SHORT_GROWTH
"""Maximum growth of the work between them. Linear work grows 4 times, quadratic work 16 times."""


@dataclass(frozen=True)
class Harness:
    """The fuzz test of a parser.

    `check` raises an error if the parser breaks a property for an input, and returns whether the parser accepted a part
    of the input. `pieces` are texts that mutations insert.
    `growths` build inputs of any size, by name, whose work must be linear.
    """

    name: str
    check: Callable[[bytes], bool]
    seeds: tuple[bytes, ...]
    pieces: tuple[bytes, ...]
    growths: Mapping[str, Callable[[int], bytes]] = field(default_factory=dict)

    def inputs(self, seed: int, mutations: int) -> Iterator[bytes]:
        """Yield the seeds, and then mutations of them. The same arguments give the same inputs."""
        yield from self.seeds
        chance = random.Random(f"{self.name} {seed}")
        for number in range(mutations):
            yield self.mutated(chance, self.seeds[number % len(self.seeds)])

    def mutated(self, chance: random.Random, data: bytes) -> bytes:
        """Return an input with a few changes: a part is removed, doubled, moved, inverted, or replaced by a piece."""
        for _ in range(chance.randint(1, MAX_CHANGES)):
            start = chance.randrange(len(data) + 1)
            end = min(len(data), start + chance.choice((0, 1, 1, 2, 4, 8, 32)))
            before, part, after = data[:start], data[start:end], data[end:]
            match chance.randrange(6):
                case 0:
                    part = b""
                case 1:
                    part = 2 * part
                case 2:
                    part = chance.randbytes(max(1, len(part)))
                case 3:
                    part = bytes(byte ^ (1 << chance.randrange(8)) for byte in part)
                case 4:
                    other = chance.choice(self.seeds)
                    start = chance.randrange(len(other) + 1)
                    part = other[start : start + chance.choice((4, 16, 64))]
                case _:
                    part = chance.choice(self.pieces)
            data = before + part + after
        return data[:MAX_INPUT_BYTES]


def check_growth(harness: Harness, build: Callable[[int], bytes]) -> None:
    """Raise AssertionError if the lines of Python that a check runs grow faster than the input."""
    harness.check(build(SHORT_GROWTH))  # compiles and loads once, which is not counted
    short, long = (count_lines(harness.check, build(count)) for count in (SHORT_GROWTH, LONG_GROWTH))
    growth = long / max(short, 1)
    assert growth <= MAX_GROWTH, f"{LONG_GROWTH / SHORT_GROWTH:g} times the input runs {growth:.1f} times the lines"


def count_lines(work: Callable[[bytes], object], value: bytes) -> int:
    """Return how many lines of Python a call runs, in this project and in libraries."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
        return trace

    with _tracing(trace):
        work(value)
    return count


@contextmanager
def _tracing(trace: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    """Call `trace` for each line, in place of the tracer that measures the coverage of a run."""
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
