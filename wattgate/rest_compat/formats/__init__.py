"""Registry of the REST endpoints whose requests or responses use a legacy format. All others use the uniform format."""

from collections.abc import Mapping
from types import MappingProxyType

from wattgate.errors import ProblemPath
from wattgate.rest_compat.formats.accounts import ACCOUNT_FORMATS, DATA_EXPORT_FORMATS
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
        **DATA_EXPORT_FORMATS,
    }
)
"""The legacy formats by method and path, as in the catalogue, with the media type if it is not JSON."""

DEFAULT_FORMAT = LegacyFormat()

INPUT_REQUEST_PATHS: Mapping[ProblemPath, ProblemPath] = MappingProxyType({("input",): ()})
"""The argument `input` is the whole body."""
