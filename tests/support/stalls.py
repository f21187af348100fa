"""Measure how long a request holds up the event loop: the processor time of its longest uninterrupted step.

The time is that of the loop's thread, so the time for which it waits for a processor does not count. Garbage collection
does not count either, because it depends on all objects of a test run, nor do imports, which happen once in a process.

On a busy machine, the same work takes more processor time, because other programs empty the caches and the memory. So a
step above the limit is compared with reference work that the thread does directly after it: the limit grows by the
factor by which that work is slower than on a quiet machine.
"""

import gc
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from time import perf_counter, sleep, thread_time
from types import coroutine
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from wattgate.app.server.edge.direct_graphql import METHOD, PATH, DirectCycle, DirectGraphQL

MAX_STALL_SECONDS = 0.1
"""Maximum processor time of a step on a quiet machine."""

REFERENCE_ROWS = 10_000
REFERENCE_SECONDS = 0.003
"""Processor time of `reference_work` on a quiet machine of two cores, as `min(timeit.repeat(...))` measures it."""

REFERENCE_ROUNDS, ROUND_SAMPLES = 4, 4
"""How often the reference work is done after a step above the limit."""

PAUSE_SECONDS = 0.001
"""Pause before each reference work, in which other programs use the processor and its caches as they did before."""

IMPORTER: Any = import_module("importlib._bootstrap")
"""The module of Python that imports modules. It is called only for those that are not imported yet."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Stall:
    """A step of a request that took long, in seconds of processor time on a quiet machine."""

    name: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.name} held up the event loop for {self.seconds * 1000:.0f} ms of processor time"


class ExcludedTime(threading.local):
    """The processor time of this thread that counts for no request. Nested parts count once."""

    def __init__(self) -> None:
        self.seconds = self._started_at = 0.0
        self._depth = 0

    def enter(self) -> None:
        if not self._depth:
            self._started_at = thread_time()
        self._depth += 1

    def exit(self) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += thread_time() - self._started_at

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Exclude the time until the context exits."""
        self.enter()
        try:
            yield
        finally:
            self.exit()


EXCLUDED = ExcludedTime()


def _exclude_collection(phase: str, info: dict[str, int]) -> None:
    if phase == "start":
        EXCLUDED.enter()
    else:
        EXCLUDED.exit()


gc.callbacks.append(_exclude_collection)


@contextmanager
def _imports_excluded() -> Iterator[None]:
    """Exclude the first import of each module, until the context exits."""
    find_and_load = IMPORTER._find_and_load

    def find_and_load_excluded(*arguments: Any) -> Any:
        with EXCLUDED.counting():
            return find_and_load(*arguments)

    IMPORTER._find_and_load = find_and_load_excluded
    try:
        yield
    finally:
        IMPORTER._find_and_load = find_and_load


def reference_work() -> float:
    """Create objects and read them, as requests do."""
    rows: list[dict[str, Any]] = [
        {"id": str(number), "value": number * 0.5, "at": number} for number in range(REFERENCE_ROWS)
    ]
    total: float = sum(len(row["id"]) + row["value"] for row in rows)
    return total


def measure_slowdown() -> float:
    """Return how much slower this machine now works than a quiet one, at least 1.

    It is the factor of the slowest of a few rounds, because a busy machine is slow in some moments.
    """
    collects = gc.isenabled()
    gc.disable()  # it would collect the objects of other tests
    try:
        with EXCLUDED.counting():
            seconds = max(sum(_reference_seconds() for _ in range(ROUND_SAMPLES)) for _ in range(REFERENCE_ROUNDS))
    finally:
        if collects:
            gc.enable()
    return max(1.0, seconds / (ROUND_SAMPLES * REFERENCE_SECONDS))


def _reference_seconds() -> float:
    sleep(PAUSE_SECONDS)
    start = thread_time()
    reference_work()
    return thread_time() - start


@dataclass
class StallRecorder:
    """The steps of measured requests above a limit.

    `clock` returns the processor time of the thread, and `elapsed` a time that passes at least as fast.
    """

    max_seconds: float = MAX_STALL_SECONDS
    clock: Callable[[], float] = thread_time
    elapsed: Callable[[], float] = perf_counter
    slowdown: Callable[[], float] = measure_slowdown
    stalls: list[Stall] = field(default_factory=list)

    def record(self, name: str, seconds: float) -> None:
        """Record a step. Only one above the limit is compared with reference work."""
        if seconds > self.max_seconds and (quiet := seconds / self.slowdown()) > self.max_seconds:
            self.stalls.append(Stall(name, quiet))


@coroutine
def measured(
    recorder: StallRecorder, name: str, measured_work: Coroutine[Any, Any, Result]
) -> Generator[Any, Any, Result]:
    """Run a coroutine and record each step, from when the event loop resumes it until it waits again."""
    clock, elapsed, max_seconds = recorder.clock, recorder.elapsed, recorder.max_seconds
    resume: Callable[..., Any] = measured_work.send
    argument: Any = None
    while True:
        started_at, start, excluded = elapsed(), clock(), EXCLUDED.seconds
        try:
            awaited = resume(argument)
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            # a step takes at most as much processor time as time, which costs a tenth to read
            if elapsed() - started_at > max_seconds:
                recorder.record(name, clock() - start - (EXCLUDED.seconds - excluded))
        try:
            argument = yield awaited
            resume = measured_work.send
        except BaseException as error:  # noqa: BLE001 (it is raised in the coroutine)
            resume, argument = measured_work.throw, error


@contextmanager
def recording(recorder: StallRecorder) -> Iterator[StallRecorder]:
    """Record the steps of all requests to the gateways of this process until the context exits."""
    call, serve = Starlette.__call__, DirectGraphQL.serve

    async def call_measured(app: Starlette, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await call(app, scope, receive, send)
        else:
            name = f"{scope.get('method', scope['type'])} {scope['path']}"
            await measured(recorder, name, call(app, scope, receive, send))

    async def serve_measured(direct: DirectGraphQL, cycle: DirectCycle, scope: Scope, receive: Receive) -> None:
        await measured(recorder, f"{METHOD} {PATH}", serve(direct, cycle, scope, receive))

    Starlette.__call__ = call_measured  # type: ignore[method-assign,assignment]
    DirectGraphQL.serve = serve_measured  # type: ignore[method-assign,assignment]
    try:
        with _imports_excluded():
            yield recorder
    finally:
        Starlette.__call__ = call  # type: ignore[method-assign]
        DirectGraphQL.serve = serve  # type: ignore[method-assign]
