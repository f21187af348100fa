"""Amounts of money, rates, energy and power, each with its unit, and the stored unit of money. No I/O.

Money is stored and computed in hundredths of the currency, such as pence and cents. It leaves the domain in the major
unit, such as pounds and euros. An amount is rounded to the minor unit of its currency, which may be another one: the
yen has none, and the Kuwaiti dinar has thousandths.
"""

from collections.abc import Mapping
from decimal import Context, Decimal
from functools import lru_cache
from types import MappingProxyType

import iso4217
import msgspec

from wattgate.enums import EnergyUnit, PowerUnit, RateUnit

REWARD_CURRENCY = "GBP"
"""The currency of the rewards of flexibility events, which only Great Britain has."""

STORED_DECIMALS = 2
"""Decimal places of the major unit in one stored unit, whatever the currency: a hundredth."""

_EXACT_CONTEXT = Context(prec=100)
"""More digits than any accepted number has, so that no conversion rounds."""

_ENERGY_UNITS: Mapping[str, EnergyUnit] = MappingProxyType(
    {
        "wh": EnergyUnit.WATT_HOUR,
        "kwh": EnergyUnit.KILOWATT_HOUR,
        "mwh": EnergyUnit.MEGAWATT_HOUR,
        "m3": EnergyUnit.CUBIC_METRE,
        "m³": EnergyUnit.CUBIC_METRE,
    }
)


class Money(msgspec.Struct, frozen=True, gc=False):
    """An amount in the major unit of a currency."""

    amount: Decimal
    currency: str


class Rate(msgspec.Struct, frozen=True, gc=False):
    """A price in the major unit of a currency, for one unit of energy or time."""

    amount: Decimal
    per: RateUnit
    currency: str


class Energy(msgspec.Struct, frozen=True, gc=False):
    """An amount of energy, or of the gas that has it."""

    value: Decimal
    unit: EnergyUnit


class Power(msgspec.Struct, frozen=True, gc=False):
    """A power."""

    value: float
    unit: PowerUnit = PowerUnit.WATT


def currency_problem(code: str) -> str | None:
    """Return why amounts in a currency are refused, or None. GraphQL, REST and commands ask this function."""
    return None if minor_unit_decimals(code) is not None else f"{code} is not a currency of ISO 4217 in circulation"


@lru_cache(maxsize=256)
def minor_unit_decimals(code: str) -> int | None:
    """Return the decimal places of a currency's minor unit, by ISO 4217. None if the code is not such a currency.

    Codes without a minor unit, such as gold (XAU), are no currencies of prices.
    """
    try:
        return iso4217.Currency(code).exponent
    except ValueError:
        return None


def decimals_of(code: str) -> int:
    """Return the decimal places of the minor unit of a currency in which a stored tariff is."""
    decimals = minor_unit_decimals(code)
    assert decimals is not None
    return decimals


def to_major(hundredths: Decimal) -> Decimal:
    """Return an amount of hundredths in the major unit, without rounding."""
    return _EXACT_CONTEXT.scaleb(hundredths, -STORED_DECIMALS)


def to_hundredths(amount: Decimal) -> Decimal:
    """Return an amount of the major unit in hundredths, without rounding."""
    return _EXACT_CONTEXT.scaleb(amount, STORED_DECIMALS)


def money_of_minor_units(units: int, currency: str) -> Money:
    """Return a number of minor units as money, with the decimal places of the currency."""
    return Money(_EXACT_CONTEXT.scaleb(Decimal(units), -decimals_of(currency)), currency)


def rate_of_hundredths(hundredths: Decimal, per: RateUnit, currency: str) -> Rate:
    """Return the rate of an exact number of hundredths for a unit, without trailing zeros."""
    return Rate(strip_zeros(to_major(hundredths)), per, currency)


PENCE = "pence"
"""The unit of costs in pounds, which SPEC.md names."""


def cost_unit(currency: str) -> str:
    """Return the unit in which a resource stores costs of a currency: pence for pounds, else the currency itself."""
    return PENCE if currency == "GBP" else currency


def in_cost_unit(amount: Decimal, currency: str) -> Decimal:
    """Return an amount of the major unit in the unit of costs of its currency."""
    return to_hundredths(amount) if cost_unit(currency) == PENCE else amount


def strip_zeros(number: Decimal) -> Decimal:
    """Return a number without trailing zeros."""
    return _EXACT_CONTEXT.normalize(number)


def energy_unit(text: str) -> EnergyUnit:
    """Return the unit of energy that a storage field names. Upper and lower case do not differ."""
    return _ENERGY_UNITS.get(text.lower(), EnergyUnit.OTHER)


def kwh_exponent(unit: str) -> int | None:
    """Return the power of ten by which amounts in a unit become kWh. None for gas and other units."""
    return _KWH_EXPONENTS.get(energy_unit(unit))


_KWH_EXPONENTS: Mapping[EnergyUnit, int] = MappingProxyType(
    {EnergyUnit.WATT_HOUR: -3, EnergyUnit.KILOWATT_HOUR: 0, EnergyUnit.MEGAWATT_HOUR: 3}
)


def rate_unit(text: str) -> RateUnit:
    """Return the unit of the rates of energy in the unit that a storage field names."""
    return RateUnit[energy_unit(text).name]
