"""The protocol of meter networks, and an implementation that reads the registry tables of the gateway's database.

Numbers of meter points have the normalized form of `energy.meters.meter_points`. To connect a real network, write a
class with the methods of `MeterNetwork` and pass it to `build_gateway` in `app/server/factory.py`.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from sqlalchemy import Executable, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import SQLModel, col

from wattgate.db.connections.reader import DatabaseSession, dialect_name
from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkReading, NetworkRegister
from wattgate.enums import ReadingQuality

M = TypeVar("M", bound=SQLModel)
S = TypeVar("S", bound=msgspec.Struct)


class MeterPoint(msgspec.Struct):
    """A meter point of the network. `eligible` is true if the network can serve it."""

    mpxn: str
    postcode: str
    smets_version: str
    eligible: bool


class MeterNetworkDevice(msgspec.Struct):
    """A device in the network's inventory. Its type is CHF, ESME, GSME, GPF, IHD, PPMID or CAD."""

    eui: str
    mpxn: str
    device_type: str
    manufacturer: str
    model: str
    firmware_version: str
    status: str
    commissioned_at: datetime | None


class MeterNetworkReading(NamedTuple):
    """A value of the network, the start of its interval, and its quality."""

    at: datetime
    value: Decimal
    quality: ReadingQuality = ReadingQuality.ACTUAL


class RegisterReading(msgspec.Struct):
    """The value of a meter's own cumulative register at an instant."""

    at: datetime
    value: Decimal
    unit: str


class MeterNetwork(Protocol):
    """The requests that the gateway sends to the meter network."""

    async def meter_point(self, mpxn: str) -> MeterPoint | None:
        """Return the meter point with this number; None if the network does not know it."""
        ...

    async def devices_at(self, mpxn: str) -> list[MeterNetworkDevice]:
        """Return the devices of a meter point, sorted by EUI."""
        ...

    async def device(self, eui: str) -> MeterNetworkDevice | None:
        """Return the device with this EUI; None if the network does not know it."""
        ...

    async def readings(
        self, mpxn: str, classifier: str, after: datetime | None, *, limit: int
    ) -> list[MeterNetworkReading]:
        """Return up to `limit` values of a meter point that are later than `after`, oldest first."""
        ...

    async def register(self, mpxn: str, classifier: str) -> RegisterReading | None:
        """Return the meter's cumulative register; None if it cannot be read."""
        ...


MeterNetworkFactory = Callable[[DatabaseSession], MeterNetwork]
"""Create the meter network for one operation. An implementation without a database ignores the session."""


class RegistryMeterNetwork:
    """The meter network of the registry tables, which `wattgate network import` fills."""

    def __init__(self, session: DatabaseSession) -> None:
        self._session = session

    async def meter_point(self, mpxn: str) -> MeterPoint | None:
        meter_points = await self._find(NetworkMeterPoint, MeterPoint, col(NetworkMeterPoint.mpxn) == mpxn)
        return meter_points[0] if meter_points else None

    async def devices_at(self, mpxn: str) -> list[MeterNetworkDevice]:
        return await self._find(
            NetworkDevice, MeterNetworkDevice, col(NetworkDevice.mpxn) == mpxn, order_by=col(NetworkDevice.eui)
        )

    async def device(self, eui: str) -> MeterNetworkDevice | None:
        devices = await self._find(NetworkDevice, MeterNetworkDevice, col(NetworkDevice.eui) == eui)
        return devices[0] if devices else None

    async def readings(
        self, mpxn: str, classifier: str, after: datetime | None, *, limit: int
    ) -> list[MeterNetworkReading]:
        model = NetworkReading
        statement = (
            select(col(model.at), col(model.value), col(model.quality))
            .where(col(model.mpxn) == mpxn, col(model.classifier) == classifier)
            .order_by(col(model.at))
            .limit(limit)
        )
        if after is not None:
            statement = statement.where(col(model.at) > after)
        return [MeterNetworkReading(*row) for row in await self._session.execute(statement)]

    async def register(self, mpxn: str, classifier: str) -> RegisterReading | None:
        model = NetworkRegister
        registers = await self._find(
            model, RegisterReading, col(model.mpxn) == mpxn, col(model.classifier) == classifier
        )
        return registers[0] if registers else None

    async def store(self, records: Collection[SQLModel]) -> int:
        """Insert records into the registry, or replace records with the same key. Return the number of records.

        Of several records with the same key, the last one is stored.
        """
        models = {type(record) for record in records}
        for model in models:
            keys = [column.name for column in model.__table__.primary_key]  # type: ignore[attr-defined]
            rows = {
                tuple(getattr(record, key) for key in keys): record.model_dump()
                for record in records
                if type(record) is model
            }
            connection = await self._session.connection()
            await connection.execute(self._upsert(model, keys), list(rows.values()))
        return len(records)

    def _upsert(self, model: type[SQLModel], keys: Sequence[str]) -> Executable:
        dialect = dialect_name(self._session)
        statement = (sqlite if dialect == "sqlite" else postgresql).insert(model)
        replaced = {name: statement.excluded[name] for name in model.model_fields if name not in keys}
        upsert: Executable = statement.on_conflict_do_update(index_elements=keys, set_=replaced)
        return upsert

    async def _find(self, table: type[M], struct: type[S], *where: Any, order_by: Any = None) -> list[S]:
        """Return the matching rows of a table as structs. The struct names the columns."""
        columns = [getattr(table, name) for name in struct.__struct_fields__]
        result = await self._session.execute(select(*columns).where(*where).order_by(order_by))
        return [struct(*row) for row in result]
