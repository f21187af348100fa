"""Types of resources: add them."""

from wattgate.db import models
from wattgate.energy.storage_fields import StorageError, parse_fields
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.input_limits import to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.readings.retention import check_retention_days
from wattgate.operations.types.homes import resources as types
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission


@operation(
    OperationKind.MUTATION,
    returns=types.ResourceType,
    needs=Permission.RESOURCE_TYPE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute(
        "POST",
        "/resourcetype",
        Tag.RESOURCE_TYPES,
        scheme=AuthScheme.TOKEN,
        accepts_any_scheme=True,
        acknowledged_fields=("resourceTypeId",),
    ),
)
async def add_resource_type(call: Call, *, input: types.NewResourceType) -> models.ResourceType:
    """Add a resource type to the application."""
    values = to_column_values(input, models.ResourceType)
    if input.retention_days is not None:
        check_retention_days(input.retention_days, "input", "retentionDays")
    _check_names(input)
    try:
        fields = parse_fields(values["storage"])
    except StorageError as refused:
        raise BadInput(
            "Invalid storage definition. See `problems`.", problems=[Problem(("storage",), str(refused))]
        ) from None
    return await call.rows.add(models.ResourceType(**{"base_unit": fields[0].unit, **values}))


def _check_names(input: types.NewResourceType) -> None:
    """Raise BadInput for a storage field without a name or a unit, because readings of it cannot be named or shown."""
    problems = [
        Problem(("input", "storage", number, "fields", position, name), "is empty")
        for number, definition in enumerate(input.storage)
        for position, field in enumerate(definition.fields)
        for name, text in (("fieldName", field.field_name), ("unit", field.unit))
        if not text.strip()
    ]
    if problems:
        raise BadInput("A storage field has no name or no unit. See `problems`.", problems=problems)
