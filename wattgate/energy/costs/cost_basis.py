"""The basis of computed costs: their tariffs, and why a cost is unknown. No I/O."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from wattgate.clock import to_ms
from wattgate.energy.costs.tariffs import TariffTerms
from wattgate.enums import NoValueReason, TariffKind


@dataclass(frozen=True, slots=True)
class CostBasis:
    """The tariffs that price the energy of a resource. Each applies from one of `starts` (ms) until the next one."""

    starts: Sequence[int]
    kinds: Sequence[TariffKind]

    @classmethod
    def from_tariffs(cls, tariffs: Sequence[TariffTerms]) -> "CostBasis":
        """Build the basis from tariffs that are ordered by their start."""
        return cls([to_ms(tariff.valid_from) for tariff in tariffs], [tariff.kind for tariff in tariffs])

    def no_value_reason(self, start: int, stop: int, *, has_readings: bool) -> NoValueReason:
        """Return why the energy in [start, stop) has no cost. `has_readings` says whether some energy is stored."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        kinds = self.kinds[first : bisect_left(self.starts, stop)]
        if not kinds:
            return NoValueReason.NO_TARIFF
        if not has_readings:
            return NoValueReason.NO_READINGS
        return NoValueReason.NO_PRICE if TariffKind.DYNAMIC in kinds else NoValueReason.NO_TARIFF
