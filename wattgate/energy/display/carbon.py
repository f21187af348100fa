"""Carbon intensity of a home's electricity, and its index. No I/O. Instants are milliseconds since 1970 (UTC)."""

from dataclasses import dataclass
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
    """The carbon intensity of electricity in the span that begins at `at`."""

    intensity: float
    at: datetime
    index: CarbonIndex
    unit: str = CARBON_UNIT


@dataclass(frozen=True, slots=True)
class CarbonReading:
    """The newest carbon intensity of a home, and the instant from which it is too old to be shown."""

    content: DisplayCarbon
    valid_until: int

    @classmethod
    def build(cls, field: ReadingField, at: int, value: int) -> "CarbonReading":
        """Build it from a stored value. It is shown for its own interval, and for another one if no newer arrives."""
        intensity = field.from_stored(value)
        content = DisplayCarbon(intensity, from_ms(at), find_index(intensity))
        return cls(content, at + 2 * (field.interval_ms or HALF_HOUR_MS))

    def content_at(self, now: int) -> DisplayCarbon | None:
        """Return the content at an instant; None if it is too old."""
        return self.content if now < self.valid_until else None


def find_index(intensity: float) -> CarbonIndex:
    """Return the index of a carbon intensity in gCO2/kWh."""
    return next((index for limit, index in INDEX_LIMITS if intensity < limit), CarbonIndex.VERY_HIGH)
