"""What travels with a GraphQL request or socket: the principal, the runner, and the loaders of its edges."""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from strawberry.dataloader import DataLoader

from wattgate.graphql.edge import Edge
from wattgate.graphql.runner import Runner
from wattgate.principal import Principal

_LoaderKey = tuple[Edge, frozenset[tuple[str, Hashable]]]


class Context:
    """Strawberry's `info.context`. It holds no session and outlives no socket."""

    def __init__(self, runner: Runner, principal: Principal) -> None:
        self.runner = runner
        self.principal = principal
        self._loaders: dict[_LoaderKey, DataLoader[Any, Any]] = {}

    async def load(self, edge: Edge, parent: Any, arguments: Mapping[str, Any]) -> Any:
        """What the edge leads to from one parent; parents asked for in the same turn share one statement.

        The arguments of edges are scalars and enums, so that equal ones share a loader.
        """
        key = (edge, frozenset(arguments.items()))
        loader = self._loaders.get(key)
        if loader is None:
            loader = DataLoader(partial(self._load_all, edge, arguments), cache=False)
            self._loaders[key] = loader
        return await loader.load(parent)

    async def _load_all(self, edge: Edge, arguments: Mapping[str, Any], parents: list[Any]) -> list[Any]:
        return await self.runner.load(edge, self.principal, parents, arguments)
