"""Stored readings as they are, a page at a time, and the register of the meter itself."""

from dataclasses import dataclass
from datetime import datetime

import strawberry

from wattgate.clock import from_ms, iso_ms, to_ms
from wattgate.db import models
from wattgate.db.queries.consent import withheld
from wattgate.db.readings.series import Stored
from wattgate.db.readings.series_keys import field_of, key_of
from wattgate.db.wire_column import Column
from wattgate.energy import meter_points
from wattgate.energy.storage_fields import QUALITIES, Field
from wattgate.errors import NotSupported
from wattgate.graphql.core.cost_weights import STATEMENTS, Size, rows
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.types import resources as types
from wattgate.principal import Permission

ARROW = "application/vnd.apache.arrow.stream"
PAGE = 10_000
"""How many readings one page holds at most."""

FOREVER = 2**62
"""Milliseconds since 1970 beyond every reading."""


@dataclass(frozen=True, slots=True)
class RawReadings:
    """A page of stored readings; `storage` is the field that they are of."""

    resource: models.Resource
    storage: Field
    stored: list[Stored]
    next: datetime | None

    @property
    def field(self) -> str:
        return self.storage.name

    @property
    def unit(self) -> str:
        return self.storage.unit

    @property
    def at(self) -> Column[str]:
        return Column(iso_ms(one.at) for one in self.stored)

    @property
    def value(self) -> Column[float]:
        return Column(self.storage.number(one.value) for one in self.stored)

    @property
    def quality(self) -> Column[str]:
        return Column(QUALITIES[one.quality].value for one in self.stored)


@dataclass(frozen=True, slots=True)
class MeterRead:
    resource: models.Resource
    at: datetime
    value: float
    unit: str


@operation(
    Kind.QUERY,
    returns=types.RawReadings,
    needs=Permission.READINGS_READ,
    rest=(
        Rest("GET", "/resource/{resourceId}/platformbinary", media=ARROW),
        Rest("GET", "/resource/{resourceId}/glowbinary", media=ARROW),
        Rest("GET", "/resource/{resourceId}/readings", media=ARROW),
    ),
    weight=rows(PAGE, weight=STATEMENTS, per_unit=20),
    sizes=[Size(rows(PAGE), ("RawReadings",))],
)
async def raw_readings(
    call: Call,
    *,
    resource_id: strawberry.ID,
    start: datetime | None = None,
    end: datetime | None = None,
    field: str | None = None,
) -> RawReadings:
    """A resource's stored readings from start to before end, in no buckets: at most 10,000 a page, oldest first.

    Where start or end is left out, from the first or to the last one.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    await refuse_withheld(call, resource)
    if resource.cost_of:
        raise NotSupported(f"resource {resource_id} tells a cost, which is computed: ask its readings in buckets")
    wanted = field_of(resource, field)
    since, until = (to_ms(start) if start else -FOREVER), (to_ms(end) if end else FOREVER)
    found = await call.rows.series.raw(key_of(resource, wanted), since, until, limit=PAGE + 1)
    following = from_ms(found[PAGE].at) if len(found) > PAGE else None
    return RawReadings(resource, wanted, found[:PAGE], following)


@operation(
    Kind.QUERY,
    returns=types.MeterRead,
    needs=Permission.READINGS_READ,
    rest=Rest("GET", "/resource/{resourceId}/meterread"),
)
async def meter_read(call: Call, *, resource_id: strawberry.ID) -> MeterRead:
    """What the cumulative register of a resource's meter shows, where the network can read it."""
    resource = await call.rows.get(models.Resource, resource_id)
    await refuse_withheld(call, resource)
    number = meter_points.meter_point_number(resource.mpxn or "")
    register = await call.network.register(number, resource.classifier) if number else None
    if register is None:
        raise NotSupported(f"the network has no register for resource {resource_id}")
    return MeterRead(resource, register.at, float(register.value), register.unit)


async def refuse_withheld(call: Call, resource: models.Resource) -> None:
    """ConsentRevoked where the consent to the resource's meter point holds no longer."""
    for refusal in (await withheld(call.rows, [resource])).values():
        raise refusal
