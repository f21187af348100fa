"""Where the legacy interface differs from its operations: what it takes and answers. All else is uniform."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wattgate.clock import to_ms
from wattgate.errors import Path
from wattgate.rest_compat import legacy
from wattgate.rest_compat.exchange import Answer, Exchange, Given


@dataclass(frozen=True, slots=True)
class Shape:
    """The legacy form of one place of the REST interface.

    `given` makes the arguments; `places` says where in the request something stands, by where it stands in the
    arguments; `body` makes the answer; `refused` is told beside the error when credentials are refused.
    """

    given: Callable[[Exchange], Given] | None = None
    places: Mapping[Path, Path] = field(default_factory=lambda: MappingProxyType({}))
    body: Callable[[Answer], Any] | None = None
    refused: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def _home(told: dict[str, Any], resources: list[Any]) -> dict[str, Any]:
    """A virtual entity with the short form of its resources."""
    short = [
        {"resourceId": one.resource_id, "resourceTypeId": one.resource_type_id, "name": one.name} for one in resources
    ]
    return {**told, "resources": short, "veChildren": []}


def _homes(answer: Answer) -> list[dict[str, Any]]:
    return [_home(*pair) for pair in zip(answer.told, answer.edges["resources"], strict=True)]


def _attribute(answer: Answer) -> dict[str, Any]:
    return {"veId": answer.result.ve_id, "attribute": answer.result.attributes}


def _attributes_set(exchange: Exchange) -> Given:
    return Given({**exchange.path, "attributes": exchange.body})


def _attributes_removed(exchange: Exchange) -> Given:
    """The body's `removeAttributes` is an object whose keys are the names, or a list of them."""
    body = exchange.body if isinstance(exchange.body, dict) else {}
    if "removeAttributes" not in body:
        return Given(exchange.path)
    names = body["removeAttributes"]
    return Given({**exchange.path, "names": list(names) if isinstance(names, dict) else names})


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


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "POST /auth": Shape(refused={"valid": False}),
        "DELETE /auth/deleteToken": Shape(refused={"valid": False}),
        "DELETE /account/{accountId}": Shape(
            body=lambda answer: {
                "valid": True,
                **{name: answer.told[name] for name in ("accountId", "userId", "status")},
            }
        ),
        "GET /virtualentity": Shape(body=_homes),
        "GET /virtualentity/{veId}": Shape(body=lambda answer: _home(answer.told, answer.edges["resources"][0])),
        "DELETE /virtualentity/{veId}": Shape(body=lambda answer: _home(answer.told, answer.edges["resources"][0])),
        "GET /virtualentity/{veId}/attribute": Shape(body=_attribute),
        "POST /virtualentity/{veId}/attribute": Shape(
            given=_attributes_set, places={("attributes",): ()}, body=_attribute
        ),
        "DELETE /virtualentity/{veId}/attribute": Shape(
            given=_attributes_removed,
            places={("names",): ("removeAttributes",)},
            body=lambda answer: {"status": "OK", **_attribute(answer)},
        ),
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
)
"""By method and path as the catalogue has them. A place that is not here answers uniformly."""

UNIFORM = Shape()

BODY: Mapping[Path, Path] = MappingProxyType({("input",): ()})
"""An argument `input` is the body as a whole."""
