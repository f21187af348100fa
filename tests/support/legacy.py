"""Legacy REST formats, implemented independently of the product code for comparison.

Each table maps the method and path of an endpoint to the conversion of the GraphQL arguments or result. Endpoints that
are not listed use the uniform format.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.support import examples_areas, examples_devices, examples_users
from tests.support.example import pence_of
from tests.support.sample_records import FAILED_ATTEMPT

Change = Callable[[dict[str, Any]], Any]


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _readings_query(arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert the range: the GraphQL end is exclusive, the legacy `to` is inclusive, and legacy times have no zone."""
    start, end = (datetime.fromisoformat(arguments["range"][name]).replace(tzinfo=None) for name in ("start", "end"))
    last = end - timedelta(seconds=1)
    return {
        "resourceId": arguments["resourceId"],
        "from": start.isoformat(),
        "to": last.isoformat(),
        "period": arguments["period"],
        "function": "sum",
        "nulls": 1,
    }


def _envelope(resource: dict[str, Any]) -> dict[str, Any]:
    members = {name: resource[name] for name in ("name", "resourceTypeId", "resourceId", "classifier")}
    return {"status": "OK", "query": {}, "units": resource["baseUnit"], **members}


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


REST_ARGUMENTS: dict[str, Change] = {
    "GET /resource/{resourceId}/readings": _readings_query,
    "POST /resource/{resourceId}/readings": lambda arguments: arguments["series"][0],
    "POST /virtualentity/{veId}/attribute": lambda arguments: {"veId": arguments["veId"], **arguments["attributes"]},
    "DELETE /virtualentity/{veId}/attribute": lambda arguments: {
        "veId": arguments["veId"],
        "removeAttributes": dict.fromkeys(arguments["names"], ""),
    },
    **examples_areas.REST_ARGUMENTS,
    **examples_users.REST_ARGUMENTS,
    **examples_devices.REST_ARGUMENTS,
}


def _home(result: dict[str, Any]) -> dict[str, Any]:
    short = [{name: item[name] for name in ("resourceId", "resourceTypeId", "name")} for item in result["resources"]]
    return {**result, "resources": short, "veChildren": []}


def _attribute(result: dict[str, Any]) -> dict[str, Any]:
    return {"veId": result["veId"], "attribute": result["attributes"]}


def _current(result: dict[str, Any]) -> dict[str, Any]:
    current = result["current"]
    return {**_envelope(result), "data": [[epoch(current["at"]), current["value"]]], "units": current["unit"]}


def _tariff(result: dict[str, Any]) -> dict[str, Any]:
    tariff = result["tariff"]
    rates = (result["currentRates"][name] for name in ("rateWithVat", "standingChargeWithVat"))
    rate, standing = (pence_of(rate) for rate in rates)
    plan = [{"weekName": "1", "source": "user", "planDetail": [{"rate": rate}, {"standing": standing}]}]
    entry = {
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
    return {**_envelope(result), "data": [entry]}


def _webhook(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "failedAttempts": [_attempt(attempt) for attempt in result["failedAttempts"]]}


def _attempt(attempt: dict[str, Any]) -> dict[str, Any]:
    """Return the attempt of the sample record, with the members that GraphQL has."""
    status, error = attempt["statusCode"], FAILED_ATTEMPT["error"]
    inner = {"statusCode": status, "message": attempt["reason"]}
    return {
        "attempt": attempt["number"],
        "attemptAt": attempt["at"],
        "statusCode": status,
        "error": {**error, "error": inner},
    }


def _answer(result: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in result.items() if name != "accepted"}
    return {**others, "data": {"dataAccess": {"valid": result["accepted"]}}}


REST_RESULTS: dict[str, Change] = {
    "GET /webhook/{webhookId}": _webhook,
    "GET /webhook/error/{errorId}": lambda result: {**result, "attempt": _attempt(result["attempt"])},
    "POST /termsconditionsuser": _answer,
    "GET /termsconditionsuser/{tcUserId}": _answer,
    "GET /termsconditionsuser": lambda result: [_answer(item) for item in result],  # type: ignore[arg-type]
    "GET /dfs/termsconditions": lambda result: [item for item in result if item["reference"] == "dfs"],  # type: ignore[index]
    "GET /virtualentity": lambda result: [_home(item) for item in result],  # type: ignore[arg-type]
    "GET /virtualentity/{veId}": _home,
    "DELETE /virtualentity/{veId}": _home,
    "POST /virtualentity/{veId}/resources": _home,
    "DELETE /virtualentity/{veId}/resources/{resourceId}": _home,
    "GET /virtualentity/{veId}/attribute": _attribute,
    "POST /virtualentity/{veId}/attribute": _attribute,
    "DELETE /virtualentity/{veId}/attribute": lambda result: {"status": "OK", **_attribute(result)},
    "DELETE /account/{accountId}": lambda result: {
        "valid": True,
        **{name: result[name] for name in ("accountId", "userId", "status")},
    },
    "POST /resource": lambda result: {
        "status": "OK",
        "valid": True,
        "resourceId": result["resourceId"],
        "resourceApplicationAccess": [],
    },
    "GET /resource/{resourceId}/readings": _readings,
    "POST /resource/{resourceId}/readings": lambda result: {"status": "OK", **result},
    "GET /resource/{resourceId}/current": _current,
    "GET /resource/{resourceId}/first-time": lambda result: {
        **_envelope(result),
        "data": {"firstTs": epoch(result["firstTime"])},
    },
    "GET /resource/{resourceId}/last-time": lambda result: {
        **_envelope(result),
        "data": {"lastTs": epoch(result["lastTime"])},
    },
    "GET /resource/{resourceId}/tariff": _tariff,
    **examples_areas.REST_RESULTS,
    **examples_users.REST_RESULTS,
    **examples_devices.REST_RESULTS,
}
