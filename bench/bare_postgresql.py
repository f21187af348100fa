"""The floor of the cost of reads from PostgreSQL: the statements by hand, and nothing else.

The server listens on $PORT and answers the documents of the benchmark from the database at $DATABASE_URL, with the
data of the gateway. It checks no token, permission, consent or limit, and does not parse the document.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import asyncpg
import msgspec
import numpy as np
import uvicorn
import uvloop

MAX_CONNECTIONS = 10

HOME = "SELECT ve_id, name, city, time_zone FROM virtual_entity WHERE ve_id = $1"
RESOURCES = """
    SELECT resource_id, name, classifier, base_unit, resource_type_id, number
    FROM resource JOIN virtual_entity_resource USING (resource_id)
    WHERE ve_id = $1 AND active ORDER BY name, resource_id"""
TYPES = "SELECT resource_type_id, name, label FROM resource_type WHERE resource_type_id = ANY($1)"
CURRENT = """
    SELECT number, at, value FROM unnest($1::integer[]) AS wanted(number)
    CROSS JOIN LATERAL (
        SELECT at, value FROM reading WHERE resource_number = number AND field = 0 ORDER BY at DESC LIMIT 1
    ) AS newest"""
TARIFFS = """
    SELECT resource_id, name, rate FROM tariff
    WHERE resource_id = ANY($1) AND superseded_at IS NULL AND valid_from <= now() ORDER BY valid_from"""
MONTH = """
    SELECT string_agg(int8send(at), ''), string_agg(int8send(value), '')
    FROM (
        SELECT at, value FROM reading JOIN resource ON number = resource_number
        WHERE resource_id = $1 AND field = 0 AND at >= $2 AND at < $3 ORDER BY at
    ) AS samples"""

BIGINT_DTYPE = ">i8"
"""The format of PostgreSQL's int8send."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class BareServer:
    """An ASGI application with a pool of connections of the driver."""

    def __init__(self) -> None:
        self._pool: Any = None

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        request = decode((await receive())["body"])
        document, variables = request["query"], request["variables"]
        if "readings" in document:
            data = await self._month(variables, is_columns="columns" in document)
        else:
            data = await self._home(variables["id"])
        body = encode({"data": data})
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def serve(self) -> None:
        """Serve until the process is killed."""
        config = uvicorn.Config(
            self, port=int(os.environ["PORT"]), log_level="warning", access_log=False, lifespan="off", loop="none"
        )
        url = os.environ["DATABASE_URL"]
        async with asyncpg.create_pool(url, min_size=1, max_size=MAX_CONNECTIONS) as self._pool:
            await uvicorn.Server(config).serve()

    async def _home(self, ve_id: str) -> dict[str, Any]:
        async with self._pool.acquire() as connection:
            ((ve_id, name, city, time_zone),) = await connection.fetch(HOME, ve_id)
            resources = await connection.fetch(RESOURCES, ve_id)
            ids = [row[0] for row in resources]
            types = {key: row for key, *row in await connection.fetch(TYPES, list({row[4] for row in resources}))}
            current = {key: row for key, *row in await connection.fetch(CURRENT, [row[5] for row in resources])}
            tariffs = {key: row for key, *row in await connection.fetch(TARIFFS, ids)}
        owned = [
            {
                "resourceId": resource_id,
                "name": resource_name,
                "classifier": classifier,
                "baseUnit": unit,
                "type": {"name": types[type_id][0], "label": types[type_id][1]},
                "current": {"at": format_at(current[number][0]), "value": current[number][1] / 1000},
                "tariff": {"name": tariffs[resource_id][0], "rate": {"amount": format_rate(tariffs[resource_id][1])}},
            }
            for resource_id, resource_name, classifier, unit, type_id, number in resources
        ]
        home = {"homeId": ve_id, "name": name, "city": city, "timeZone": time_zone, "resources": owned}
        return {"home": home}

    async def _month(self, variables: Mapping[str, Any], *, is_columns: bool) -> dict[str, Any]:
        start, end = (datetime.fromisoformat(variables["range"][name]) for name in ("start", "end"))
        bounds = [int(instant.timestamp() * 1000) for instant in (start, end)]
        async with self._pool.acquire() as connection:
            ((instants, numbers),) = await connection.fetch(MONTH, variables["id"], *bounds)
        starts = [*map(format_at, np.frombuffer(instants, BIGINT_DTYPE).astype(np.int64).tolist())]
        values = (np.frombuffer(numbers, BIGINT_DTYPE) / 1000).tolist()
        if is_columns:
            return {"readings": {"columns": {"start": starts, "value": values}}}
        buckets = [{"start": at, "value": value} for at, value in zip(starts, values, strict=True)]
        return {"readings": {"buckets": buckets}}


@cache
def format_at(at: int) -> str:
    """Return milliseconds since 1970 as ISO 8601. The few instants of the benchmark are formatted once."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def format_rate(rate: int) -> str:
    """Return a stored rate, in millionths of a penny, as the text of its pounds."""
    return f"{Decimal(rate).scaleb(-8).normalize():f}"


if __name__ == "__main__":
    uvloop.run(BareServer().serve())
