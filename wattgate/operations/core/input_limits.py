"""The check of the texts, lists and JSON values in arguments that `Runner` makes for every interface.

The declaration of an argument or input field states its maximum: see `values.annotations`. A test fails for a text
without a bound.
"""

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from datetime import tzinfo
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import strawberry
from sqlalchemy import JSON
from strawberry.types import get_object_definition

from wattgate.db.column_types import StructColumn
from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.energy.quantities import currency_problem
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Problem, ProblemPath
from wattgate.operations.core.operation import Call, Operation
from wattgate.operations.vocabulary.decoded_readings import DecodedReadings
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.operations.vocabulary.scalars import Json, UnknownTimeZone
from wattgate.operations.vocabulary.strawberry_adapter import rest_name_of
from wattgate.values.annotations import Facts, facts_of
from wattgate.values.stored_json import UnstorableJson, check_json, is_storable_text

MAX_ID_CHARACTERS = 200
"""Maximum characters of an ID. IDs that the gateway assigns have 36."""

MAX_LIST_ITEMS = 1_000
"""Maximum items of a list without MaxItems."""

Check = Callable[[Any, ProblemPath, list[Problem]], None]
"""Append the problems of a value at a path."""


def list_limit(facts: Facts) -> int:
    """Return the maximum items of a list argument or input field."""
    return MAX_LIST_ITEMS if facts.max_items is None else facts.max_items


def describe_limits(facts: Facts, *, is_text: bool, is_list: bool) -> str:
    """Return the sentences about the bounds of an argument for its description, or an empty text."""
    characters = facts.max_characters if is_text else None
    sentences = [f"At most {list_limit(facts):,} items."] if is_list else []
    if characters is not None:
        sentences.append(f"{'Each has at' if is_list else 'At'} most {characters:,} characters.")
    return " ".join(sentences)


def check_arguments(operation: Operation, arguments: Mapping[str, Any]) -> None:
    """Raise BadInput if an argument of an operation exceeds a bound, with each problem."""
    _run_checks(_operation_checks(operation), arguments)


def check_edge_arguments(edge: EdgeField, arguments: Mapping[str, Any]) -> None:
    """Raise BadInput if an argument of an edge exceeds a bound, with each problem."""
    if arguments:
        _run_checks(_edge_checks(edge), arguments)


def _run_checks(checks: Mapping[str, tuple[str, Check]], arguments: Mapping[str, Any]) -> None:
    problems: list[Problem] = []
    for name, (rest_name, check) in checks.items():
        value = arguments.get(name)
        if value is not None:
            check(value, (rest_name,), problems)
    if problems:
        raise BadInput("An argument exceeds its bounds. See `problems`.", problems=problems)


@cache
def _operation_checks(operation: Operation) -> Mapping[str, tuple[str, Check]]:
    return _checks_of({name: argument.annotation for name, argument in operation.arguments.items()})


@cache
def _edge_checks(edge: EdgeField) -> Mapping[str, tuple[str, Check]]:
    return _checks_of(get_type_hints(edge.load, include_extras=True))


def _checks_of(hints: Mapping[str, Any]) -> Mapping[str, tuple[str, Check]]:
    return {
        name: (to_camel_case(name), check)
        for name, hint in hints.items()
        if (check := _check_of(hint, facts_of(hint))) is not None
    }


def _check_of(hint: Any, facts: Facts) -> Check | None:
    """Return the check of a value of this type, or None if it needs none. `facts` are those of the whole annotation."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _check_of(parts[0], facts)
    if origin in (Union, types.UnionType):
        checks = [_check_of(part, facts) for part in parts if part is not types.NoneType]
        return next((check for check in checks if check is not None), None)
    if origin is list:
        return _list_check(list_limit(facts), _check_of(parts[0], facts))
    if hint is Json:
        return _check_json_value
    if hint is tzinfo:
        return _check_time_zone
    if hint is strawberry.ID:
        return _text_check(MAX_ID_CHARACTERS)
    if hint is str:
        return None if facts.max_characters is None else _text_check(facts.max_characters)
    definition = get_object_definition(hint)
    return _object_check(hint, definition) if definition is not None and definition.is_input else None


def _text_check(maximum: int) -> Check:
    def check(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
        if not isinstance(value, str):
            return
        if len(value) > maximum:
            problems.append(Problem(path, f"has {len(value):,} characters; the maximum is {maximum:,}"))
        elif not is_storable_text(value):
            problems.append(Problem(path, "has U+0000 or half of a surrogate pair, which cannot be stored"))

    return check


def _list_check(maximum: int, item_check: Check | None) -> Check:
    def check(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
        if not isinstance(value, list | tuple | DecodedReadings):
            return
        if len(value) > maximum:
            problems.append(Problem(path, f"has {len(value):,} items; the maximum is {maximum:,}"))
        elif item_check is not None:
            for index, item in enumerate(value):
                item_check(item, (*path, index), problems)

    return check


def _object_check(input_type: Any, definition: Any) -> Check | None:
    hints = get_type_hints(input_type, include_extras=True)
    fields = []
    for field in definition.fields:
        rest_name = rest_name_of(field)
        hint = hints[field.python_name]
        if (check := _check_of(hint, facts_of(hint))) is not None:
            fields.append((field.python_name, rest_name, check))
    if not fields:
        return None

    def check_object(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
        for attribute, name, check in fields:
            check(getattr(value, attribute, None), (*path, name), problems)

    return check_object


def _check_time_zone(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
    if isinstance(value, UnknownTimeZone):
        problem = f"{value.name!r} is not an IANA time zone"
        raise BadInput(problem, problems=[Problem(path, problem)])


def _check_json_value(value: Any, path: ProblemPath, problems: list[Problem]) -> None:
    if value is strawberry.UNSET:
        return
    try:
        check_json(value)
    except UnstorableJson as error:
        problems.append(Problem(path, str(error)))


def check_currency(code: str, path: ProblemPath) -> None:
    """Raise BadInput if the gateway has no amounts in a currency."""
    if problem := currency_problem(code):
        raise BadInput(f"Unknown currency {code!r}. Use a code such as GBP or EUR.", problems=[Problem(path, problem)])


# Conversion of input objects to records.

M = TypeVar("M", bound=Tenanted)


def to_column_values(input: Any, model: type[Tenanted], *, exclude: Collection[str] = ()) -> dict[str, Any]:
    """Return the column values that an input object sets, as the model stores them. Omitted members are left out.

    Raise BadInput if null is sent for a column that must have a value.
    """
    columns = model_columns(model)
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name in inspect.get_annotations(type(input)):
        value = getattr(input, name)
        if value is strawberry.UNSET or name in exclude:
            continue
        column_type = columns[name].type
        if value is None and not columns[name].nullable and not _accepts_json_null(model, name):
            problems.append(Problem(("input", to_camel_case(name)), "must not be null"))
        elif value is not None and isinstance(column_type, StructColumn):
            value = msgspec.convert(value, column_type.value_type, from_attributes=True)
        values[name] = value
    if problems:
        raise BadInput("a required value is null", problems=problems)
    return values


async def check_references(call: Call, model: type[Tenanted], values: Mapping[str, Any]) -> None:
    """Raise BadInput if an id refers to a record that does not exist or that the caller may not see."""
    problems = []
    for name, value in values.items():
        referenced_model = _referenced_model(model, name)
        if (
            referenced_model is not None
            and value is not None
            and not await call.rows.get_many(referenced_model, [value])
        ):
            problems.append(Problem(("input", to_camel_case(name)), f"{value} does not exist"))
    if problems:
        raise BadInput("the record refers to records that do not exist", problems=problems)


def _referenced_model(model: type[Tenanted], name: str) -> type[Tenanted] | None:
    """Return the model that a column refers to by its key, or None."""
    for key in model_columns(model)[name].foreign_keys:
        for kind in Tenanted.__subclasses__():
            if key.column is model_columns(kind)[kind.key]:
                return kind
    return None


def apply_input(record: M, input: Any, *, exclude: Collection[str] = ()) -> M:
    """Set the values of an input object on a record, except for the members to exclude."""
    for name, value in to_column_values(input, type(record), exclude=exclude).items():
        setattr(record, name, value)
    return record


def _accepts_json_null(model: type[Tenanted], name: str) -> bool:
    """Return whether a column holds any JSON value, so that null is one. A list or an object is never null."""
    return isinstance(model_columns(model)[name].type, JSON) and model.model_fields[name].annotation is Any
