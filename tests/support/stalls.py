"""Measure how long a request holds up the event loop: the processor time of its longest uninterrupted step.

The time is that of the loop's thread, so a busy machine does not count. Garbage collection does not count either,
because it depends on all objects of a test run.
"""

import gc
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import thread_time
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from wattgate.app.server.direct_graphql import METHOD, PATH, DirectCycle, DirectGraphQL

MAX_STALL_SECONDS = 0.1

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Stall:
    """A step of a request that took long, in seconds of processor time."""

    name: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.name} held up the event loop for {self.seconds * 1000:.0f} ms of processor time"


class _CollectionClock:
    """The processor time that garbage collection has used in this process."""

    def __init__(self) -> None:
        self.seconds = self._started_at = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._started_at = thread_time()
        else:
            self.seconds += thread_time() - self._started_at


COLLECTION_CLOCK = _CollectionClock()
gc.callbacks.append(COLLECTION_CLOCK)


@dataclass
class StallRecorder:
    """The longest step of all measured requests, and the steps above a limit."""

    max_seconds: float = MAX_STALL_SECONDS
    longest: float = 0.0
    stalls: list[Stall] = field(default_factory=list)

    def record(self, name: str, seconds: float) -> None:
        self.longest = max(self.longest, seconds)
        if seconds > self.max_seconds:
            self.stalls.append(Stall(name, seconds))


class measured(Coroutine[Any, Any, Result]):
    """Run a coroutine and record each step, from when the event loop resumes it until it waits again."""

    def __init__(self, recorder: StallRecorder, name: str, coroutine: Coroutine[Any, Any, Result]) -> None:
        self._recorder = recorder
        self._name = name
        self._coroutine = coroutine

    def send(self, value: Any) -> Any:
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Result]:
        return _drive(self)

    def _step(self, resume: Any, *arguments: Any) -> Any:
        start, collected = thread_time(), COLLECTION_CLOCK.seconds
        try:
            return resume(*arguments)
        finally:
            self._recorder.record(self._name, thread_time() - start - (COLLECTION_CLOCK.seconds - collected))


def _drive(coroutine: measured[Result]) -> Generator[Any, Any, Result]:
    """Yield what a coroutine waits for, and pass on what it gets, as `yield from` does."""
    resume, argument = coroutine.send, None
    while True:
        try:
            awaited = resume(argument)
        except StopIteration as end:
            result: Result = end.value
            return result
        try:
            argument = yield awaited
            resume = coroutine.send
        except BaseException as error:  # noqa: BLE001 (it is raised in the coroutine)
            resume, argument = coroutine.throw, error  # type: ignore[assignment]


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
        yield recorder
    finally:
        Starlette.__call__ = call  # type: ignore[method-assign]
        DirectGraphQL.serve = serve  # type: ignore[method-assign]
