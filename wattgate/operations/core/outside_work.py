"""Work that takes long and needs no database, such as hashes and renderings: it runs while no session is open.

A resolver asks for the result by the inputs of the work. If it is not there yet, `OutsideWork` raises `WorkNeeded`. The
runner then ends the session without a commit, does the work, and runs the resolver again in a new session. So nobody
holds a connection, a lock of a row, or the write lock of SQLite meanwhile. Because the resolver reads everything again,
a result is used only if its inputs are still the same.

A resolver with a loop whose parts need work runs the loop with `OutsideWork.collect`. One round then does the work of
all parts.

Work in the database that the cost of a call does not include is charged in the same way: see `OutsideWork.demand`.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec

from wattgate.delivery.templates.language.diagnostics import Finding, TemplateError
from wattgate.delivery.templates.renderer import TemplateRenderer
from wattgate.delivery.templates.rendering import RenderedTemplate, TemplateSource
from wattgate.delivery.templates.report import Preview
from wattgate.delivery.templates.scope import DEFAULT_SCOPE, RenderScope
from wattgate.delivery.templates.tasks import TemplateData
from wattgate.delivery.templates.worker import encode_message
from wattgate.errors import Unavailable
from wattgate.operations.vocabulary.cost_weights import DELIVERY_WEIGHT, INCLUDED_DELIVERIES
from wattgate.requests.request_context import WorkCharge

T = TypeVar("T")

MAX_ROUNDS = 8
"""Maximum runs of a resolver. An operation with work of three kinds needs four, if it collects the work of each kind.

More means that its inputs change.
"""

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


class OutsideWork(msgspec.Struct, eq=False):
    """The results of the work of one operation, and the values that all its rounds share. Give it `charge` alone.

    `charge` pays for the units that the operation demands; None if nobody pays. It is a Struct because each operation
    and each edge creates one, and few of them need it.
    """

    charge: WorkCharge | None = None
    _outcomes: list[_Outcome] = []
    _values: dict[tuple[int, ...], Any] = {}
    _afterwards: list[Callable[[], Awaitable[None]]] = []
    _part: tuple[int, ...] = ()
    _next_number: int = 0
    _demanded_units: int = 0
    _paid_units: int = INCLUDED_DELIVERIES * DELIVERY_WEIGHT

    def begin_round(self) -> None:
        """Begin a further run of the resolver. `same_value` returns its values from the first one."""
        self._part, self._next_number, self._demanded_units = (), 0, 0
        self._afterwards.clear()

    def demand(self, units: int) -> bool:
        """Demand units for work that this round is about to do. Return whether they are paid for.

        If not, skip the work and go on. The round does not commit: the runner charges what the whole round demands,
        and runs the resolver again. So a resolver with many parts is charged once.
        """
        self._demanded_units += units
        return not self.has_debt

    @property
    def has_debt(self) -> bool:
        """Whether this round demands more units than are paid for."""
        return self.charge is not None and self._demanded_units > self._paid_units

    def payment(self) -> WorkNeeded:
        """Return what charges the units that this round demands. Raise it to end the round."""
        missing = self._demanded_units - self._paid_units
        return WorkNeeded([PendingWork(("units", self._demanded_units), lambda: self._pay(missing))])

    async def _pay(self, units: int) -> None:
        if self.charge is not None:
            await self.charge.add_units(units)
            self._paid_units += units

    def do_afterwards(self, work: Callable[[], Awaitable[None]]) -> None:
        """Let work run after the session of the last round has ended, also if the resolver then raises an error."""
        self._afterwards.append(work)

    @property
    def has_afterwards(self) -> bool:
        """Whether `finish` has work to do."""
        return bool(self._afterwards)

    async def finish(self) -> None:
        """Do the work for which the last round has asked afterwards."""
        for work in self._afterwards:
            await work()

    async def collect(self, parts: Iterable[Awaitable[T]]) -> list[T]:
        """Run parts of a resolver one after another, and return their results in order.

        A part that raises WorkNeeded does not end the others. At the end, one WorkNeeded is raised for the work of all
        of them, so that one round does it, and not a round for each. Any other error of a part ends the others: let a
        generator make the parts, so that none exists before its turn.
        """
        results, pending, place = list[T](), list[PendingWork](), self._next_place()
        outer = self._part, self._next_number
        try:
            for number, part in enumerate(parts):
                self._part, self._next_number = (*place, number), 0
                try:
                    results.append(await part)
                except WorkNeeded as needed:
                    pending += needed.pending
        finally:
            self._part, self._next_number = outer
        if pending:
            raise WorkNeeded(pending)
        return results

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
        place = self._next_place()
        if place not in self._values:
            self._values[place] = create()
        value: T = self._values[place]
        return value

    def _next_place(self) -> tuple[int, ...]:
        """Return the place of the next value or list of parts in the resolver. It is the same in each round.

        Each part of a list has its own numbers, because a part asks for more values in a round that runs it further.
        """
        self._next_number += 1
        return *self._part, self._next_number

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


class OutsideTemplates(msgspec.Struct, frozen=True):
    """The renderer of templates for resolvers: its tasks are outside work. `owner` is the application.

    `charge` pays for the tasks; None if the gateway renders for itself.
    """

    renderer: TemplateRenderer
    outside: OutsideWork
    owner: str
    charge: WorkCharge | None = None

    async def check(self, source: TemplateSource, scope: RenderScope = DEFAULT_SCOPE) -> list[Finding]:
        """Return what `TemplateRenderer.check` does."""
        inputs = "check", source, scope
        return self.outside.result(
            inputs, lambda: self.renderer.check(source, scope, owner=self.owner, charge=self.charge)
        )

    async def render(
        self, source: TemplateSource, data: TemplateData, scope: RenderScope = DEFAULT_SCOPE
    ) -> RenderedTemplate:
        """Return or raise what `TemplateRenderer.render` does."""
        inputs = "render", source, scope, _encoded(data)
        return self.outside.result(
            inputs, lambda: self.renderer.render(source, data, scope, owner=self.owner, charge=self.charge)
        )

    async def preview(
        self, source: TemplateSource, data: TemplateData | None = None, scope: RenderScope = DEFAULT_SCOPE
    ) -> Preview:
        """Return or raise what `TemplateRenderer.preview` does."""
        inputs = "preview", source, scope, _encoded(data)
        return self.outside.result(
            inputs, lambda: self.renderer.preview(source, data, scope, owner=self.owner, charge=self.charge)
        )


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
