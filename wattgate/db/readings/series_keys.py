"""Which series of stored readings are meant: of resources their fields by name, and the keys of both in the tables."""

from wattgate.db.models import Resource
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.energy.storage_fields import ReadingField, find_field, parse_fields
from wattgate.errors import BadInput, Problem


def resource_number(resource: Resource) -> int:
    """The short key of a resource in the tables of readings."""
    assert resource.number is not None  # set by the database when the resource was added
    return resource.number


def series_key(resource: Resource, field: ReadingField) -> SeriesKey:
    """The key of the series of a resource's field."""
    return resource_number(resource), field.index


def require_field(resource: Resource, name: str | None) -> ReadingField:
    """The field of that name, or the first one. BadInput where the resource has none of that name."""
    fields = parse_fields(resource.storage)
    field = find_field(fields, name)
    if field is None:
        names = ", ".join(field.name for field in fields)
        raise BadInput(
            f"resource {resource.resource_id} has no field {name}; it has {names}",
            problems=[Problem(("field",), "is not a field of the resource")],
        )
    return field
