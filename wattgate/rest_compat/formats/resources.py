"""Legacy formats of resources and their readings, tariffs, meter reads and catch-ups."""

from collections.abc import Callable, Mapping
from typing import Any

from wattgate.clock import to_ms
from wattgate.energy.storage_fields import parse_fields
from wattgate.errors import GatewayError
from wattgate.operations.readings.bulk_recorder import UnreadableInput
from wattgate.operations.readings.raw_readings import ARROW
from wattgate.operations.vocabulary import ids
from wattgate.rest_compat import arrow
from wattgate.rest_compat import wire_readings as wire
from wattgate.rest_compat.bulk_intake import BODY_READERS
from wattgate.rest_compat.file_intake import FILE_PATHS, FILE_QUERY
from wattgate.rest_compat.formats import readings as legacy_readings
from wattgate.rest_compat.formats import tariffs as tariffs
from wattgate.rest_compat.formats.legacy_format import LegacyFormat
from wattgate.rest_compat.formats.tariffs import tariff_body, tariff_list_body
from wattgate.rest_compat.legacy_request import RestResult


def _time_body(name: str, edge: str) -> Callable[[RestResult], Any]:
    def body(result: RestResult) -> Any:
        (time,) = result.edges[edge]
        return legacy_readings.envelope(result.result, {name: time and to_ms(time) // 1000})

    return body


def _current_body(result: RestResult) -> Any:
    """Return the current value. Without one, `data` is empty and `noValue` has the reason."""
    (current,), (reason,) = result.edges["current"], result.edges["noCurrentReason"]
    unit = f"{parse_fields(result.result.storage)[0].unit}/hour" if result.result.cost_of else None
    if current is None:
        body = legacy_readings.envelope(result.result, [], units=unit)
        return body if reason is None else {**body, "noValue": [legacy_readings.no_value_entry(reason)]}
    body = legacy_readings.envelope(result.result, [[to_ms(current.at) // 1000, current.value]], units=current.unit)
    if current.includes_vat is None:
        return body
    return {
        **body,
        "includesStandingCharge": current.includes_standing_charge,
        "includesVat": current.includes_vat,
    }


def _meter_read_body(result: RestResult) -> Any:
    read = result.result
    return legacy_readings.envelope(read.resource, [[to_ms(read.at) // 1000, read.value]], units=read.unit)


def _catch_up_body(result: RestResult) -> Any:
    """Return the catch-up. `valid` is true for a new one and for an earlier one in the same half hour."""
    catch_up = result.result.catch_up
    status = "started" if result.result.started else "this half hour has one already"
    data = {"valid": True, "status": status, "catchUpId": catch_up.catch_up_id, "state": catch_up.state.value}
    return legacy_readings.envelope(result.result.resource, data)


def _transform_stream_error(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """Return the message of an unreadable stream as `error`.

    The default text would list the refused lines as incorrect elements.
    """
    return {**body, "error": error.message} if isinstance(error, UnreadableInput) else body


_STREAM_FORMAT = LegacyFormat(
    parse_arguments=legacy_readings.parse_raw_readings_query,
    request_paths=legacy_readings.READINGS_REQUEST_PATHS,
    render_stream=arrow.stream_readings,
    query=wire.RawReadingsQuery,
)


RESOURCE_FORMATS: Mapping[str, LegacyFormat] = {
    "POST /resource": LegacyFormat(
        render_body=lambda result: {
            "status": "OK",
            "valid": True,
            "resourceId": result.result.resource_id,
            "resourceApplicationAccess": [result.result.application_id],
        },
        response=wire.AddedResource,
        response_example=wire.ADDED_RESOURCE_EXAMPLE,
    ),
    "GET /resource/{resourceId}/readings": LegacyFormat(
        parse_arguments=legacy_readings.parse_readings_query,
        request_paths=legacy_readings.READINGS_REQUEST_PATHS,
        render_body=legacy_readings.readings_body,
        transform_error=legacy_readings.transform_readings_error,
        query=wire.ReadingsQuery,
        response=wire.ReadingsEnvelope,
        response_example=wire.READINGS_EXAMPLE,
    ),
    "POST /resource/{resourceId}/readings": LegacyFormat(
        path_parameters={"resourceId": ids.ResourceId},
        parse_arguments=legacy_readings.parse_posted_readings,
        request_paths=legacy_readings.POSTED_REQUEST_PATHS,
        render_body=lambda result: {"status": "OK", **result.rendered},
        body=wire.PostedReadings,
        response=wire.PostedReadingsResult,
        body_example=wire.POSTED_READINGS_EXAMPLE,
        response_example=wire.POSTED_READINGS_RESULT_EXAMPLE,
    ),
    "POST /readings": LegacyFormat(
        body_readers=BODY_READERS, transform_error=_transform_stream_error, response=wire.RECORDED
    ),
    **{f"POST {path}": LegacyFormat(take_file=take, query=FILE_QUERY) for path, take in FILE_PATHS.items()},
    "GET /resource/{resourceId}/current": LegacyFormat(
        render_body=_current_body, response=wire.ReadingsEnvelope, response_example=wire.CURRENT_EXAMPLE
    ),
    "GET /resource/{resourceId}/first-time": LegacyFormat(
        render_body=_time_body("firstTs", "firstTime"),
        response=wire.FirstTimeEnvelope,
        response_example=wire.FIRST_TIME_EXAMPLE,
    ),
    "GET /resource/{resourceId}/last-time": LegacyFormat(
        render_body=_time_body("lastTs", "lastTime"),
        response=wire.LastTimeEnvelope,
        response_example=wire.LAST_TIME_EXAMPLE,
    ),
    "GET /resource/{resourceId}/tariff": LegacyFormat(
        render_body=tariff_body, response=tariffs.TariffEnvelope, response_example=tariffs.TARIFF_EXAMPLE
    ),
    "GET /resource/{resourceId}/tariff-list": LegacyFormat(
        render_body=tariff_list_body, response=tariffs.TariffListEnvelope, response_example=tariffs.TARIFF_LIST_EXAMPLE
    ),
    "GET /resource/{resourceId}/price-curve": LegacyFormat(
        request_paths={("range",): ("end",), ("range", "end"): ("end",)}
    ),
    "GET /resource/{resourceId}/meterread": LegacyFormat(
        render_body=_meter_read_body, response=wire.MeterReadEnvelope, response_example=wire.METER_READ_EXAMPLE
    ),
    "GET /resource/{resourceId}/catchup": LegacyFormat(
        render_body=_catch_up_body, response=wire.CatchUpEnvelope, response_example=wire.CATCH_UP_EXAMPLE
    ),
    f"GET /resource/{{resourceId}}/readings {ARROW}": _STREAM_FORMAT,
    f"GET /resource/{{resourceId}}/platformbinary {ARROW}": _STREAM_FORMAT,
    f"GET /resource/{{resourceId}}/glowbinary {ARROW}": _STREAM_FORMAT,
}
