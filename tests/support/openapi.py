"""The OpenAPI document, and the check of responses against it.

`House.call` checks every response of every test, so that the document and the responses cannot differ.
"""

import json
import re
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from tests.support.gateway_schema import GATEWAY_SCHEMA
from wattgate.operations.catalogue import OPERATIONS
from wattgate.rest_compat.openapi.document import build_openapi_document

DOCUMENT = build_openapi_document(OPERATIONS, GATEWAY_SCHEMA, "/api/v0-1")
JSON_MEDIA = "application/json"
NOTIFICATION_PATH = re.compile("/ns(?=/(alert|template|notification)(/|$))")
"""The additional base path under which published clients use the paths of notifications."""


def check_response(method: str, path: str, response: httpx.Response) -> None:
    """Assert that the document declares the status, the error code, and the schema of a response.

    Unknown paths and methods have no operation in the document.
    """
    operation = find_operation(method, path)
    if operation is None:
        return
    status, name = str(response.status_code), operation["operationId"]
    assert status in operation["responses"], f"{name} does not declare {status}: {response.text[:500]}"
    declared = resolve(operation["responses"][status])
    media = response.headers.get("content-type", "").partition(";")[0]
    assert media in declared["content"], f"{name} does not declare {media} for {status}"
    if media != JSON_MEDIA or method == "HEAD":
        return
    body = response.json()
    if response.status_code >= 400:
        assert body["code"] in declared["x-error-codes"], f"{name} does not declare {body['code']}: {body['error']}"
    check_value(declared["content"][media]["schema"], body, name)


def check_value(schema: dict[str, Any], value: Any, name: str) -> None:
    """Assert that a value has a schema of the document."""
    problems = [f"{list(problem.instance_path)}: {problem.message}" for problem in validator(schema).iter_errors(value)]
    assert not problems, f"{name}: {problems[:5]}"


def find_operation(method: str, path: str) -> dict[str, Any] | None:
    """Return the operation of a request, or None if the document has none."""
    plain = NOTIFICATION_PATH.sub("", path.partition("?")[0], count=1)
    plain = "/" + "/".join(part for part in plain.split("/") if part)
    for pattern, item in _patterns():
        if pattern.fullmatch(plain):
            operation: dict[str, Any] | None = item.get("get" if method == "HEAD" else method.lower())
            return operation
    return None


def resolve(node: dict[str, Any]) -> dict[str, Any]:
    """Return the node that a reference names, or the node itself."""
    if "$ref" not in node:
        return node
    target: Any = DOCUMENT
    for key in node["$ref"][2:].split("/"):
        target = target[key]
    return dict(target)


def validator(schema: dict[str, Any]) -> Any:
    """Return the validator of a schema of the document, which also checks formats."""
    return _validator(json.dumps(schema))


SCHEMAS = "urn:schemas"
"""The name of the schemas of the document for validators, each of which compiles only those that it refers to."""


@cache
def _registry() -> jsonschema_rs.Registry:
    components = {"components": {"schemas": DOCUMENT["components"]["schemas"]}}
    return jsonschema_rs.Registry([(SCHEMAS, components)], draft=jsonschema_rs.Draft202012)


@cache
def _validator(schema: str) -> Any:
    complete = json.loads(schema.replace('"#/components/schemas/', f'"{SCHEMAS}#/components/schemas/'))
    return jsonschema_rs.Draft202012Validator(complete, validate_formats=True, registry=_registry())


@cache
def _patterns() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Return the paths as patterns, those with literal segments first, as the router matches them."""
    paths = sorted(DOCUMENT["paths"].items(), key=lambda entry: entry[0].replace("{", "~"))
    return [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), item) for path, item in paths]
