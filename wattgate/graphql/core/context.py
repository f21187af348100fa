"""The context of a GraphQL request or socket: the principal, the runner, and one data loader for each edge."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from strawberry.dataloader import DataLoader

from wattgate.graphql.core.edge import EdgeField
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.principal import Principal

_LoaderKey = tuple[EdgeField, frozenset[tuple[str, Hashable]]]


class GraphQLContext:
    """Strawberry's `info.context`. It holds no database session and does not outlive its socket.

    `operation_results` maps a response key to the result of its operation, or to the error that it raised.
    """

    def __init__(self, runner: Runner, principal: Principal) -> None:
        self.runner = runner
        self.principal = principal
        self._loaders: dict[_LoaderKey, DataLoader[Any, Any]] = {}
        self.operation_results: dict[str, Any] = {}

    async def run_operation(self, key: str, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """Return the result of the operation for a response key, or raise its error.

        The operation runs once, on the first call for the key; later calls return the stored result or raise the
        stored error. If a plan fails midway, graphql-core continues from the stored results.
        """
        if key not in self.operation_results:
            try:
                self.operation_results[key] = await self.runner.run(operation, self.principal, arguments)
            except Exception as error:  # noqa: BLE001 (it is raised below and on each later call)
                self.operation_results[key] = error
        result = self.operation_results[key]
        if isinstance(result, Exception):
            raise result
        return result

    async def load(self, edge: EdgeField, parent: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the result of the edge for one parent. Parents that are loaded in one event loop turn share a query.

        The arguments of edges are scalars and enums, so calls with equal arguments share a loader.
        """
        key = (edge, frozenset(arguments.items()))
        loader = self._loaders.get(key)
        if loader is None:
            loader = DataLoader(partial(self.load_all, edge, arguments), cache=False)
            self._loaders[key] = loader
        return await loader.load(parent)

    async def load_all(self, edge: EdgeField, arguments: Mapping[str, Any], parents: Sequence[Any]) -> list[Any]:
        """Return one result of the edge for each parent, in order."""
        return await self.runner.load(edge, self.principal, parents, arguments)
