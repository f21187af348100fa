"""Reasons why energy of a span has no cost."""

import pytest

from wattgate.energy.costs.tariffs import CostBasis
from wattgate.enums import NoValueReason, TariffKind

BASIS = CostBasis([100, 200, 300], [TariffKind.FLAT, TariffKind.DYNAMIC, TariffKind.FLAT])
"""A flat tariff from 100, a dynamic one from 200, and a flat one from 300."""


@pytest.mark.parametrize(
    ("start", "stop", "has_readings", "expected"),
    [
        (0, 100, True, NoValueReason.NO_TARIFF),  # the first tariff begins at the end of the span
        (0, 100, False, NoValueReason.NO_TARIFF),
        (0, 101, False, NoValueReason.NO_READINGS),
        (0, 101, True, NoValueReason.NO_TARIFF),  # a flat tariff has a price, so the readings are before it
        (100, 200, False, NoValueReason.NO_READINGS),
        (200, 300, True, NoValueReason.NO_PRICE),
        (150, 250, True, NoValueReason.NO_PRICE),
        (250, 400, True, NoValueReason.NO_PRICE),
        (300, 400, True, NoValueReason.NO_TARIFF),
        (300, 400, False, NoValueReason.NO_READINGS),
        (500, 600, False, NoValueReason.NO_READINGS),  # the last tariff has no end
    ],
)
def test_reason_depends_on_the_tariffs_in_force_and_the_readings(
    start: int, stop: int, has_readings: bool, expected: NoValueReason
) -> None:
    assert BASIS.no_value_reason(start, stop, has_readings=has_readings) is expected


def test_energy_without_any_tariff_has_no_tariff() -> None:
    for has_readings in (True, False):
        reason = CostBasis.from_tariffs([]).no_value_reason(0, 100, has_readings=has_readings)
        assert reason is NoValueReason.NO_TARIFF
