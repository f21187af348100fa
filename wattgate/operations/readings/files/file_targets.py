"""The fields of resources that the lines of a file mean, and the conversion of their values to the units of the fields.

A file names its series by resource, or by meter point and classifier if the import is for one home.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from wattgate.db.models import Resource
from wattgate.db.queries.series.tariffs import COST_SUFFIX
from wattgate.energy.meters.meter_points import canonical_meter_point
from wattgate.energy.meters.unit_conversion import (
    GasProperties,
    UnitError,
    round_half_even,
    unit_converter,
)
from wattgate.energy.storage_fields import ReadingField, StorageError, find_field, parse_fields
from wattgate.errors import BadInput
from wattgate.operations.core.input_limits import MAX_ID_CHARACTERS
from wattgate.operations.core.operation import RunOperation
from wattgate.operations.readings.bulk_recording import SeriesKey
from wattgate.operations.readings.files.reading_imports import MAX_RESOURCES, resources_by_id
from wattgate.reading_files.csv_columns import SeriesName
from wattgate.values.stored_json import is_storable_text


class UnknownSeries(ValueError):
    """A file names a series that cannot be recorded; the message says why."""


@dataclass(frozen=True, slots=True)
class UnitOptions:
    """The unit of all values of a file, or None if they are in the units of their fields, and the properties of gas.

    With `rounds`, values are rounded half to even to the decimal places of their field, and otherwise refused if they
    have more.
    """

    unit: str | None = None
    gas: GasProperties = field(default_factory=GasProperties)
    rounds: bool = False


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """A field of a resource, and the function that converts values of the file to its unit; None if that is equal."""

    resource_id: str
    classifier: str
    field: ReadingField
    convert: Callable[[Decimal], Decimal] | None

    @property
    def key(self) -> SeriesKey:
        return self.resource_id, self.field.name

    def to_field_unit(self, value: float) -> float:
        """Return a value of the file in the unit of the field."""
        return value if self.convert is None else float(self.convert(Decimal(repr(value))))

    def can_store(self, value: float) -> bool:
        """Return whether the field takes a value of the file."""
        try:
            self.field.to_stored(Decimal(repr(self.to_field_unit(value))))
        except StorageError:
            return False
        return True


class ResourceFinder(Protocol):
    """Finds the resources of the series of a file."""

    async def find(self, series: Sequence[SeriesName]) -> list[Resource | UnknownSeries]:
        """Return for each series its resource, or the reason why it has none."""
        ...


async def find_targets(
    finder: ResourceFinder, series: Sequence[SeriesName], units: UnitOptions
) -> list[ImportTarget | UnknownSeries]:
    """Return for each series its target, or the reason why it has none.

    Raise BadInput if the file has series but no target: it is for other resources.
    """
    found = await finder.find(series)
    targets = [_build_target(name, resource, units) for name, resource in zip(series, found, strict=True)]
    reasons = list(dict.fromkeys(str(target) for target in targets if isinstance(target, UnknownSeries)))
    if targets and all(isinstance(target, UnknownSeries) for target in targets):
        more = f" The file has {len(reasons) - 1:,} more problems of this kind." if len(reasons) > 1 else ""
        raise BadInput(f"No line of the file can be recorded: {reasons[0]}.{more}")
    return targets


def _build_target(
    series: SeriesName, resource: Resource | UnknownSeries, units: UnitOptions
) -> ImportTarget | UnknownSeries:
    if isinstance(resource, UnknownSeries):
        return resource
    if resource.cost_of:
        return UnknownSeries("is computed from its consumption; record that")
    reading_field = find_field(parse_fields(resource.storage), series.field or None)
    if reading_field is None:
        return UnknownSeries(f"the resource has no field {series.field}")
    try:
        convert = _build_converter(series, units, resource, reading_field)
    except UnitError as error:
        return UnknownSeries(str(error))
    return ImportTarget(resource.resource_id, resource.classifier, reading_field, convert)


def _build_converter(
    series: SeriesName, units: UnitOptions, resource: Resource, target: ReadingField
) -> Callable[[Decimal], Decimal] | None:
    """Return the conversion of the values of a series, or None if they are stored as they are. Raise UnitError."""
    unit, convert = units.unit or series.unit, None
    if unit and unit != target.unit:
        convert = unit_converter(
            unit, target.unit, classifier=resource.classifier, decimals=target.decimals, gas=units.gas
        )
    if not (series.is_derived or units.rounds):
        return convert
    return lambda value: round_half_even(value if convert is None else convert(value), target.decimals)


@dataclass(frozen=True, slots=True)
class ApplicationResources:
    """Finds resources of an application by their ID. `resource_id` is that of all lines, unless it is None."""

    run: RunOperation
    resource_id: str | None

    async def find(self, series: Sequence[SeriesName]) -> list[Resource | UnknownSeries]:
        """Return for each series its resource, or the reason why it has none."""
        ids = [self.resource_id or name.resource_id for name in series]
        unique = sorted({id_ for id_ in ids if len(id_) <= MAX_ID_CHARACTERS and is_storable_text(id_)})
        resources = dict[str, Resource]()
        for start in range(0, len(unique), MAX_RESOURCES):
            arguments = {"resource_ids": unique[start : start + MAX_RESOURCES]}
            for resource in await self.run(resources_by_id, arguments):
                resources[resource.resource_id] = resource
        return [resources.get(id_) or self._unknown(id_) for id_ in ids]

    @staticmethod
    def _unknown(id_: str) -> UnknownSeries:
        if not id_:
            return UnknownSeries("has no resourceId")
        return UnknownSeries(f"{id_} does not exist" if len(id_) <= MAX_ID_CHARACTERS else "resourceId is too long")


@dataclass(frozen=True, slots=True)
class HomeResources:
    """Finds resources of a home by ID, meter point and classifier.

    `resources` are those that the import may fill, and `description` says of which home they are.
    """

    description: str
    resources: Sequence[Resource]

    async def find(self, series: Sequence[SeriesName]) -> list[Resource | UnknownSeries]:
        """Return for each series its resource, or the reason why it has none."""
        return [self._find_one(name) for name in series]

    def _find_one(self, series: SeriesName) -> Resource | UnknownSeries:
        try:
            matches = list(self.resources)
            if series.resource_id:
                matches = self._narrow(matches, "resource", series.resource_id, lambda one: one.resource_id)
            if series.meter_point:
                number = canonical_meter_point(series.meter_point)
                matches = self._narrow(matches, "meter point", number, _meter_point)
            if series.classifier:
                matches = self._narrow(matches, "classifier", series.classifier, lambda one: one.classifier)
        except UnknownSeries as unknown:
            return unknown
        # a line that does not name costs has energy
        matches = [resource for resource in matches if not resource.classifier.endswith(COST_SUFFIX)] or matches
        if len(matches) == 1:
            return matches[0]
        found = ", ".join(f"{one.classifier} ({one.resource_id})" for one in matches)
        return UnknownSeries(
            f"which resource of {self.description} is meant is not clear: {found}. Select one with --electricity, "
            "--gas, --export or --resource, or name it in a column `mpxn`, `classifier` or `resourceId`"
        )

    def _narrow(
        self, resources: list[Resource], what: str, value: str, value_of: Callable[[Resource], str | None]
    ) -> list[Resource]:
        """Return the resources with a value. Raise UnknownSeries with the values that exist if there are none."""
        matches = [resource for resource in resources if value_of(resource) == value]
        if not matches:
            known = ", ".join(sorted(filter(None, {value_of(resource) for resource in resources}))) or "none"
            raise UnknownSeries(f"{what} {value} does not belong to {self.description}, which has {known}")
        return matches


def _meter_point(resource: Resource) -> str | None:
    return canonical_meter_point(resource.mpxn) if resource.mpxn else None
