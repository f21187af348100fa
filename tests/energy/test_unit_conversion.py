"""Conversion of metered energy between Wh, kWh and volumes of gas."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.energy.meters.unit_conversion import GasProperties, UnitError, unit_converter

GAS = "gas.consumption"


def convert(value: str, unit: str, target: str, classifier: str = GAS, decimals: int = 3) -> Decimal:
    converter = unit_converter(unit, target, classifier=classifier, decimals=decimals, gas=GasProperties())
    return converter(Decimal(value))


@pytest.mark.parametrize(
    ("value", "unit", "target", "result"),
    [
        ("1", "kWh", "Wh", "1000"),
        ("123.4567", "Wh", "kWh", "0.1234567"),
        ("-5", "wh", "KWH", "-0.005"),
        ("5.5", "m3", "m³", "5.5"),
        ("5.5", "W", "W", "5.5"),
        ("1", "m3", "kWh", "11.221"),  # 1.02264 * 39.5 / 3.6 = 11.220633...
        ("1", "m3", "Wh", "11220.633"),
        ("11.220633333333333333", "kWh", "m3", "1.000"),
        ("0", "m3", "kWh", "0.000"),
    ],
)
def test_values_are_converted(value: str, unit: str, target: str, result: str) -> None:
    assert convert(value, unit, target) == Decimal(result)


def test_half_is_rounded_to_even() -> None:
    gas = GasProperties(Decimal("36"), Decimal(1))  # 1 m3 has 10 kWh
    to_kwh = unit_converter("m3", "kWh", classifier=GAS, decimals=0, gas=gas)
    assert [to_kwh(Decimal(value)) for value in ("0.05", "0.15", "0.25", "0.35")] == [0, 2, 2, 4]


@pytest.mark.parametrize(
    ("unit", "target", "classifier", "reason"),
    [
        ("m3", "kWh", "electricity.consumption", "only gas has a volume, and this is electricity.consumption"),
        ("kWh", "m3", "gasoline.consumption", "only gas has a volume, and this is gasoline.consumption"),
        ("kWh", "W", "electricity.consumption", "kWh cannot be converted to W, the unit of the field"),
        ("m3", "pence", "gas.consumption.cost", "m3 cannot be converted to pence, the unit of the field"),
    ],
)
def test_other_conversions_are_refused(unit: str, target: str, classifier: str, reason: str) -> None:
    with pytest.raises(UnitError, match=reason):
        convert("1", unit, target, classifier)


@given(st.decimals(min_value=0, max_value=10**6, places=3), st.decimals(min_value=10, max_value=150, places=2))
def test_volume_has_the_energy_of_its_fraction(volume: Decimal, calorific_value: Decimal) -> None:
    gas = GasProperties(calorific_value)
    energy = unit_converter("m3", "kWh", classifier=GAS, decimals=5, gas=gas)(volume)
    exact = volume * calorific_value * gas.volume_correction / Decimal("3.6")
    assert abs(energy - exact) <= Decimal("0.0000051")
    assert energy.as_tuple().exponent == -5
