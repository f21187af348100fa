"""Withdrawn readings: those that are stored, and turn out to be of another household or of a time without consent."""

from collections.abc import Iterable

from wattgate.db.models import Resource
from wattgate.db.readings.series_keys import resource_number
from wattgate.db.readings.withdrawals import WithdrawnFields
from wattgate.energy.storage_fields import parse_fields


def withdrawn_fields(resources: Iterable[Resource]) -> WithdrawnFields:
    """Return the fields of resources, as `ReadingStore.withdraw` takes them."""
    return {
        resource_number(resource): [(field.index, field.has_hourly_rollup) for field in parse_fields(resource.storage)]
        for resource in resources
    }
