"""A subscription server written with Strawberry alone, with a queue for each subscriber. It listens on $PORT."""

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import strawberry
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from strawberry.asgi import GraphQL
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL


@strawberry.type
class Reading:
    resource_id: strawberry.ID
    field: str
    at: datetime
    value: float
    unit: str


queues: dict[str, set[asyncio.Queue[Reading]]] = defaultdict(set)


@strawberry.type
class Query:
    hello: str = "hello"


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def readings(self, resource_ids: list[strawberry.ID]) -> AsyncIterator[Reading]:
        queue: asyncio.Queue[Reading] = asyncio.Queue()
        for resource_id in resource_ids:
            queues[resource_id].add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            for resource_id in resource_ids:
                queues[resource_id].discard(queue)


async def publish(request: Request) -> Response:
    """Publish the requested number of readings of each resource, at the requested interval."""
    command = await request.json()
    for number in range(command["events"]):
        for resource_id in command["resources"]:
            reading = Reading(
                resource_id=resource_id, field="POWER", at=datetime.now(UTC), value=float(number), unit="W"
            )
            for queue in queues[resource_id]:
                queue.put_nowait(reading)
        await asyncio.sleep(command["every"])
    return Response()


graphql = GraphQL[None, None](
    strawberry.Schema(Query, subscription=Subscription), subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL]
)
app = Starlette(routes=[Route("/publish", publish, methods=["POST"]), WebSocketRoute("/graphql", graphql)])

if __name__ == "__main__":
    uvicorn.run(
        app,
        port=int(os.environ["PORT"]),
        log_level="warning",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
    )
