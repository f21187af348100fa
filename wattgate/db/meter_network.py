"""The port to the meter network, and the registry that serves it from tables of our own database.

Everybody asks the network by numbers in the one spelling of `meter_points`. A further implementation (a network's
real interface) is a class with the methods of `MeterNetwork`; `app/server/factory.py` chooses it.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from sqlalchemy import Executable, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import SQLModel, col

from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkReading, NetworkRegister
from wattgate.db.reader import Session, dialect_of
from wattgate.enums import ReadingQuality

M = TypeVar("M", bound=SQLModel)
S = TypeVar("S", bound=msgspec.Struct)


class MeterPoint(msgspec.Struct):
    """A meter point that the network knows; `eligible` is whether it can be served."""

    mpxn: str
    postcode: str
    smets_version: str
    eligible: bool


class InventoryDevice(msgspec.Struct):
    """A device of the network's inventory. Its type is CHF, ESME, GSME, GPF, IHD, PPMID or CAD."""

    eui: str
    mpxn: str
    device_type: str
    manufacturer: str
    model: str
    firmware_version: str
    status: str
    commissioned_at: datetime | None


class Value(NamedTuple):
    """A value that the network has, the instant at which its interval begins, and what the network says of it."""

    at: datetime
    value: Decimal
    quality: ReadingQuality = ReadingQuality.ACTUAL


class Register(msgspec.Struct):
    """What a meter's own cumulative register showed at an instant."""

    at: datetime
    value: Decimal
    unit: str


class MeterNetwork(Protocol):
    """What the gateway asks of the meter network."""

    async def meter_point(self, mpxn: str) -> MeterPoint | None:
        """The meter point of that number, if the network knows it."""
        ...

    async def devices_at(self, mpxn: str) -> list[InventoryDevice]:
        """The inventory of a meter point, by EUI."""
        ...

    async def device(self, eui: str) -> InventoryDevice | None:
        """The device of that EUI, if the network knows it."""
        ...

    async def readings(self, mpxn: str, classifier: str, after: datetime | None, *, limit: int) -> list[Value]:
        """At most so many values of a meter point, from the first after an instant on, oldest first."""
        ...

    async def register(self, mpxn: str, classifier: str) -> Register | None:
        """The meter's cumulative register; None where it cannot be read."""
        ...


Networks = Callable[[Session], MeterNetwork]
"""Makes the port for one operation. One that needs no database passes over the operation's session."""


class RegistryNetwork:
    """The meter network as the registry tables have it; `wattgate network import` fills them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def meter_point(self, mpxn: str) -> MeterPoint | None:
        found = await self._find(NetworkMeterPoint, MeterPoint, col(NetworkMeterPoint.mpxn) == mpxn)
        return found[0] if found else None

    async def devices_at(self, mpxn: str) -> list[InventoryDevice]:
        return await self._find(
            NetworkDevice, InventoryDevice, col(NetworkDevice.mpxn) == mpxn, order_by=col(NetworkDevice.eui)
        )

    async def device(self, eui: str) -> InventoryDevice | None:
        found = await self._find(NetworkDevice, InventoryDevice, col(NetworkDevice.eui) == eui)
        return found[0] if found else None

    async def readings(self, mpxn: str, classifier: str, after: datetime | None, *, limit: int) -> list[Value]:
        known = NetworkReading
        statement = (
            select(col(known.at), col(known.value), col(known.quality))
            .where(col(known.mpxn) == mpxn, col(known.classifier) == classifier)
            .order_by(col(known.at))
            .limit(limit)
        )
        if after is not None:
            statement = statement.where(col(known.at) > after)
        return [Value(*row) for row in await self._session.execute(statement)]

    async def register(self, mpxn: str, classifier: str) -> Register | None:
        known = NetworkRegister
        found = await self._find(known, Register, col(known.mpxn) == mpxn, col(known.classifier) == classifier)
        return found[0] if found else None

    async def store(self, records: Collection[SQLModel]) -> int:
        """Put records of the registry into it, or replace those of the same key; how many they are.

        A later record of the same key wins over an earlier one.
        """
        kinds = {type(record) for record in records}
        for kind in kinds:
            keys = [column.name for column in kind.__table__.primary_key]  # type: ignore[attr-defined]
            rows = {
                tuple(getattr(record, key) for key in keys): record.model_dump()
                for record in records
                if type(record) is kind
            }
            connection = await self._session.connection()
            await connection.execute(self._upsert(kind, keys), list(rows.values()))
        return len(records)

    def _upsert(self, kind: type[SQLModel], keys: Sequence[str]) -> Executable:
        dialect = dialect_of(self._session)
        statement = (sqlite if dialect == "sqlite" else postgresql).insert(kind)
        replaced = {name: statement.excluded[name] for name in kind.model_fields if name not in keys}
        upsert: Executable = statement.on_conflict_do_update(index_elements=keys, set_=replaced)
        return upsert

    async def _find(self, table: type[M], shape: type[S], *where: Any, order_by: Any = None) -> list[S]:
        """The rows of a table as values with the columns that a struct names."""
        columns = [getattr(table, name) for name in shape.__struct_fields__]
        found = await self._session.execute(select(*columns).where(*where).order_by(order_by))
        return [shape(*row) for row in found]
