"""The download of an archive: all of its parts, one after another."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType

from wattgate.operations.personal_data.data_exports import ExportPartResult
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.legacy_request import RerunOperation, RestResult


async def stream_archive(result: RestResult, rerun: RerunOperation) -> AsyncIterator[bytes]:
    """Yield the archive from the part of the result to its last part. One part is in memory at a time."""
    part: ExportPartResult = result.result
    yield part.data
    while part.number + 1 < part.parts:
        part = await rerun(number=part.number + 1, export_id=part.export_id)
        yield part.data


DATA_EXPORT_FORMATS: Mapping[str, LegacyFormat] = MappingProxyType(
    {"GET /user/{userId}/export.zip application/zip": LegacyFormat(render_stream=stream_archive)}
)
