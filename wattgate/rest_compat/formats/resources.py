"""The resource system, as the legacy interface has it."""

from collections.abc import Callable, Mapping
from typing import Any

from wattgate.clock import to_ms
from wattgate.errors import GatewayError
from wattgate.graphql.resolvers.raw_readings import ARROW
from wattgate.graphql.transport.bulk import Unreadable
from wattgate.rest_compat.arrow import readings as arrow
from wattgate.rest_compat.bulk_intake import TAKES
from wattgate.rest_compat.formats import readings as legacy
from wattgate.rest_compat.formats.legacy_format import Shape
from wattgate.rest_compat.formats.tariffs import tariff, tariff_list
from wattgate.rest_compat.legacy_request import Answer


def _time(name: str, edge: str) -> Callable[[Answer], Any]:
    def body(answer: Answer) -> Any:
        (time,) = answer.edges[edge]
        return legacy.envelope(answer.result, {name: time and to_ms(time) // 1000})

    return body


def _current(answer: Answer) -> Any:
    (current,) = answer.edges["current"]
    if current is None:
        return legacy.envelope(answer.result, [])
    return legacy.envelope(answer.result, [[to_ms(current.at) // 1000, current.value]], units=current.unit)


def _meter_read(answer: Answer) -> Any:
    read = answer.result
    return legacy.envelope(read.resource, [[to_ms(read.at) // 1000, read.value]], units=read.unit)


def _catch_up(answer: Answer) -> Any:
    """`valid` is true whether this call started it or the half hour's earlier one stands."""
    catch_up = answer.result.catch_up
    status = "started" if answer.result.started else "this half hour has one already"
    told = {"valid": True, "status": status, "catchUpId": catch_up.catch_up_id, "state": catch_up.state.value}
    return legacy.envelope(answer.result.resource, told)


def _unreadable(error: GatewayError, body: dict[str, Any]) -> dict[str, Any]:
    """A stream that breaks off says so; the lines before that were refused are no elements that are incorrect."""
    return {**body, "error": error.message} if isinstance(error, Unreadable) else body


_STREAM = Shape(given=legacy.raw_given, places=legacy.READINGS_PLACES, stream=arrow.stream)


RESOURCES: Mapping[str, Shape] = {
    "POST /resource": Shape(
        body=lambda answer: {
            "status": "OK",
            "valid": True,
            "resourceId": answer.result.resource_id,
            "resourceApplicationAccess": [answer.result.application_id],
        }
    ),
    "GET /resource/{resourceId}/readings": Shape(
        given=legacy.readings_given, places=legacy.READINGS_PLACES, body=legacy.readings_body
    ),
    "POST /resource/{resourceId}/readings": Shape(
        given=legacy.readings_posted,
        places=legacy.POSTED_PLACES,
        body=lambda answer: {"status": "OK", **answer.told},
    ),
    "POST /readings": Shape(streams=TAKES, error=_unreadable),
    "GET /resource/{resourceId}/current": Shape(body=_current),
    "GET /resource/{resourceId}/first-time": Shape(body=_time("firstTs", "firstTime")),
    "GET /resource/{resourceId}/last-time": Shape(body=_time("lastTs", "lastTime")),
    "GET /resource/{resourceId}/tariff": Shape(body=tariff),
    "GET /resource/{resourceId}/tariff-list": Shape(body=tariff_list),
    "GET /resource/{resourceId}/meterread": Shape(body=_meter_read),
    "GET /resource/{resourceId}/catchup": Shape(body=_catch_up),
    f"GET /resource/{{resourceId}}/readings {ARROW}": _STREAM,
    f"GET /resource/{{resourceId}}/platformbinary {ARROW}": _STREAM,
    f"GET /resource/{{resourceId}}/glowbinary {ARROW}": _STREAM,
}
