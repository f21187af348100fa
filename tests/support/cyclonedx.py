"""Validation of CycloneDX files by the published schema, which the wheel of the library contains."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema_rs

_SCHEMAS = files("cyclonedx.schema._res")
_BASE = "http://cyclonedx.org/schema/"
_PARTS = ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")


@cache
def _validator() -> Any:
    parts = [(_BASE + name, json.loads((_SCHEMAS / name).read_text())) for name in _PARTS]
    schema = json.loads((_SCHEMAS / "bom-1.6.SNAPSHOT.schema.json").read_text())
    return jsonschema_rs.validator_for(schema, registry=jsonschema_rs.Registry(parts))


def schema_problems(content: dict[str, Any]) -> list[str]:
    """Return what the schema of CycloneDX 1.6 finds in a file. Empty if it is valid."""
    return [error.message for error in _validator().iter_errors(content)]
