"""The functions that combine the readings of a field, by the kind of quantity that the field measures. No I/O.

Energy, volumes and costs of intervals add up. Power and rates do not: they have a mean. The values of a cumulative
register have neither a sum nor a mean with a meaning: the register has a last value, and a difference.
"""

from wattgate.energy.meters.meter_messages import REGISTER_FIELDS
from wattgate.energy.storage_fields import POWER_FIELD, ReadingField
from wattgate.enums import Function

_WITHOUT_SUM = frozenset(Function) - {Function.SUM, Function.DIFFERENCE}
_OF_REGISTERS = frozenset(Function) - {Function.SUM, Function.AVG}
_OF_AMOUNTS = frozenset(Function) - {Function.DIFFERENCE}


def is_register(field: ReadingField) -> bool:
    """Return whether a field has the values of a cumulative register."""
    return field.name in REGISTER_FIELDS


def is_power(field: ReadingField) -> bool:
    """Return whether a field has power."""
    return field.name == POWER_FIELD or field.unit.casefold() in {"w", "kw"}


def default_function(field: ReadingField) -> Function:
    """Return the function of a field if a request names none."""
    if is_register(field):
        return Function.LAST
    return Function.AVG if is_power(field) else Function.SUM


def function_problem(field: ReadingField, function: Function) -> str | None:
    """Return why a function has no meaning for a field, and which ones have; None if it has one."""
    kind, allowed = "amounts of intervals", _OF_AMOUNTS
    if is_register(field):
        kind, allowed = "values of a cumulative register: use DIFFERENCE for the energy of a bucket", _OF_REGISTERS
    elif is_power(field):
        kind, allowed = "power: use AVG for its mean", _WITHOUT_SUM
    if function in allowed:
        return None
    names = ", ".join(one.name for one in Function if one in allowed)
    return f"{field.name} has {kind}. {function.name} is not one of its functions: {names}"
