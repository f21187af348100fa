"""Which series of stored readings are meant: of resources their fields by name, and the keys of both in the tables."""

from wattgate.db.models import Resource
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.energy.storage_fields import Field, field_named, fields_of
from wattgate.errors import BadInput, Problem


def number_of(resource: Resource) -> int:
    """The short key of a resource in the tables of readings."""
    assert resource.number is not None  # set by the database when the resource was added
    return resource.number


def key_of(resource: Resource, field: Field) -> SeriesKey:
    """The key of the series of a resource's field."""
    return number_of(resource), field.index


def field_of(resource: Resource, name: str | None) -> Field:
    """The field of that name, or the first one. BadInput where the resource has none of that name."""
    known = fields_of(resource.storage)
    field = field_named(known, name)
    if field is None:
        names = ", ".join(field.name for field in known)
        raise BadInput(
            f"resource {resource.resource_id} has no field {name}; it has {names}",
            problems=[Problem(("field",), "is not a field of the resource")],
        )
    return field
