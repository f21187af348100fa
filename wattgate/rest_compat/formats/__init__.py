"""Where the legacy interface differs from its operations: what it takes and answers. All else is uniform."""

from collections.abc import Mapping
from types import MappingProxyType

from wattgate.errors import Path
from wattgate.rest_compat.formats.accounts import IDENTITY
from wattgate.rest_compat.formats.alerts import ALERTS
from wattgate.rest_compat.formats.consent import CONSENT
from wattgate.rest_compat.formats.devices import DEVICES
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.formats.resources import RESOURCES
from wattgate.rest_compat.formats.virtual_entities import HOMES

SHAPES: Mapping[str, Shape] = MappingProxyType({**ALERTS, **CONSENT, **IDENTITY, **HOMES, **RESOURCES, **DEVICES})
"""By method and path as the catalogue has them. A place that is not here answers uniformly."""

UNIFORM = Shape()

BODY: Mapping[Path, Path] = MappingProxyType({("input",): ()})
"""An argument `input` is the body as a whole."""
