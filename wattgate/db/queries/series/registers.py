"""Cumulative registers of meters that displays sent, among the stored readings of a resource."""

from decimal import Decimal

from wattgate.clock import from_ms
from wattgate.db.meter_network import RegisterReading
from wattgate.db.models import Resource
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_messages import REGISTER_FIELDS
from wattgate.energy.storage_fields import find_field, parse_fields


async def newest_register(rows: Rows, resource: Resource) -> RegisterReading | None:
    """Return the newest stored register of a resource; None if no display sent one.

    Of two registers of the same instant, return the first of REGISTER_FIELDS.
    """
    storage_fields = parse_fields(resource.storage)
    fields = [field for name in REGISTER_FIELDS if (field := find_field(storage_fields, name))]
    latest = await rows.readings.latest([series_key(resource, field) for field in fields]) if fields else {}
    stored = [(reading, field) for field in fields if (reading := latest.get(series_key(resource, field)))]
    if not stored:
        return None
    reading, field = max(stored, key=lambda register: register[0].at)
    return RegisterReading(from_ms(reading.at), Decimal(reading.value).scaleb(-field.decimals), field.unit)
