"""Operations on both interfaces as cases of walks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.examples import EXAMPLES
from tests.support.house import House, Tenant
from tests.support.interfaces import InterfaceResult, by_graphql, by_rest
from tests.support.legacy import REST_ARGUMENTS
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation, OperationKind, RestRoute
from wattgate.principal import Permission


@dataclass(frozen=True)
class InterfaceCase:
    """An operation on an interface: GraphQL, or a REST endpoint."""

    operation: Operation
    rest: RestRoute | None = None

    @property
    def name(self) -> str:
        return f"graphql {self.operation.name}" if self.rest is None else f"rest {self.rest.route_key}"

    @property
    def kind(self) -> tuple[bool, Permission]:
        """Whether the interface is GraphQL, and the permission that the operation needs."""
        return self.rest is None, self.operation.needs

    @property
    def writes(self) -> bool:
        return self.operation.kind is OperationKind.MUTATION

    async def example(self, tenant: Tenant) -> dict[str, Any]:
        """Return the arguments of an example of the operation for a tenant, whose records it may create."""
        return await EXAMPLES[self.operation.name](tenant)

    async def send(
        self, house: House, variables: dict[str, Any], headers: dict[str, str], edge_depth: int = 0
    ) -> InterfaceResult:
        """Send the operation with the arguments of an example."""
        if self.rest is None:
            return await by_graphql(house, self.operation, variables, headers, edge_depth=edge_depth)
        change = REST_ARGUMENTS.get(self.rest.route_key)
        return await by_rest(house, self.operation, self.rest, change(variables) if change else variables, headers)


def cases_on(served: House, cases: Sequence[InterfaceCase]) -> list[InterfaceCase]:
    """Return the cases that run on the database of a gateway: about a half, and each case runs on one database.

    An operation runs on one database by GraphQL, and on the other one by REST.
    """
    positions = {operation.name: position for position, operation in enumerate(OPERATIONS)}
    is_sqlite = served.gateway.database.is_sqlite
    return [case for case in cases if (positions[case.operation.name] % 2 == (case.rest is None)) == is_sqlite]
