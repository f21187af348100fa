"""The registry of the local meter network, as `wattgate network import` and the demonstration fill it."""

from collections.abc import Collection

from sqlmodel import SQLModel

from wattgate.db.meter_network import RegistryNetwork
from wattgate.errors import NotSupported
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.principal import Permission


@operation(Kind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def record_in_registry(call: Call, *, records: Collection[SQLModel]) -> int:
    """Put records into the registry, or replace those of the same key; how many they were."""
    if not isinstance(call.network, RegistryNetwork):
        raise NotSupported("the meter network is not ours: it keeps its own registry")
    return await call.network.store(records)
