"""The schemas of audiences: the fields that a role may use, as SDL, as files and by introspection."""

from functools import cache
from pathlib import Path
from typing import Any

from graphql import GraphQLSchema, build_schema, get_introspection_query, validate_schema

from tests.support.gateway_schema import GATEWAY_SCHEMA, SCHEMA, sdl
from tests.support.house import house
from wattgate.enums import Audience
from wattgate.graphql.execution.audience_schemas import audience_sdl, schema_for_role
from wattgate.graphql.execution.audience_tags import ROLES, needs_of
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.principal import GRANTS, Role


@cache
def sdl_of(audience: Audience) -> str:
    return audience_sdl(GATEWAY_SCHEMA, audience)


@cache
def schema_of(audience: Audience) -> GraphQLSchema:
    return build_schema(sdl_of(audience))


def fields_of(schema: GraphQLSchema, kind: str) -> set[str]:
    return set(getattr(schema.get_type(kind), "fields", ()))


def test_schema_of_an_audience_has_the_fields_that_its_role_may_use() -> None:
    differing = []
    for audience, role in ROLES.items():
        schema = schema_of(audience)
        assert validate_schema(schema) == []
        for kind in SCHEMA.type_map.values():
            if kind.name not in schema.type_map and kind.name not in ("Query", "Mutation", "Subscription"):
                continue
            for name, field in getattr(kind, "fields", {}).items():
                needs = needs_of(field.extensions.get(STRAWBERRY_DEFINITION))
                expected = needs is None or needs in GRANTS[role]
                if (name in fields_of(schema, kind.name)) is not expected:
                    differing.append(f"{audience.value}: {kind.name}.{name}")
    assert differing == []


def test_types_that_an_audience_cannot_reach_are_left_out() -> None:
    app, display, support = map(schema_of, (Audience.APP, Audience.DISPLAY, Audience.SUPPORT))
    assert "AuditEntry" in support.type_map
    assert not {"AuditEntry", "WebhookEndpoint", "NewDirectory"} & app.type_map.keys()
    assert {"Resource", "ReadingSeries"} <= display.type_map.keys()
    assert not {"Account", "Alert", "Device", "NewHome"} & display.type_map.keys()
    assert fields_of(display, "Mutation") == {"endOwnDisplay"}
    assert all("@tag" not in sdl_of(audience) for audience in Audience)


def test_tags_name_the_audiences_of_a_field() -> None:
    tagged = [line for line in sdl().splitlines() if "@tag(" in line]
    assert tagged
    (own_display,) = (line for line in tagged if line.startswith("  endOwnDisplay"))
    assert own_display.endswith('@tag(name: "display")')
    audit = next(line for line in tagged if line.startswith("  ): AuditEntryConnection"))
    assert audit.endswith('@tag(name: "support") @tag(name: "back-end")')


async def test_gateway_in_development_shows_callers_what_they_may_use(tmp_path: Path) -> None:
    query = get_introspection_query(descriptions=False)
    async with house(f"sqlite:///{tmp_path / 'gateway.sqlite3'}", environment="development") as gateway:

        async def type_names(headers: dict[str, str]) -> set[str]:
            answer: Any = await gateway.graphql(query, headers)
            return {kind["name"] for kind in answer["data"]["__schema"]["types"]}

        application = gateway.one.headers["application"]
        assert await type_names(gateway.one.headers["account"]) == schema_of(Audience.APP).type_map.keys()
        assert await type_names(application) == schema_of(Audience.BACK_END).type_map.keys()
        assert await type_names({}) == SCHEMA.type_map.keys()
        other: Any = await gateway.graphql('{ __type(name: "AuditEntry") { name } }', gateway.one.headers["account"])
        assert other["data"] == {"__type": None}
        log = "{ application { auditLog { edges { cursor } } } }"
        refused: Any = await gateway.graphql(log, gateway.one.headers["account"])
        assert [error["extensions"]["code"] for error in refused["errors"]] == ["FORBIDDEN"]

        for path, text in (
            ("/schema.graphql", sdl() + "\n"),
            *((f"/schema.{each.value}.graphql", sdl_of(each)) for each in Audience),
        ):
            answer = await gateway.http.get(path)
            assert (answer.status_code, answer.text) == (200, text), path
            kept = await gateway.http.get(path, headers={"if-none-match": answer.headers["etag"]})
            assert kept.status_code == 304, path
        assert (await gateway.http.get("/schema.nobody.graphql")).status_code == 404


async def test_gateway_in_production_has_no_files_of_the_schema(tmp_path: Path) -> None:
    async with house(f"sqlite:///{tmp_path / 'gateway.sqlite3'}") as gateway:
        assert (await gateway.http.get("/schema.app.graphql")).status_code == 404


def test_callers_without_an_audience_see_the_whole_schema() -> None:
    others = set(Role) - set(ROLES.values())
    assert {schema_for_role(GATEWAY_SCHEMA, role) for role in others} == {SCHEMA}
