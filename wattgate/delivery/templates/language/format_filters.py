"""Filters that write numbers and times by the culture and the time zone of a message."""

from collections.abc import Callable, Mapping

from wattgate.delivery.templates.language.contract import VariableType
from wattgate.delivery.templates.language.contract_values import DeclaredFloat, DeclaredInteger, DeclaredValue
from wattgate.delivery.templates.language.formatting import FormatError, Formats

FormatFilter = Callable[..., str | None]
"""A function of the formats of a message, the value, and the arguments of the filter."""


def unit_of(value: object, kind: VariableType) -> str | None:
    """Return the declared unit of a value of this type. Raise FormatError if the value has another type of number."""
    if not isinstance(value, DeclaredInteger | DeclaredFloat):
        return None
    variable = value.variable
    if variable.type not in (kind, VariableType.NUMBER):
        raise FormatError(f"takes {kind.lower()}, and {variable.name} is declared as {variable.type.name}")
    return variable.unit if variable.type is kind else None


def kwh(formats: Formats, value: object) -> str:
    """Write energy in kWh with two decimal places."""
    return formats.energy(value, unit_of(value, VariableType.ENERGY))


def power(formats: Formats, value: object) -> str:
    """Write power in W, or from 10 kW on in kW."""
    return formats.power(value, unit_of(value, VariableType.POWER))


def money(formats: Formats, value: object, currency: object = None) -> str:
    """Write an amount with the decimal places of its currency: of the argument, or of the declared variable."""
    declared = unit_of(value, VariableType.MONEY)
    if currency is not None and not isinstance(currency, str):
        raise FormatError('takes a currency as text, such as money: "GBP"')
    if declared is not None and currency not in (None, declared):
        raise FormatError(f"cannot write {declared} as {currency[:20]!r}; amounts are not converted")
    return formats.money(value, currency or declared)


def percent(formats: Formats, value: object) -> str:
    """Write a percentage with at most one decimal place."""
    unit_of(value, VariableType.PERCENTAGE)
    return formats.percentage(value)


def quantity(formats: Formats, value: object, unit: object = None) -> str:
    """Write a number with a unit: of the argument, or of the declared variable."""
    if unit is None and isinstance(value, DeclaredInteger | DeclaredFloat):
        unit = value.variable.unit
    if not isinstance(unit, str):
        raise FormatError("needs a unit, such as quantity: unit")
    return formats.quantity(value, unit[:20])


def at(formats: Formats, value: object, style: object = "long") -> str:
    """Write an instant in the time zone of the home."""
    return formats.time(value, style if isinstance(style, str) else str(style))


FORMAT_FILTERS: Mapping[str, FormatFilter] = {
    "at": at,
    "kwh": kwh,
    "money": money,
    "percent": percent,
    "power": power,
    "quantity": quantity,
}
"""Filters that format by culture and time zone. They write nothing for an empty value."""


def format_declared(value: DeclaredValue, formats: Formats) -> str:
    """Return a value of a declared variable as text, by its type and without its unit."""
    variable = value.variable
    try:
        match variable.type:
            case VariableType.INSTANT:
                return formats.time(str(value))
            case VariableType.DATE:
                return formats.day(value)
            case VariableType.ENERGY:
                return formats.fixed(value)
            case VariableType.MONEY:
                return formats.fixed(value, formats.currency_decimals(variable.unit))
            case VariableType.POWER:
                return formats.number(value, 0 if variable.unit == "W" else 2)
            case VariableType.PERCENTAGE:
                return formats.number(value, 1)
            case VariableType.NUMBER:
                return formats.number(value)
    except FormatError:  # a calculation has left the range of numbers
        pass
    return str(value)
