"""The data and the queries of the servers in `bench/graphql.py` that have no database."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from bench.load import BenchQuery

PATH = "SAMPLE"
"""The environment variable that names the file of the sample."""

START = datetime(2025, 1, 1, tzinfo=UTC)
HOMES, RESOURCES, SAMPLES, DEFAULT_FIRST = 20, 4, 384, 5
"""The numbers of homes, of resources in each home, of readings of each resource, and the default of `first`."""


HELLO = "{ hello }"
HOME = """query ($id: ID!) {
  home(id: $id) {
    id name city timeZone
    resources { id name classifier unit type { name label } current { at value } tariff { name rate } }
  }
}"""
READINGS = "query ($id: ID!) { readings(resourceId: $id) { at value unit estimated } }"
TREE = "{ homes { id name resources { id name readings { at value unit estimated } } } }"


def home_id(home: int) -> str:
    """Return the id of a home."""
    return f"home-{home:02}"


def resource_id(home: int, resource: int) -> str:
    """Return the id of a resource of a home."""
    return f"{home_id(home)}-{resource}"


def queries() -> list[BenchQuery]:
    """Return the queries that each server executes."""
    ids = [{"id": home_id(home)} for home in range(HOMES)]
    resource_ids = [{"id": resource_id(home, 0)} for home in range(HOMES)]
    return [
        BenchQuery("hello", HELLO, [{}], 32),
        BenchQuery("home", HOME, ids, 32),
        BenchQuery("readings", READINGS, resource_ids, 8),
        BenchQuery("tree", TREE, [{}], 4),
    ]


def build_sample(tokens: int = 1000) -> dict[str, Any]:
    """Return homes with their resources, types, tariffs and readings, and valid tokens."""
    positions = [(home, resource) for home in range(HOMES) for resource in range(RESOURCES)]
    return {
        "tokens": {f"token-{number:04}-of-a-user-who-has-logged-in": f"user-{number:04}" for number in range(tokens)},
        "types": [
            {"id": f"type-{number}", "name": f"energy {number}", "label": f"Energy {number}"}
            for number in range(RESOURCES)
        ],
        "homes": [
            {"id": home_id(home), "name": f"Home {home}", "city": "Bristol", "timeZone": "Europe/London"}
            for home in range(HOMES)
        ],
        "resources": [
            {
                "id": resource_id(home, resource),
                "homeId": home_id(home),
                "typeId": f"type-{resource}",
                "name": f"Resource {resource}",
                "classifier": "electricity.consumption",
                "unit": "kWh",
            }
            for home, resource in positions
        ],
        "tariffs": [
            {"resourceId": resource_id(*position), "name": "Flat", "rate": 24.5 + position[0]} for position in positions
        ],
        "readings": {resource_id(*position): _readings(position) for position in positions},
    }


def _readings(position: tuple[int, int]) -> list[dict[str, Any]]:
    return [
        {
            "at": f"{START + n * timedelta(minutes=30):%Y-%m-%dT%H:%M:%S.000Z}",
            "value": round(((n * 7919 + 97 * position[0] + position[1]) % 2500) / 1000 + 0.0005, 4),
            "unit": "kWh",
            "estimated": n % 7 == 0,
        }
        for n in range(SAMPLES)
    ]


def load_sample() -> dict[str, Any]:
    """Return the sample from the file that the environment names."""
    loaded: dict[str, Any] = orjson.loads(Path(os.environ[PATH]).read_bytes())
    return loaded
