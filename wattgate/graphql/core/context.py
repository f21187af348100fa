"""What travels with a GraphQL request or socket: the principal, the runner, and the loaders of its edges."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from strawberry.dataloader import DataLoader

from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.principal import Principal

_LoaderKey = tuple[Edge, frozenset[tuple[str, Hashable]]]


class Context:
    """Strawberry's `info.context`. It holds no session and outlives no socket."""

    def __init__(self, runner: Runner, principal: Principal) -> None:
        self.runner = runner
        self.principal = principal
        self._loaders: dict[_LoaderKey, DataLoader[Any, Any]] = {}
        self.answers: dict[str, Any] = {}

    async def answer(self, key: str, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """The result of the operation under a key of the answer. It runs once, however often its result is asked for.

        `answers` has what each gave, or the error that it raised: what was executed to no end is told from there.
        """
        if key not in self.answers:
            try:
                self.answers[key] = await self.runner.run(operation, self.principal, arguments)
            except Exception as error:  # noqa: BLE001 (it is not hidden: whoever asks gets it)
                self.answers[key] = error
        known = self.answers[key]
        if isinstance(known, Exception):
            raise known
        return known

    async def load(self, edge: Edge, parent: Any, arguments: Mapping[str, Any]) -> Any:
        """What the edge leads to from one parent; parents asked for in the same turn share one statement.

        The arguments of edges are scalars and enums, so that equal ones share a loader.
        """
        key = (edge, frozenset(arguments.items()))
        loader = self._loaders.get(key)
        if loader is None:
            loader = DataLoader(partial(self.load_all, edge, arguments), cache=False)
            self._loaders[key] = loader
        return await loader.load(parent)

    async def load_all(self, edge: Edge, arguments: Mapping[str, Any], parents: Sequence[Any]) -> list[Any]:
        """What the edge leads to from each of the parents."""
        return await self.runner.load(edge, self.principal, parents, arguments)
