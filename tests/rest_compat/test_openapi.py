"""The OpenAPI document: named schemas of all bodies, typed parameters, error codes, tags and GraphQL documents."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from graphql import OperationDefinitionNode, parse, validate
from graphql.execution import get_variable_values

from tests.support.gateway_schema import SCHEMA
from tests.support.house import House
from tests.support.openapi import DOCUMENT, check_value, resolve
from wattgate.enums import Period, to_camel_case
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import JSON
from wattgate.operations.core.refusals import refusal_kinds
from wattgate.rest_compat.formats import LEGACY_FORMATS
from wattgate.rest_compat.openapi.errors import implied_kinds

PATHS = DOCUMENT["paths"]
SCHEMAS = DOCUMENT["components"]["schemas"]
DESCRIBED = [operation for item in PATHS.values() for operation in item.values()]
BY_ID = {operation["operationId"]: operation for operation in DESCRIBED}


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the media types and contents of the request body and of the successful response."""
    yield from operation.get("requestBody", {}).get("content", {}).items()
    for response in operation["responses"].values():
        yield from resolve(response)["content"].items()


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value except examples."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name not in ("example", "examples", "x-graphql"):
                yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


def test_every_json_body_has_a_named_schema_and_fitting_examples(subtests: pytest.Subtests) -> None:
    assert DESCRIBED
    for operation in DESCRIBED:
        with subtests.test(operation["operationId"]):
            for media, content in contents(operation):
                schema = content["schema"]
                if media in (JSON, "application/x-www-form-urlencoded"):
                    assert "$ref" in schema.get("items", schema), schema
                if "example" in content:
                    check_value(schema, content["example"], operation["operationId"])
            for parameter in operation["parameters"]:
                assert parameter["description"], parameter["name"]
                if "example" in parameter:
                    check_value(parameter["schema"], parameter["example"], parameter["name"])


def test_schemas_have_types_items_and_no_empty_alternative() -> None:
    kinds = {"$ref", "type", "anyOf"}
    for node in nodes({"schemas": SCHEMAS, "paths": PATHS}):
        if node.get("type") == "array":
            assert node["items"], node
        assert not any(option == {} for option in node.get("anyOf", []))
        for name, member in node.get("properties", {}).items():
            if isinstance(member, dict) and not kinds & member.keys():
                assert member["description"], name
        for name in node.get("required", []) if "properties" in node else ():
            assert name in node["properties"]


def test_schemas_have_no_construct_that_a_generator_cannot_type() -> None:
    """Each rule is a construct for which openapi-generator made a client that does not compile, or none."""
    found = list(nodes({"schemas": SCHEMAS, "paths": PATHS}))
    options_of_all = {id(option) for node in found for option in node.get("anyOf", [])}
    faults = []
    for node in found:
        kinds = set(node["type"]) - {"null"} if isinstance(node.get("type"), list) else set()
        options = [option for option in node.get("anyOf", []) if option != {"type": "null"}]
        if node.get("type") == "null" and id(node) not in options_of_all:
            faults.append(("null alone is no type", node))
        if "const" in node or not all(isinstance(value, str) for value in node.get("enum", [])):
            faults.append(("an enum has texts only, and no value is constant", node))
        if len(options) > 1 and not all("$ref" in option for option in options):
            faults.append(("alternatives are named schemas", node))
        if len(kinds) > 1 and kinds & {"array", "object"}:
            faults.append(("a value is a list or an object, not either", node))
    assert faults == []


def test_no_schema_has_the_name_of_the_parameters_of_an_operation() -> None:
    """Generators name the parameters of an operation with a form after the operation, with `Request` at the end."""
    for name, operation in BY_ID.items():
        if "application/x-www-form-urlencoded" in operation.get("requestBody", {}).get("content", {}):
            assert f"{name[0].upper()}{name[1:]}Request" not in SCHEMAS


def test_every_schema_and_member_has_a_description() -> None:
    for name, schema in SCHEMAS.items():
        assert schema["description"], name
        for member, described in schema.get("properties", {}).items():
            assert described.get("description") or resolve(described)["description"], f"{name}.{member}"


def test_every_named_schema_is_used() -> None:
    text = json.dumps(DOCUMENT)
    assert [name for name in SCHEMAS if f'"#/components/schemas/{name}"' not in text] == []


def test_query_of_readings_is_required_and_typed() -> None:
    query = {one["name"]: one for one in BY_ID["readings"]["parameters"] if one["in"] == "query"}
    assert {name for name, one in query.items() if one["required"]} == {"from", "to", "period", "function"}
    assert resolve(query["period"]["schema"])["enum"] == [period.value for period in Period]
    assert "sum" in resolve(query["function"]["schema"])["enum"]
    assert re.search(query["from"]["schema"]["pattern"], "2026-11-01T00:00:00")
    assert "format" not in query["from"]["schema"]  # a time without a zone is no date-time of RFC 3339
    assert query["offset"]["schema"]["type"] == "number"


def test_tariffs_declare_both_rate_and_standing_charge() -> None:
    assert {"rate", "standing", "tier", "limit", "dynamic"} <= set(SCHEMAS["PlanDetail"]["properties"])
    assert SCHEMAS["Home"]["properties"]["resources"]["items"] == {"$ref": "#/components/schemas/ShortResource"}


def test_operation_ids_are_unique_names_of_operations() -> None:
    assert len(BY_ID) == len(DESCRIBED)
    fields = {to_camel_case(operation.name): operation.field_path for operation in OPERATIONS if operation.rest}
    assert set(fields) <= set(BY_ID)
    for name, operation in BY_ID.items():
        own = max((own for own in fields if name == own or name.startswith(own)), key=len)
        assert operation["x-graphql"]["field"] == fields[own]
        assert name == own or name[len(own)].isupper()
        assert name.isalpha()


def test_graphql_document_is_valid_with_its_variables(subtests: pytest.Subtests) -> None:
    assert DESCRIBED
    for operation in DESCRIBED:
        with subtests.test(operation["operationId"]):
            twin = operation["x-graphql"]
            document = parse(twin["document"])
            assert validate(SCHEMA, document) == []
            (definition,) = document.definitions
            assert isinstance(definition, OperationDefinitionNode)
            assert definition.operation.value == twin["kind"]
            values = get_variable_values(SCHEMA, definition.variable_definitions or (), twin["variables"])
            assert not isinstance(values, list), values  # a list has the errors


def test_error_codes_fit_the_interface(subtests: pytest.Subtests) -> None:
    assert DESCRIBED
    for operation in DESCRIBED:
        with subtests.test(operation["operationId"]):
            codes = {
                code
                for response in operation["responses"].values()
                for code in resolve(response).get("x-error-codes", [])
            }
            assert "PERSISTED_QUERY_NOT_FOUND" not in codes
            assert codes < set(SCHEMAS["ErrorCode"]["enum"])
            assert {"INTERNAL", "RATE_LIMITED", "UNAUTHENTICATED", "UNAVAILABLE"} <= codes
            assert ("FORBIDDEN" in codes) or not operation["security"]
            takes_input = "requestBody" in operation or any(one["in"] != "header" for one in operation["parameters"])
            assert ("BAD_INPUT" in codes) or not takes_input


def test_error_codes_depend_on_the_operation() -> None:
    def codes(name: str) -> set[str]:
        responses = [resolve(response) for response in BY_ID[name]["responses"].values()]
        return {code for response in responses for code in response.get("x-error-codes", [])}

    assert "QUOTA_EXCEEDED" in codes("addResource")
    assert not {"QUOTA_EXCEEDED", "CONFLICT", "NOT_FOUND", "CONSENT_REVOKED"} & codes("faqs")
    assert "CONSENT_REVOKED" in codes("readings")
    assert not {"NOT_SUPPORTED", "CONSENT_REVOKED"} & codes("requestPasswordReset")
    assert "FORBIDDEN" in codes("requestPasswordReset")  # a paired display may call nothing but reads of its home


def test_paths_of_a_record_and_of_its_parts_have_own_summaries() -> None:
    for record in ("/resource/{resourceId}", "/virtualentity/{veId}"):
        summaries = [
            item["get"]["summary"]
            for path, item in PATHS.items()
            if path.startswith(record) and "get" in item and not path.endswith("/glowbinary")  # another name of a path
        ]
        assert len(set(summaries)) == len(summaries)


def test_every_operation_has_one_known_tag_and_an_effect() -> None:
    tags = [tag["name"] for tag in DOCUMENT["tags"]]
    assert tags == [name for group in DOCUMENT["x-tagGroups"] for name in group["tags"]]
    assert all(tag["description"] for tag in DOCUMENT["tags"])
    assert {tag for operation in DESCRIBED for tag in operation["tags"]} == set(tags)
    effects = {name: operation["x-effect"] for name, operation in BY_ID.items()}
    assert set(effects.values()) == {"read", "write", "destructive"}
    assert effects["deactivateVirtualEntity"] == effects["revokeConsents"] == effects["deleteUser"] == "destructive"
    assert (effects["readings"], effects["catchUp"], effects["updateAccount"]) == ("read", "write", "write")


def test_declared_errors_are_those_that_no_rule_implies() -> None:
    declaring = [operation for operation in OPERATIONS if operation.raises]
    assert declaring
    for operation in declaring:
        for kind in operation.raises:
            implied = [implied_kinds(operation, rest) for rest in operation.rest]
            implied.append(set(refusal_kinds(replace(operation, raises=()))))
            assert any(kind not in kinds for kinds in implied), operation.name


def test_legacy_formats_declare_their_types() -> None:
    routes = {rest.route_key for operation in OPERATIONS for rest in operation.rest}
    assert set(LEGACY_FORMATS) <= routes
    for route, legacy_format in LEGACY_FORMATS.items():
        if legacy_format.render_body:
            assert legacy_format.response is not None, route


async def test_responses_name_their_graphql_field(served: House) -> None:
    headers = served.one.headers["account"]
    assert (await served.call("GET", "/auth", headers)).headers["x-graphql-operation"] == "tokenStatus"
    terms = await served.call("GET", "/termsconditions/current", headers)
    assert terms.headers.get("x-graphql-operation") in (None, "application.termsConditionsInForce")


@pytest.mark.parametrize("path", ["/api/v0-2/virtualentity", "/api/v1/openapi.json", "/api/v0-2"])
async def test_path_of_another_version_names_the_served_version(served: House, path: str) -> None:
    response = await served.http.get(path, headers=served.one.headers["account"])
    body = response.json()
    assert (response.status_code, body["code"]) == (404, "NOT_FOUND")
    named = path.split("/")[2]
    assert body["error"] == (
        f"This gateway serves version v0-1 of the REST interface under /api/v0-1, not {named}. "
        "Its document is /api/v0-1/openapi.json."
    )


async def test_path_or_method_of_another_document_names_the_version_of_the_document(served: House) -> None:
    headers = served.one.headers["account"]
    unknown = await served.call("GET", "/charger", headers)
    version = DOCUMENT["info"]["version"]
    assert unknown.json()["error"] == (
        f"/api/v0-1/charger is not a path of version {version} of the interface. See /api/v0-1/openapi.json."
    )
    wrong = await served.call("PATCH", "/account", headers)
    assert wrong.json()["error"] == "/api/v0-1/account does not have the method PATCH. It has GET, HEAD, POST."
    outside = await served.http.get(f"/{'x' * 500}")
    assert outside.json()["error"] == f"/{'x' * 199} is not a path of this gateway."
