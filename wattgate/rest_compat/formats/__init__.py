"""Where the legacy interface differs from its operations: what it takes and answers. All else is uniform."""

from collections.abc import Mapping
from types import MappingProxyType

from wattgate.errors import ProblemPath
from wattgate.rest_compat.formats.accounts import ACCOUNT_FORMATS
from wattgate.rest_compat.formats.alerts import ALERT_FORMATS
from wattgate.rest_compat.formats.consent import CONSENT_FORMATS
from wattgate.rest_compat.formats.devices import DEVICE_FORMATS
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.formats.resources import RESOURCE_FORMATS
from wattgate.rest_compat.formats.virtual_entities import VIRTUAL_ENTITY_FORMATS

LEGACY_FORMATS: Mapping[str, LegacyFormat] = MappingProxyType(
    {
        **ALERT_FORMATS,
        **CONSENT_FORMATS,
        **ACCOUNT_FORMATS,
        **VIRTUAL_ENTITY_FORMATS,
        **RESOURCE_FORMATS,
        **DEVICE_FORMATS,
    }
)
"""By method and path as the catalogue has them. A place that is not here answers uniformly."""

DEFAULT_FORMAT = LegacyFormat()

INPUT_REQUEST_PATHS: Mapping[ProblemPath, ProblemPath] = MappingProxyType({("input",): ()})
"""An argument `input` is the body as a whole."""
