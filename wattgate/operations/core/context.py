"""The context of a GraphQL request or socket: the principal, the runner, and one data loader for each edge."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from strawberry.dataloader import DataLoader

from wattgate.access_log import RequestReads
from wattgate.errors import BadInput, GatewayError, Problem
from wattgate.operations.core.operation import Call, Operation, OperationKind
from wattgate.operations.core.refusals import to_refusal
from wattgate.operations.core.runner import Runner
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.principal import Principal
from wattgate.requests.request_context import WorkCharge, log_access_error

_LoaderKey = tuple[EdgeField, int | None, frozenset[tuple[str, Hashable]]]


class Charge(WorkCharge, Protocol):
    """The charge of the running operation, which follows the sizes of its lists."""

    @property
    def estimated(self) -> int:
        """The cost by the assumed sizes of lists."""

    @property
    def is_refused(self) -> bool:
        """Whether the operation costs too much, so that it loads nothing more."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to charge, and nothing was refused."""

    def count(self, node_id: int, list_count: int, item_count: int) -> None:
        """Count the items of the lists of a field, by the identity of its node in the document."""

    def mark_mutation_executed(self) -> None:
        """Note that a mutation is committed."""

    async def settle(self) -> None:
        """Charge the part of the cost that is not charged yet. Raise GatewayError if that is refused."""


class GraphQLContext:
    """Strawberry's `info.context`. It holds no database session and does not outlive its socket.

    `operation_results` maps a response key to the result of its operation, or to the error that it raised. Without
    `charge`, nothing is charged. The argument `node_id` of methods is the identity of the field's node in the document.
    """

    def __init__(self, runner: Runner, principal: Principal, charge: Charge | None = None) -> None:
        self.runner = runner
        self.principal = principal
        self.charge = charge
        self._loaders: dict[_LoaderKey, DataLoader[Any, Any]] = {}
        self.operation_results: dict[str, Any] = {}
        self._reads = RequestReads()

    async def run_operation(
        self,
        key: str,
        operation: Operation,
        arguments: Mapping[str, Any],
        node_id: int | None = None,
        selected: frozenset[str] | None = None,
    ) -> Any:
        """Return the result of the operation for a response key, or its refusal. Raise its other errors.

        `selected` has the names of all fields that are selected from the result; None if they are unknown.

        The operation runs once, on the first call for the key; later calls return the stored result or raise the
        stored error. If a plan fails midway, graphql-core continues from the stored results.
        """
        if key not in self.operation_results:
            try:
                result = await self._run_charged(operation, arguments, node_id, selected)
                self.operation_results[key] = operation.list_type(items=result) if operation.list_type else result
            except Exception as error:  # noqa: BLE001 (it is raised below and on each later call)
                self.operation_results[key] = _refusal_or_error(operation, error)
        result = self.operation_results[key]
        if isinstance(result, Exception):
            raise result
        return result

    async def _run_charged(
        self,
        operation: Operation,
        arguments: Mapping[str, Any],
        node_id: int | None,
        selected: frozenset[str] | None,
    ) -> Any:
        """Run an operation. Charge for the size of its result, if it is a list."""
        if self.charge is None:
            return await self.runner.run(operation, self.principal, arguments, self._reads, selected)
        if self.charge.is_refused:
            await self.charge.settle()  # raises the refusal
        result = await self.runner.run(operation, self.principal, arguments, self._reads, selected, self.charge)
        if node_id is not None and result.__class__ is list:
            self.charge.count(node_id, 1, len(result))
        if operation.result_units is not None:
            await self.charge.add_done(operation.result_units(result))
        if operation.kind is OperationKind.MUTATION:
            self.charge.mark_mutation_executed()  # its result is returned; the next edge is charged or refused
        elif not self.charge.is_settled:
            await self.charge.settle()
        return result

    async def load(self, edge: EdgeField, parent: Any, arguments: Mapping[str, Any], node_id: int | None = None) -> Any:
        """Return the result of the edge for one parent. Parents that are loaded in one event loop turn share a query.

        The arguments of edges are scalars and enums, so calls with equal arguments share a loader.
        """
        key = (edge, node_id, frozenset(arguments.items()))
        loader = self._loaders.get(key)
        if loader is None:
            loader = DataLoader(partial(self._load_batch, edge, arguments, node_id), cache=False)
            self._loaders[key] = loader
        return await loader.load(parent)

    async def load_all(
        self, edge: EdgeField, arguments: Mapping[str, Any], parents: Sequence[Any], node_id: int | None = None
    ) -> list[Any]:
        """Return one result of the edge for each parent, in order, and charge for them."""
        if self.charge is None:
            return await self.runner.load(edge, self.principal, parents, arguments, self._reads)
        if not self.charge.is_settled:
            await self.charge.settle()
        results = await self.runner.load(edge, self.principal, parents, arguments, self._reads, self.charge)
        lists = [result for result in results if result.__class__ is list]
        if lists and node_id is not None:
            self.charge.count(node_id, len(lists), sum(map(len, lists)))
        if edge.result_units is not None:
            units = (edge.result_units(result) for result in results if not isinstance(result, Exception))
            await self.charge.add_done(sum(units))
        if not self.charge.is_settled:
            await self.charge.settle()
        return results

    async def _load_batch(
        self, edge: EdgeField, arguments: Mapping[str, Any], node_id: int | None, parents: Sequence[Any]
    ) -> list[Any]:
        return await self.load_all(edge, arguments, parents, node_id)


def _refusal_or_error(operation: Operation, error: Exception) -> Any:
    """Return the refusal that a mutation returns as data, and log it; else the error."""
    if not isinstance(error, GatewayError) or (refusal := to_refusal(operation, error)) is None:
        return error
    log_access_error(error)
    return refusal


def require_user_id(call: Call) -> str:
    """Return the id of the user on whose behalf the call runs. Raise BadInput if an application names none."""
    if call.principal.user_id is None:
        problem = Problem(("userId",), "is missing", is_missing=True)
        raise BadInput(
            "Name the user in the header userId. A member userId of the body is not read.", problems=[problem]
        )
    return call.principal.user_id
