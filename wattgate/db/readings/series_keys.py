"""Keys of series in the tables of readings, from a resource and the name of a field."""

from wattgate.db.models import Resource
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.energy.storage_fields import ReadingField, find_field, parse_fields
from wattgate.errors import BadInput, Problem


def resource_number(resource: Resource) -> int:
    """Return the short key of a resource in the tables of readings."""
    assert resource.number is not None  # the database sets it when the resource is added
    return resource.number


def series_key(resource: Resource, field: ReadingField) -> SeriesKey:
    """Return the key of the series of a resource's field."""
    return resource_number(resource), field.index


def require_field(resource: Resource, name: str | None) -> ReadingField:
    """Return the field with this name, or the first field for None. Raise BadInput if there is no such field."""
    fields = parse_fields(resource.storage)
    field = find_field(fields, name)
    if field is None:
        names = ", ".join(field.name for field in fields)
        raise BadInput(
            f"Resource {resource.resource_id} has no field {name!r}. Use one of: {names}.",
            problems=[Problem(("field",), "is not a field of the resource")],
        )
    return field
