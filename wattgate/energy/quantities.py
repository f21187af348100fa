"""Amounts of money, rates, energy and power, each with its unit, and the stored unit of money. No I/O.

Money is stored and computed in hundredths of the currency: pence. It leaves the domain in the major unit: pounds.
"""

from collections.abc import Mapping
from decimal import Context, Decimal
from types import MappingProxyType

import msgspec

from wattgate.enums import EnergyUnit, PowerUnit, RateUnit

CURRENCY = "GBP"
"""The only currency of stored tariffs, costs and rewards."""

CURRENCIES = (CURRENCY,)
"""The currencies in which callers may state amounts."""

MINOR_DECIMALS = 2
"""Decimal places of the major unit in one stored unit: a penny is 10^-2 pounds."""

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
    currency: str = CURRENCY


class Rate(msgspec.Struct, frozen=True, gc=False):
    """A price in the major unit of a currency, for one unit of energy or time."""

    amount: Decimal
    per: RateUnit
    currency: str = CURRENCY


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
    return None if code in CURRENCIES else f"{code} is not one of {', '.join(CURRENCIES)}"


def to_major(pence: Decimal) -> Decimal:
    """Return an amount of hundredths in the major unit, without rounding."""
    return _EXACT_CONTEXT.scaleb(pence, -MINOR_DECIMALS)


def to_minor(amount: Decimal) -> Decimal:
    """Return an amount of the major unit in hundredths, without rounding."""
    return _EXACT_CONTEXT.scaleb(amount, MINOR_DECIMALS)


def money_from_pence(pence: Decimal) -> Money:
    """Return an amount of hundredths as money. It keeps its decimal places."""
    return Money(to_major(pence))


def rate_from_pence(pence: Decimal, per: RateUnit) -> Rate:
    """Return the rate of an exact number of hundredths for a unit, without trailing zeros."""
    return Rate(strip_zeros(to_major(pence)), per)


def strip_zeros(number: Decimal) -> Decimal:
    """Return a number without trailing zeros."""
    return _EXACT_CONTEXT.normalize(number)


def energy_unit(text: str) -> EnergyUnit:
    """Return the unit of energy that a storage field names. Upper and lower case do not differ."""
    return _ENERGY_UNITS.get(text.lower(), EnergyUnit.OTHER)


def rate_unit(text: str) -> RateUnit:
    """Return the unit of the rates of energy in the unit that a storage field names."""
    return RateUnit[energy_unit(text).name]
