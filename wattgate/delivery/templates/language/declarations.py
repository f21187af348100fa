"""Checks of the variables that an application declares for an alert type."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from wattgate.delivery.templates.language.contract import RESERVED_NAMES, VariableDeclaration, VariableType, name_path
from wattgate.delivery.templates.language.contract_values import ANY_ITEM, expected_value, fits_type
from wattgate.delivery.templates.language.formatting import ENERGY_UNITS, POWER_UNITS, known_currencies
from wattgate.values.stored_json import JsonLimits, UnstorableJson, check_json

MAX_VARIABLES = 100
"""Maximum variables that an alert type declares."""

MAX_NAME_LENGTH = 100
MAX_NAME_PARTS = 5
MAX_UNIT_LENGTH = 20

SAMPLE_LIMITS = JsonLimits(depth=8, values=200, key_characters=100, text_characters=2_000, characters=8_000)
"""The bounds of the sample of a variable."""

LANGUAGE_NAMES = frozenset(("now", "today", "forloop", "true", "false", "nil", "null", "empty", "blank"))
"""Names to which the template language gives a meaning of its own."""

LANGUAGE_PROPERTIES = frozenset(("size", "first", "last"))
"""Properties of every value in the template language."""

_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}(\[\])?")

_UNITS: Mapping[VariableType, tuple[str, ...]] = {
    VariableType.ENERGY: tuple(ENERGY_UNITS),
    VariableType.POWER: tuple(POWER_UNITS),
    VariableType.PERCENTAGE: ("%",),
}
_DEFAULT_UNITS: Mapping[VariableType, str] = {
    VariableType.ENERGY: "kWh",
    VariableType.POWER: "W",
    VariableType.PERCENTAGE: "%",
}


def with_default_units(variables: Sequence[VariableDeclaration]) -> list[VariableDeclaration]:
    """Return declarations with the units of energy (kWh), power (W) and percentages, where they have none."""
    return [
        msgspec.structs.replace(variable, unit=variable.unit or _DEFAULT_UNITS.get(variable.type))
        for variable in variables
    ]


def declaration_problems(variables: Sequence[VariableDeclaration]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the paths and messages of what is wrong with declarations. A path begins with an index."""
    if len(variables) > MAX_VARIABLES:
        yield (), f"has {len(variables)} variables; the maximum is {MAX_VARIABLES}"
        return
    paths: dict[tuple[str, ...], VariableDeclaration] = {}
    for index, variable in enumerate(variables):
        problem = _name_problem(variable.name)
        if problem is None and name_path(variable.name) in paths:
            problem = "is declared twice"
        if problem is not None:
            yield (index, "name"), f"{variable.name[:MAX_NAME_LENGTH]!r} {problem}"
            continue
        paths[name_path(variable.name)] = variable
        if unit_problem := _unit_problem(variable):
            yield (index, "unit"), unit_problem
        if sample_problem := _sample_problem(variable):
            yield (index, "sample"), sample_problem
    yield from _structure_problems(variables, paths)


def _name_problem(name: str) -> str | None:
    parts = name.split(".")
    if len(name) > MAX_NAME_LENGTH or len(parts) > MAX_NAME_PARTS:
        return f"is longer than {MAX_NAME_LENGTH} characters or {MAX_NAME_PARTS} parts"
    if not all(_PART.fullmatch(part) for part in parts):
        return "is not a name of letters, digits and underscores, such as usage.today or days[].use"
    first, *others = (part.removesuffix(ANY_ITEM) for part in parts)
    if first in LANGUAGE_NAMES or not LANGUAGE_PROPERTIES.isdisjoint((first, *others)):
        return "has a meaning in the template language; use another name"
    if first in RESERVED_NAMES:
        return f"begins with {parts[0]}, which every alert has already"
    return None


def _unit_problem(variable: VariableDeclaration) -> str | None:
    unit = variable.unit
    if variable.type is VariableType.MONEY:
        if unit is None:
            return "is missing; give the currency, such as GBP"
        return None if unit in known_currencies() else f"{unit[:20]!r} is not a currency such as GBP"
    allowed = _UNITS.get(variable.type)
    if allowed is not None:
        return None if unit is None or unit in allowed else f"{unit[:20]!r} is not one of {', '.join(allowed)}"
    if variable.type is VariableType.NUMBER:
        return f"is longer than {MAX_UNIT_LENGTH} characters" if len(unit or "") > MAX_UNIT_LENGTH else None
    return None if unit is None else f"must be null for a variable of type {variable.type.name}"


def _sample_problem(variable: VariableDeclaration) -> str | None:
    if variable.sample is None:
        return None
    try:
        check_json(variable.sample, SAMPLE_LIMITS)
    except UnstorableJson as error:
        return str(error)
    return None if fits_type(variable.sample, variable) else f"is not {expected_value(variable)}"


def _structure_problems(
    variables: Sequence[VariableDeclaration], paths: Mapping[tuple[str, ...], VariableDeclaration]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield variables that are part of another variable that is not a list."""
    for index, variable in enumerate(variables):
        path = name_path(variable.name)
        for length in range(1, len(path)):
            outer, is_item = paths.get(path[:length]), path[length] == ANY_ITEM
            is_list = outer is not None and outer.type is VariableType.LIST
            if is_item and not is_list:
                name = ".".join(path[:length]).replace(f".{ANY_ITEM}", ANY_ITEM)
                yield (index, "name"), f"{variable.name!r} needs a variable {name} of type LIST"
                break
            if outer is not None and not is_item:
                yield (
                    (index, "name"),
                    f"{variable.name!r} is part of {outer.name}, which has the type {outer.type.name}",
                )
                break
