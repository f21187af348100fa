"""Fill the registry of the local meter network, for `wattgate network import` and the demonstration."""

from collections.abc import Collection

from sqlmodel import SQLModel

from wattgate.db.meter_network import RegistryMeterNetwork
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.errors import NotSupported
from wattgate.operations.core.operation import Call, OperationKind, Unaudited, operation
from wattgate.principal import Permission


@operation(
    OperationKind.MUTATION,
    returns=int,
    needs=Permission.SYSTEM,
    audit=Unaudited("The registry of the meter network belongs to no application."),
    system_access=SystemAccess.FILL_NETWORK_REGISTRY,
)
async def store_registry_records(call: Call, *, records: Collection[SQLModel]) -> int:
    """Insert records into the registry, or replace those with the same key. Return their number."""
    if not isinstance(call.network, RegistryMeterNetwork):
        raise NotSupported("The meter network is remote and keeps its own registry.")
    return await call.network.store(records)
