"""Convert metered energy between units, and volumes of gas to energy with a calorific value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from types import MappingProxyType

DEFAULT_CALORIFIC_VALUE = Decimal("39.5")
"""Energy of gas in MJ/m3. The values on bills in Great Britain are between 37.5 and 43."""

DEFAULT_VOLUME_CORRECTION = Decimal("1.02264")
"""Factor from a metered volume to the volume at standard temperature and pressure, as on bills in Great Britain."""

_MJ_PER_KWH = Decimal("3.6")
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)
"""More digits than the product of two accepted numbers has, so that only the last step of a conversion rounds."""

_SPELLINGS: Mapping[str, str] = MappingProxyType({"wh": "Wh", "kwh": "kWh", "mwh": "MWh", "m3": "m3", "m³": "m3"})
_WH_PER_UNIT: Mapping[str, Decimal] = MappingProxyType(
    {"Wh": Decimal(1), "kWh": Decimal(1000), "MWh": Decimal(1_000_000)}
)
_GAS_CLASSIFIER = "gas"


class UnitError(ValueError):
    """A unit cannot be converted to another one; the message says why."""


@dataclass(frozen=True, slots=True)
class GasProperties:
    """How much energy a volume of gas has: its calorific value in MJ/m3, and the factor that corrects the volume."""

    calorific_value: Decimal = DEFAULT_CALORIFIC_VALUE
    volume_correction: Decimal = DEFAULT_VOLUME_CORRECTION


def unit_converter(
    unit: str, target_unit: str, *, classifier: str, decimals: int, gas: GasProperties
) -> Callable[[Decimal], Decimal]:
    """Return a function that converts values of a unit to the unit of a field. Raise UnitError if that is impossible.

    Conversions between Wh, kWh and MWh are exact. Energy of a volume is rounded to `decimals`, half to even,
    because it has no end as a decimal number. `classifier` is that of the resource: only gas has a volume.
    """
    source, target = _SPELLINGS.get(unit.lower()), _SPELLINGS.get(target_unit.lower())
    if source is None or target is None:
        if unit == target_unit:
            return lambda value: value
        raise UnitError(f"{unit} cannot be converted to {target_unit}, the unit of the field")
    if source == target:
        return lambda value: value
    if "m3" not in (source, target):
        factor = _CONTEXT.divide(_WH_PER_UNIT[source], _WH_PER_UNIT[target])
        return lambda value: _CONTEXT.multiply(value, factor)
    if not _is_gas(classifier):
        raise UnitError(f"{unit} cannot be converted to {target_unit}: only gas has a volume, and this is {classifier}")
    return _volume_converter(source, target, decimals, gas)


def _volume_converter(source: str, target: str, decimals: int, gas: GasProperties) -> Callable[[Decimal], Decimal]:
    """Return the conversion between m3 and energy, with one division at the end."""
    energy_unit = target if source == "m3" else source
    megajoules_per_m3 = _CONTEXT.multiply(gas.calorific_value, gas.volume_correction)
    megajoules_per_unit = _CONTEXT.multiply(_MJ_PER_KWH, _CONTEXT.divide(_WH_PER_UNIT[energy_unit], Decimal(1000)))
    multiply_by, divide_by = (
        (megajoules_per_m3, megajoules_per_unit) if source == "m3" else (megajoules_per_unit, megajoules_per_m3)
    )
    last_place = Decimal(1).scaleb(-decimals)

    def convert(value: Decimal) -> Decimal:
        return _CONTEXT.divide(_CONTEXT.multiply(value, multiply_by), divide_by).quantize(last_place, context=_CONTEXT)

    return convert


def round_half_even(value: Decimal, decimals: int) -> Decimal:
    """Return a computed value with the decimal places of its field."""
    return value.quantize(Decimal(1).scaleb(-decimals), context=_CONTEXT)


def _is_gas(classifier: str) -> bool:
    return classifier.split(".")[0] == _GAS_CLASSIFIER
