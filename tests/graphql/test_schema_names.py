"""Names and descriptions of the schema: one name for one thing, sentences in order."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphql import GraphQLEnumType, GraphQLObjectType

from tests.support.gateway_schema import SCHEMA
from wattgate.operations.catalogue import OPERATIONS
from wattgate.values import graphql_names

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


RULES = (Path(__file__).parents[2] / "docs" / "reference" / "schema-design.md").read_text()
SPECIFICATION_WORDS = re.compile(r"virtual.?entit|dfs|mpxn|mobileApp|(?:^|[a-z])ve(?:Type)?Id|^exp$", re.IGNORECASE)
"""Words of the interface specification that REST has."""


def _names() -> Iterator[str]:
    for type_ in SCHEMA.type_map.values():
        yield type_.name
        for name, field in ({} if isinstance(type_, GraphQLEnumType) else getattr(type_, "fields", {})).items():
            yield name
            yield from getattr(field, "args", {})


def test_no_name_has_a_word_of_the_specification() -> None:
    assert {name for name in _names() if SPECIFICATION_WORDS.search(name)} == set()
    assert {name for name, text in _descriptions() if re.search("irtual entit|mpxn|DFS enrol", text)} == set()


def test_the_glossary_has_no_name_without_use() -> None:
    names = set(_names())
    assert {*graphql_names.TYPES.values(), *graphql_names.NAMES.values()} <= names
    assert graphql_names.OPERATIONS.keys() <= {operation.name for operation in OPERATIONS} | {"dfs_events"}
    assert {key.rpartition(".")[0] for key in graphql_names.SCALARS if "." in key} <= names
    (page,) = re.findall(r"^### Glossary\n(.*?)^### ", RULES, re.MULTILINE | re.DOTALL)
    shown = {
        name for row in re.findall(r"^\|.*\| (.*) \|$", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert shown
    assert shown <= names


def test_mutations_have_the_verbs_of_the_table() -> None:
    assert SCHEMA.mutation_type is not None
    mutations = set(SCHEMA.mutation_type.fields)
    assert {name for name in mutations if re.match(r"(add|new|insert|edit|erase)[A-Z]", name)} == {
        "addResourceToHome",
        "eraseMyData",
    }
    assert {name for name in mutations if name.startswith("remove")} == {
        "removeHomeAttributes",
        "removeMemberFromHome",
        "removeResourceFromHome",
    }
    (page,) = re.findall(r"^### Verbs of mutations\n(.*?)^## ", RULES, re.MULTILINE | re.DOTALL)
    examples = {
        name for row in re.findall(r"^\|.*\| (.*) \|$", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert examples
    assert examples <= mutations
