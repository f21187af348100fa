"""What the legacy interface makes of an operation's arguments and result, said a second time for the tests.

By method and path; places that are not here are uniform.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.support import examples_areas, examples_devices, examples_users

Change = Callable[[dict[str, Any]], Any]


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _readings_query(given: dict[str, Any]) -> dict[str, Any]:
    """GraphQL's end is exclusive, the legacy `to` is inclusive; legacy times have no zone."""
    start, end = (datetime.fromisoformat(given["range"][name]).replace(tzinfo=None) for name in ("start", "end"))
    last = end - timedelta(seconds=1)
    return {
        "resourceId": given["resourceId"],
        "from": start.isoformat(),
        "to": last.isoformat(),
        "period": given["period"],
        "function": "sum",
        "nulls": 1,
    }


def _envelope(resource: dict[str, Any]) -> dict[str, Any]:
    told = {name: resource[name] for name in ("name", "resourceTypeId", "resourceId", "classifier")}
    return {"status": "OK", "query": {}, "units": resource["baseUnit"], **told}


def _readings(series: dict[str, Any]) -> dict[str, Any]:
    return {
        **_envelope(series["resource"]),
        "data": [[epoch(bucket["start"]), bucket["value"]] for bucket in series["buckets"]],
        "query": {
            "from": "2026-01-05T00:00:00",
            "to": "2026-01-05T01:59:59",
            "period": "PT30M",
            "function": "sum",
        },
        "units": series["unit"],
    }


REST_TAKES: dict[str, Change] = {
    "GET /resource/{resourceId}/readings": _readings_query,
    "POST /resource/{resourceId}/readings": lambda given: given["series"][0],
    "POST /virtualentity/{veId}/attribute": lambda given: {"veId": given["veId"], **given["attributes"]},
    "DELETE /virtualentity/{veId}/attribute": lambda given: {
        "veId": given["veId"],
        "removeAttributes": dict.fromkeys(given["names"], ""),
    },
    **examples_areas.REST_TAKES,
    **examples_users.REST_TAKES,
    **examples_devices.REST_TAKES,
}


def _home(told: dict[str, Any]) -> dict[str, Any]:
    short = [{name: one[name] for name in ("resourceId", "resourceTypeId", "name")} for one in told["resources"]]
    return {**told, "resources": short, "veChildren": []}


def _attribute(told: dict[str, Any]) -> dict[str, Any]:
    return {"veId": told["veId"], "attribute": told["attributes"]}


def _current(told: dict[str, Any]) -> dict[str, Any]:
    current = told["current"]
    return {**_envelope(told), "data": [[epoch(current["at"]), current["value"]]], "units": current["unit"]}


def _tariff(told: dict[str, Any]) -> dict[str, Any]:
    tariff = told["tariff"]
    rate, standing = (float(told["currentRates"][name]) for name in ("rate", "standingCharge"))
    plan = [{"weekName": "1", "source": "user", "planDetail": [{"rate": rate}, {"standing": standing}]}]
    one = {
        "id": tariff["tariffId"],
        "name": "Standard",
        "commodity": "ELEC",
        "cid": "PWER",
        "type": "flatrate",
        "utility": "",
        "from": "2024-01-01 00:00:00",
        "currentRates": {"rate": rate, "standingCharge": standing},
        "structure": plan,
        "plan": plan,
    }
    return {**_envelope(told), "data": [one]}


REST_GIVES: dict[str, Change] = {
    "GET /virtualentity": lambda told: [_home(one) for one in told],  # type: ignore[arg-type]
    "GET /virtualentity/{veId}": _home,
    "DELETE /virtualentity/{veId}": _home,
    "GET /virtualentity/{veId}/attribute": _attribute,
    "POST /virtualentity/{veId}/attribute": _attribute,
    "DELETE /virtualentity/{veId}/attribute": lambda told: {"status": "OK", **_attribute(told)},
    "DELETE /account/{accountId}": lambda told: {
        "valid": True,
        **{name: told[name] for name in ("accountId", "userId", "status")},
    },
    "POST /resource": lambda told: {
        "status": "OK",
        "valid": True,
        "resourceId": told["resourceId"],
        "resourceApplicationAccess": [],
    },
    "GET /resource/{resourceId}/readings": _readings,
    "POST /resource/{resourceId}/readings": lambda told: {"status": "OK", **told},
    "GET /resource/{resourceId}/current": _current,
    "GET /resource/{resourceId}/first-time": lambda told: {
        **_envelope(told),
        "data": {"firstTs": epoch(told["firstTime"])},
    },
    "GET /resource/{resourceId}/last-time": lambda told: {
        **_envelope(told),
        "data": {"lastTs": epoch(told["lastTime"])},
    },
    "GET /resource/{resourceId}/tariff": _tariff,
    **examples_areas.REST_GIVES,
    **examples_users.REST_GIVES,
    **examples_devices.REST_GIVES,
}
