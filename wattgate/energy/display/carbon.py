"""Carbon intensity of a home's electricity, and its index. No I/O. Instants are milliseconds since 1970 (UTC)."""

from datetime import datetime

import msgspec

from wattgate.clock import from_ms
from wattgate.energy.buckets import HALF_HOUR_MS
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import CarbonIndex

CARBON_CLASSIFIER = "carbon.intensity"
"""The classifier of a home's resource whose readings are the carbon intensity of its electricity."""

CARBON_UNIT = "gCO2/kWh"
"""The unit of these readings. Series in other units are not shown."""

INDEX_LIMITS = (
    (50.0, CarbonIndex.VERY_LOW),
    (125.0, CarbonIndex.LOW),
    (200.0, CarbonIndex.MODERATE),
    (300.0, CarbonIndex.HIGH),
)
"""The intensity in gCO2/kWh below which each index applies. From the last one on, it is VERY_HIGH."""


class DisplayCarbon(msgspec.Struct, frozen=True, gc=False):
    """The carbon intensity of electricity in the span that begins at `at`.

    It is too old to be shown from `valid_until` on.
    """

    intensity: float
    at: datetime
    valid_until: datetime
    index: CarbonIndex
    unit: str = CARBON_UNIT

    @classmethod
    def build(cls, field: ReadingField, at: int, intensity: float) -> "DisplayCarbon":
        """Build it from a reading. It is shown for its own interval, and for another one if no newer arrives."""
        valid_until = at + 2 * (field.interval_ms or HALF_HOUR_MS)
        return cls(intensity, from_ms(at), from_ms(valid_until), find_index(intensity))


def find_index(intensity: float) -> CarbonIndex:
    """Return the index of a carbon intensity in gCO2/kWh."""
    return next((index for limit, index in INDEX_LIMITS if intensity < limit), CarbonIndex.VERY_HIGH)
