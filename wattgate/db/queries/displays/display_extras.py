"""Content of displays besides meters: the owner's language and region, and the carbon intensity. Loaded set-wise."""

from collections.abc import Collection, Mapping, Sequence

from wattgate.db.models import Resource, User
from wattgate.db.queries.templates import application_culture
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy.display.carbon import CARBON_CLASSIFIER, CARBON_UNIT, DisplayCarbon
from wattgate.energy.storage_fields import ReadingField, parse_fields


def carbon_resources(resources: Sequence[Resource]) -> list[Resource]:
    """Return the first resource of a home with carbon intensities, in a list, or an empty list."""
    return [resource for resource in resources if resource.classifier == CARBON_CLASSIFIER][:1]


def find_carbon_series(resources: Sequence[Resource]) -> tuple[Resource, ReadingField] | None:
    """Return the resource of a home with carbon intensities, and their field; None if there is none."""
    fields = [(resource, field) for resource in carbon_resources(resources) for field in parse_fields(resource.storage)]
    return next(((resource, field) for resource, field in fields if field.unit == CARBON_UNIT), None)


async def load_carbon(rows: Rows, series: Sequence[tuple[Resource, ReadingField]]) -> Mapping[str, DisplayCarbon]:
    """Return the newest carbon intensity of each resource that has one, by resource id."""
    if not series:
        return {}
    latest = await rows.readings.latest([series_key(resource, field) for resource, field in series])
    return {
        resource.resource_id: DisplayCarbon.build(field, newest.at, field.from_stored(newest.value))
        for resource, field in series
        if (newest := latest.get(series_key(resource, field))) is not None
    }


async def load_locales(rows: Rows, user_ids: Collection[str]) -> Mapping[str, str]:
    """Return the language and region of each user, which messages have too: the user's, or the application's."""
    users = await rows.get_many(User, user_ids)
    cultures = {user_id: users[user_id].culture_code if user_id in users else None for user_id in user_ids}
    default = await application_culture(rows) if None in cultures.values() else ""
    return {user_id: culture or default for user_id, culture in cultures.items()}
