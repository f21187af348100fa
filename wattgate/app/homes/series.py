"""The kinds of resources that homes have, and the resource types and resources that hold them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from wattgate.db.queries.series.tariffs import COST_SUFFIX
from wattgate.energy.meters.meter_messages import ELECTRICITY, EXPORT, GAS
from wattgate.energy.quantities import PENCE, cost_unit
from wattgate.energy.storage_fields import LEARNED, POWER_FIELD
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation
from wattgate.operations.types.homes import resources as types
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json

STORAGE_START = "2014-01-06T00:00:00+00:00"
"""The first instant that resources of homes store."""

HOME_TYPE_NAME = "Home"


@dataclass(frozen=True, slots=True)
class Series:
    """A kind of resource: energy, which is recorded, or its cost, which is computed.

    The unit of a cost is that of its currency.
    `live_fields` names the fields that a display fills with live values, beside the energy of each half hour.
    """

    classifier: str
    name: str
    label: str
    unit: str
    source: str
    decimals: int
    live_fields: tuple[str, ...] = ()

    @property
    def is_cost(self) -> bool:
        return self.classifier.endswith(COST_SUFFIX)

    def in_currency(self, currency: str) -> "Series":
        """Return the series of a cost with the unit of a currency. Its name contains a currency other than the pound.

        Energy stays as it is.
        """
        unit = cost_unit(currency)
        if not self.is_cost or unit == self.unit:
            return self
        return replace(self, unit=unit, name=f"{self.name} in {currency}")

    @property
    def has_live_power(self) -> bool:
        return POWER_FIELD in self.live_fields


SERIES = (
    Series(ELECTRICITY, "electricity consumption", "Electricity", "kWh", "ELEC", 3, (POWER_FIELD, "REGISTER")),
    Series(ELECTRICITY + COST_SUFFIX, "electricity cost", "Electricity cost", PENCE, "ELEC", 4),
    Series(GAS, "gas consumption", "Gas", "kWh", "GAS", 5, ("REGISTER", "VOLUME")),
    Series(GAS + COST_SUFFIX, "gas cost", "Gas cost", PENCE, "GAS", 4),
    Series(EXPORT, "active export", "Exported electricity", "kWh", "PWER_AEXP", 3, ("REGISTER",)),
)
"""All kinds of resources. A source of energy comes before its cost, which refers to it."""


_LIVE_FIELDS: Mapping[str, types.NewStorageField] = MappingProxyType(
    {
        POWER_FIELD: types.NewStorageField(field_name=POWER_FIELD, unit="W", datatype="integer", negative=True),
        "REGISTER": types.NewStorageField(field_name="REGISTER", unit="kWh", datatype="fixedpoint(3)"),
        "VOLUME": types.NewStorageField(field_name="VOLUME", unit="m3", datatype="fixedpoint(3)"),
    }
)


def series_of(classifier: str, currency: str) -> tuple[Series, ...]:
    """Return the series of a source of energy, and that of its cost in a currency if it has one."""
    found = (series for series in SERIES if series.classifier.removesuffix(COST_SUFFIX) == classifier)
    return tuple(series.in_currency(currency) for series in found)


def build_resource_type(series: Series, *, live: bool, source: str, description: str = "") -> types.NewResourceType:
    """Return the resource type of a series. With `live`, it also has the fields for live values.

    Its resources learn the interval of their data, because it differs by country, zone and supplier.
    """
    energy = types.NewStorageField(
        field_name="COST" if series.is_cost else "ENERGY",
        unit=series.unit,
        datatype=f"fixedpoint({series.decimals})",
    )
    live_fields = [_LIVE_FIELDS[name] for name in series.live_fields] if live else []
    return types.NewResourceType(
        name=series.name,
        classifier=series.classifier,
        storage=[_storage(LEARNED, [energy]), *([_storage("irregular", live_fields)] if live_fields else [])],
        description=description,
        data_source_type=source,
        data_source_resource_type_info=Json({"unit": series.unit, "type": series.source}),
        base_unit=series.unit,
    )


def build_resource(series: Series, resource_type_id: str, mpxn: str, description: str = "") -> types.NewResource:
    """Return the resource of a series at a meter point."""
    type_id = Id(resource_type_id)
    return types.NewResource(
        resource_type_id=type_id, name=series.name, label=series.label, description=description, mpxn=mpxn
    )


def build_home_type() -> home_types.NewVirtualEntityType:
    """Return the virtual entity type of homes."""
    return home_types.NewVirtualEntityType(name=HOME_TYPE_NAME, description="A home with smart meters")


def find_operation(name: str) -> Operation:
    """Return an operation of the catalogue by its name. Entities generate these, so no module defines them by name."""
    return next(operation for operation in OPERATIONS if operation.name == name)


def _storage(sampling: str, fields: list[types.NewStorageField]) -> types.NewStorageDefinition:
    return types.NewStorageDefinition(type="timeseries", sampling=sampling, start=STORAGE_START, fields=fields)
