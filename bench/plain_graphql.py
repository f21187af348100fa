"""A GraphQL server written with Strawberry alone, with the caches that its documentation recommends.

It listens on $PORT. Resolvers of related records are asynchronous in all servers of this benchmark, as with a database.
"""

import os
from collections import defaultdict

import strawberry
import uvicorn
from cross_web import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.extensions import ParserCache, ValidationCache

from bench.sample import DEFAULT_FIRST, load_sample


@strawberry.type
class ResourceType:
    id: strawberry.ID
    name: str
    label: str


@strawberry.type
class Reading:
    at: str
    value: float
    unit: str
    estimated: bool


@strawberry.type
class Tariff:
    name: str
    rate: float


@strawberry.type
class Resource:
    id: strawberry.ID
    name: str
    classifier: str
    unit: str
    type_id: strawberry.Private[str]

    @strawberry.field
    async def type(self) -> ResourceType:
        return TYPES[self.type_id]

    @strawberry.field
    async def current(self) -> Reading:
        return READINGS[self.id][-1]

    @strawberry.field
    async def tariff(self) -> Tariff:
        return TARIFFS[self.id]

    @strawberry.field
    async def readings(self, first: int = DEFAULT_FIRST) -> list[Reading]:
        return READINGS[self.id][:first]


@strawberry.type
class Home:
    id: strawberry.ID
    name: str
    city: str
    time_zone: str

    @strawberry.field
    async def resources(self) -> list[Resource]:
        return RESOURCES[self.id]


@strawberry.type
class Query:
    @strawberry.field
    async def hello(self) -> str:
        return "hello"

    @strawberry.field
    async def home(self, id: strawberry.ID) -> Home:
        return HOMES[id]

    @strawberry.field
    async def homes(self) -> list[Home]:
        return list(HOMES.values())

    @strawberry.field
    async def readings(self, resource_id: strawberry.ID) -> list[Reading]:
        return READINGS[resource_id]


SAMPLE = load_sample()
TOKENS: dict[str, str] = SAMPLE["tokens"]
TYPES = {one["id"]: ResourceType(**one) for one in SAMPLE["types"]}
TARIFFS = {one["resourceId"]: Tariff(name=one["name"], rate=one["rate"]) for one in SAMPLE["tariffs"]}
READINGS = {key: [Reading(**one) for one in some] for key, some in SAMPLE["readings"].items()}
HOMES = {
    one["id"]: Home(id=one["id"], name=one["name"], city=one["city"], time_zone=one["timeZone"])
    for one in SAMPLE["homes"]
}
RESOURCES: dict[str, list[Resource]] = defaultdict(list)
for one in SAMPLE["resources"]:
    values = {key: one[key] for key in ("id", "name", "classifier", "unit")}
    RESOURCES[one["homeId"]].append(Resource(**values, type_id=one["typeId"]))


class Endpoint(GraphQL[dict[str, str], None]):
    """Strawberry's view with a check of the token."""

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> dict[str, str]:
        user = TOKENS.get(request.headers.get("token", ""))
        if user is None:
            raise HTTPException(401, "Access denied")
        return {"user": user}


app = Endpoint(strawberry.Schema(Query, extensions=[ParserCache, ValidationCache]))

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ["PORT"]), lifespan="off", log_level="warning", access_log=False)
