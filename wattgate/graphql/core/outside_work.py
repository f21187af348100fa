"""Work that takes long and needs no database, such as hashes and renderings: it runs while no session is open.

A resolver asks for the result by the inputs of the work. If it is not there yet, `OutsideWork` raises `WorkNeeded`. The
runner then ends the session without a commit, does the work, and runs the resolver again in a new session. So nobody
holds a connection, a lock of a row, or the write lock of SQLite meanwhile. Because the resolver reads everything again,
a result is used only if its inputs are still the same.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from wattgate.delivery.templates.diagnostics import Finding, TemplateError
from wattgate.delivery.templates.renderer import TemplateRenderer
from wattgate.delivery.templates.rendering import RenderedTemplate, TemplateSource
from wattgate.delivery.templates.report import Preview
from wattgate.delivery.templates.scope import DEFAULT_SCOPE, RenderScope
from wattgate.delivery.templates.tasks import TemplateData
from wattgate.delivery.templates.worker import encode_message
from wattgate.errors import Unavailable

T = TypeVar("T")

MAX_ROUNDS = 8
"""Maximum runs of a resolver. An operation with work of three kinds needs four; more means that its inputs change."""

RETRY_SECONDS = 2
"""Value of Retry-After if the inputs of an operation changed in each round."""


class PendingWork(NamedTuple):
    """Work that is not done yet. `inputs` identify it: equal inputs have the same result."""

    inputs: tuple[Any, ...]
    do: Callable[[], Awaitable[Any]]


class WorkNeeded(BaseException):
    """A resolver cannot go on without the results of some work.

    This is no `Exception`, so that no resolver takes it for an error of its own.
    """

    def __init__(self, pending: Sequence[PendingWork]) -> None:
        super().__init__(f"{len(pending)} results are missing")
        self.pending = pending


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of work, or the template error that it raised. Other errors end the operation."""

    inputs: tuple[Any, ...]
    value: Any = None
    error: TemplateError | None = None


class OutsideWork:
    """The results of the work of one operation, and the values that all its rounds share."""

    def __init__(self) -> None:
        self._outcomes: list[_Outcome] = []
        self._values: list[Any] = []
        self._next_value = 0
        self._afterwards: list[Callable[[], Awaitable[None]]] = []

    def begin_round(self) -> None:
        """Begin a run of the resolver. `same_value` returns its values from the first one."""
        self._next_value = 0
        self._afterwards.clear()

    def do_afterwards(self, work: Callable[[], Awaitable[None]]) -> None:
        """Let work run after the session of the last round has ended, also if the resolver then raises an error."""
        self._afterwards.append(work)

    async def finish(self) -> None:
        """Do the work for which the last round has asked afterwards."""
        for work in self._afterwards:
            await work()

    def result(self, inputs: tuple[Any, ...], work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work with these inputs, or raise its TemplateError.

        Raise WorkNeeded if it is not done yet. The resolver then runs again, from its beginning.
        """
        outcome = self._find(inputs)
        if outcome is None:
            raise WorkNeeded([PendingWork(inputs, work)])
        if outcome.error is not None:
            raise outcome.error
        value: T = outcome.value
        return value

    def is_done(self, inputs: tuple[Any, ...]) -> bool:
        """Return whether the work with these inputs is done."""
        return self._find(inputs) is not None

    def same_value(self, create: Callable[[], T]) -> T:
        """Return a value that is the same in each round, such as a new id that becomes an input of work."""
        if self._next_value == len(self._values):
            self._values.append(create())
        value: T = self._values[self._next_value]
        self._next_value += 1
        return value

    async def do(self, needed: WorkNeeded) -> None:
        """Do the work that a round needs. Call it only while no session is open."""
        for inputs, work in needed.pending:
            if self._find(inputs) is not None:
                continue
            try:
                self._outcomes.append(_Outcome(inputs, await work()))
            except TemplateError as error:
                self._outcomes.append(_Outcome(inputs, error=error))

    def _find(self, inputs: tuple[Any, ...]) -> _Outcome | None:
        return next((outcome for outcome in self._outcomes if outcome.inputs == inputs), None)


class MissingWork:
    """Collect what several parts of a resolver need, so that one round does the work of all of them."""

    def __init__(self) -> None:
        self._pending: list[PendingWork] = []

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Run a part. If it raises WorkNeeded, the next part runs nevertheless. `require` must follow."""
        try:
            yield
        except WorkNeeded as needed:
            self._pending += needed.pending

    def require(self) -> None:
        """Raise WorkNeeded if a part raised it."""
        if self._pending:
            raise WorkNeeded(self._pending)


class OutsideTemplates:
    """The renderer of templates for resolvers: its tasks are outside work. `owner` is the application."""

    def __init__(self, renderer: TemplateRenderer, outside: OutsideWork, owner: str) -> None:
        self._renderer = renderer
        self._outside = outside
        self._owner = owner

    async def check(self, source: TemplateSource, scope: RenderScope = DEFAULT_SCOPE) -> list[Finding]:
        """Return what `TemplateRenderer.check` does."""
        inputs = "check", source, scope
        return self._outside.result(inputs, lambda: self._renderer.check(source, scope, owner=self._owner))

    async def render(
        self, source: TemplateSource, data: TemplateData, scope: RenderScope = DEFAULT_SCOPE
    ) -> RenderedTemplate:
        """Return or raise what `TemplateRenderer.render` does."""
        inputs = "render", source, scope, _encoded(data)
        return self._outside.result(inputs, lambda: self._renderer.render(source, data, scope, owner=self._owner))

    async def preview(
        self, source: TemplateSource, data: TemplateData | None = None, scope: RenderScope = DEFAULT_SCOPE
    ) -> Preview:
        """Return or raise what `TemplateRenderer.preview` does."""
        inputs = "preview", source, scope, _encoded(data)
        return self._outside.result(inputs, lambda: self._renderer.preview(source, data, scope, owner=self._owner))


def _encoded(data: TemplateData | None) -> bytes | None:
    """Return data for a comparison. Objects do not suffice: 1, 1.0 and True are equal, and templates print them apart.

    Return None for data that is nested too deeply, which the renderer rejects.
    """
    try:
        return encode_message({"data": data})
    except RecursionError:
        return None


def inputs_keep_changing() -> Unavailable:
    """Return the error of an operation whose inputs changed in each round."""
    return Unavailable(
        "The records that the operation needs changed each time it ran. Try again.", retry_after=RETRY_SECONDS
    )
