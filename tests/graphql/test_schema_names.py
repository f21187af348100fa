"""Names and descriptions of the schema: one name for one thing, sentences in order."""

from collections.abc import Iterator
from typing import Any

from graphql import GraphQLEnumType, GraphQLObjectType

from tests.support.gateway_schema import SCHEMA

OTHER_NAMES = {"veId": "homeId", "veTypeId": "homeTypeId", "mpxn": "meterPointNumber", "zone": "timeZone"}
"""Names that would be second names of others."""


def _descriptions() -> Iterator[tuple[str, str]]:
    for type_ in SCHEMA.type_map.values():
        if type_.name.startswith("__"):
            continue
        yield type_.name, type_.description or ""
        members: Any = type_.values if isinstance(type_, GraphQLEnumType) else getattr(type_, "fields", {})
        for name, member in members.items():
            yield f"{type_.name}.{name}", member.description or ""
            for argument_name, argument in getattr(member, "args", {}).items():
                yield f"{type_.name}.{name}({argument_name}:)", argument.description or ""


def test_descriptions_are_sentences() -> None:
    """Each begins with a capital letter, or with a name in backquotes, and ends with a full stop."""
    wrong = {name: text for name, text in _descriptions() if text[:1].islower() or not text.endswith(".")}
    assert wrong == {}


def test_each_thing_has_one_name() -> None:
    second_names = [
        f"{type_.name}.{name}({argument_name}:)"
        for type_ in SCHEMA.type_map.values()
        if isinstance(type_, GraphQLObjectType)
        for name, field in type_.fields.items()
        for argument_name, argument in field.args.items()
        if argument_name in OTHER_NAMES
    ]
    assert second_names == []
