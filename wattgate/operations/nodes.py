"""The operations `node` and `nodes`, derived from the operations that return one record by its ID."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from wattgate.errors import GatewayError
from wattgate.operations.core.operation import Operation, OperationKind, RunOperation, operation
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT, ListSize, list_length, per_item
from wattgate.operations.vocabulary.node import Node, decode_global_id, invalid_global_id
from wattgate.principal import Permission
from wattgate.values.annotations import Described, MaxItems

MAX_NODES = 50
"""Maximum records of one `nodes`. Each is read by an operation of its own."""


def reading_operations(operations: Iterable[Operation]) -> dict[str, Operation]:
    """Return the operation that returns one record by its ID, by the name of the record's type."""
    return {
        candidate.result_type.__name__: candidate
        for candidate in operations
        if candidate.kind is OperationKind.QUERY
        and not candidate.returns_list
        and isinstance(candidate.result_type, type)
        and issubclass(candidate.result_type, Node)
        and candidate.result_type is not Node
        and set(candidate.arguments) == {candidate.result_type.node_key}
    }


def build_node_operations(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return `node` and `nodes` for the records that the given operations return.

    A global id stands for a call of the operation of its type. The caller needs its permission, and sees the records
    that it returns.
    """
    readers = reading_operations(operations)

    @operation(OperationKind.QUERY, returns=Node, needs=Permission.USER_READ, delegates=True)
    async def node(run: RunOperation, *, id: Annotated[Id, Described("Global ID: the value of a field `id`.")]) -> Any:
        """Return the record with this global ID.

        The caller needs the permission of the field that returns one record of this type, such as `resource`. A record
        of another user or application fails with NOT_FOUND.
        """
        return await _read(run, readers, id, "id")

    @operation(
        OperationKind.QUERY,
        returns=list[Node | None],
        needs=Permission.USER_READ,
        delegates=True,
        weight=per_item("ids", max_items=MAX_NODES, weight=STATEMENT_WEIGHT, item_weight=STATEMENT_WEIGHT),
        sizes=[ListSize(list_length("ids"))],
    )
    async def nodes(
        run: RunOperation,
        *,
        ids: Annotated[list[Id], MaxItems(MAX_NODES), Described("Global IDs: values of fields `id`.")],
    ) -> list[Any]:
        """Return the records with these global IDs, in order. Each one that cannot be read is null, with an error."""
        results: list[Any] = []
        for global_id in ids:  # one at a time, because each record takes a connection of the pool
            try:
                results.append(await _read(run, readers, global_id, "ids"))
            except GatewayError as error:
                results.append(error)  # graphql-core reports an error in a list as the error of its item
        return results

    return node, nodes


async def _read(run: RunOperation, readers: Mapping[str, Operation], global_id: str, argument: str) -> Any:
    type_name, key = decode_global_id(global_id, argument)
    reader = readers.get(type_name)
    if reader is None:
        raise invalid_global_id(global_id, argument)
    return await run(reader, {reader.result_type.node_key: key})
