"""The resource system, as the legacy interface has it."""

from collections.abc import Callable, Mapping
from typing import Any

from wattgate.clock import to_ms
from wattgate.rest_compat import legacy
from wattgate.rest_compat.exchange import Answer
from wattgate.rest_compat.shapes.shape import Shape


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


def _tariff(answer: Answer) -> Any:
    """One entry, or none where no tariff is known. Rates are in pence; dates have a space and no zone."""
    (tariff,) = answer.edges["tariff"]
    if tariff is None:
        return legacy.envelope(answer.result, [])
    rate, standing = float(tariff.rate), float(tariff.standing_charge)
    plan = [{"weekName": "1", "source": "wattgate", "planDetail": [{"rate": rate}, {"standing": standing}]}]
    gas = answer.result.classifier.startswith("gas")
    told = {
        "id": tariff.tariff_id,
        "name": tariff.name,
        "commodity": "GAS" if gas else "ELEC",
        "cid": "GAS" if gas else "PWER",
        "type": "flatrate",
        "utility": "",
        "from": tariff.valid_from.strftime("%Y-%m-%d %H:%M:%S"),
        "currentRates": {"rate": rate, "standingCharge": standing},
        "structure": plan,
        "plan": plan,
    }
    return legacy.envelope(answer.result, [told])


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
    "GET /resource/{resourceId}/current": Shape(body=_current),
    "GET /resource/{resourceId}/first-time": Shape(body=_time("firstTs", "firstTime")),
    "GET /resource/{resourceId}/last-time": Shape(body=_time("lastTs", "lastTime")),
    "GET /resource/{resourceId}/tariff": Shape(body=_tariff),
}
