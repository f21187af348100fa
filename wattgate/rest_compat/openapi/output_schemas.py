"""JSON Schemas of Strawberry types, as REST renders them."""

from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from strawberry.types import get_object_definition, has_object_definition

from wattgate.db import models
from wattgate.enums import to_camel_case
from wattgate.operations.core.fields import is_in_rest, rest_form_of
from wattgate.operations.vocabulary.directives import declared_description
from wattgate.operations.vocabulary.strawberry_adapter import (
    StrawberryEnumDefinition,
    StrawberryList,
    StrawberryObjectDefinition,
    StrawberryOptional,
    rest_name_of,
)
from wattgate.rest_compat.openapi.components import ANY_VALUE, JSON_TYPES, Components, Json, described, nullable
from wattgate.rest_compat.row_renderer import rest_name

UUID_MEMBERS = frozenset(
    to_camel_case(model.key)
    for model in (
        *(models.Account, models.Alert, models.Content, models.Device, models.DeviceType, models.LanguageContent),
        *(models.Notification, models.Prompt, models.PromptType, models.PromptUser, models.Resource),
        *(models.ResourceType, models.SupportDetails, models.Tariff, models.Template, models.TermsConditions),
        *(models.TermsConditionsUser, models.User, models.UserAction, models.UserActionType, models.VirtualEntity),
        *(models.VirtualEntityType, models.Webhook, models.WebhookEndpoint, models.WebhookError),
    )
)
"""Names of members whose values are always UUIDs of the gateway."""

TYPES_WITH_SENT_IDS = frozenset({"WantedResource"})
"""Types whose IDs are stored as clients sent them."""


def output_schema(type_: Any, components: Components, edges: Collection[str] = ()) -> Json:
    """Return a reference to the schema of a Strawberry type: its plain fields and the given edges."""
    definition = get_object_definition(type_, strict=True)
    name = definition.name + ("With" + "".join(edge[0].upper() + edge[1:] for edge in edges) if edges else "")
    return components.add(name, lambda: object_schema(definition, components, edges))


def object_schema(
    definition: StrawberryObjectDefinition,
    components: Components,
    edges: Collection[str] = (),
    omitted: Collection[str] = (),
) -> Json:
    """Return the schema of an object. All members are required, because null is written as null."""
    properties = {}
    for field in definition.fields:
        name = rest_name_of(field)
        is_plain = is_in_rest(field)
        if name in omitted or not (is_plain or name in edges):
            continue
        id_name = "" if definition.name in TYPES_WITH_SENT_IDS else name
        form = rest_form_of(field)
        schema = _type_schema(form.type if form else field.type, id_name, components)
        properties[rest_name(field)] = described(schema, form.description if form else declared_description(field))
    return {
        "type": "object",
        **({"description": definition.description} if definition.description else {}),
        "properties": properties,
        "required": list(properties),
    }


def _type_schema(type_: Any, name: str, components: Components) -> Json:
    if isinstance(type_, StrawberryOptional):
        return nullable(_type_schema(type_.of_type, name, components))
    if isinstance(type_, StrawberryList):
        return {"type": "array", "items": _type_schema(type_.of_type, name, components)}
    if isinstance(type_, StrawberryEnumDefinition):
        return components.put_enum(type_.name, [value.value for value in type_.values])
    if isinstance(type_, type) and issubclass(type_, Enum):
        return components.add_enum(type_)
    if has_object_definition(type_):
        return output_schema(type_, components)
    return _leaf_schema(type_, name)


def _leaf_schema(type_: Any, name: str) -> Json:
    if type_ is datetime:
        return {"type": "string", "format": "date-time"}
    if type_ is Decimal:
        return {"type": "number"}
    if type_ in JSON_TYPES:
        return {"type": JSON_TYPES[type_]}
    if getattr(type_, "__name__", "") == "ID":
        return {"type": "string", **({"format": "uuid"} if name in UUID_MEMBERS else {})}
    return ANY_VALUE
