"""Names and descriptions of the schema: one name for one thing, old names still answer, sentences in order."""

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import GraphQLEnumType, GraphQLObjectType, is_required_argument

from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from tests.support.socket import socket
from wattgate.graphql.catalogue import OPERATIONS

RENAMED = {operation.name: operation for operation in OPERATIONS if operation.renamed_arguments}
OTHER_NAMES = {"virtualEntityId": "veId", "veTypesId": "veTypeId", "meterPointNumber": "mpxn", "zone": "timeZone"}
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
        if argument_name in OTHER_NAMES and not argument.deprecation_reason
    ]
    assert second_names == []


def test_an_old_name_is_deprecated_in_favour_of_the_new_one() -> None:
    deprecated = {
        (name, argument_name): (argument.deprecation_reason, is_required_argument(argument))
        for root in (SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type)
        if root is not None
        for name, field in root.fields.items()
        for argument_name, argument in field.args.items()
        if argument.deprecation_reason
    }
    assert deprecated == {
        ("display", "virtualEntityId"): ("Use `veId`.", False),
        ("meterPointInventory", "meterPointNumber"): ("Use `mpxn`.", False),
        ("meterPointResources", "meterPointNumber"): ("Use `mpxn`.", False),
    }
    assert RENAMED.keys() == {"display", "meter_point_inventory", "meter_point_resources"}


async def test_display_takes_either_name_of_the_home_and_exactly_one(served: House) -> None:
    ve_id = served.one.ids["virtual_entity"]
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        for name in ("veId", "virtualEntityId"):
            await client.subscribe(f'subscription {{ display({name}: "{ve_id}") {{ at }} }}')
            assert (await client.payload())["data"]["display"]["at"]
            await client.complete()
        for arguments in ("", f'(veId: "{ve_id}", virtualEntityId: "{ve_id}")', "(veId: null)"):
            await client.subscribe(f"subscription {{ display{arguments} {{ at }} }}")
            error = await client.error()
            assert error["extensions"]["code"] == "BAD_INPUT"
            assert error["message"] == (
                "display needs exactly one of veId and virtualEntityId, which is deprecated. Send veId."
            )


@pytest.mark.parametrize("name", ["mpxn", "meterPointNumber"])
async def test_a_meter_point_has_one_name(served: House, name: str) -> None:
    query = f'{{ meterPointResources({name}: "1234567890123") {{ valid }} }}'
    answer = await served.graphql(query, served.one.headers["account"])
    assert answer["errors"][0]["message"] == "No resources at meter point 1234567890123."
