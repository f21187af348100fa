"""The gateway's executor and its GraphQL endpoint on rows in memory: declarations as in the catalogue, and no database.

It listens on $PORT.
"""

import os
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import strawberry
import uvloop

from bench.sample import FIRST, loaded
from wattgate.app.server.drain import Drain
from wattgate.app.server.serving import Server, config, listeners
from wattgate.db.engine import Database
from wattgate.db.rows import Rows
from wattgate.errors import NotFound, Unauthenticated
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.execution.pipeline import Gate
from wattgate.graphql.execution.schema import build
from wattgate.graphql.transport.http import Endpoint
from wattgate.principal import Permission, Principal, Role, Scheme
from wattgate.realtime.bus.memory import MemoryBus


class TypeRow(msgspec.Struct, gc=False):
    id: str
    name: str
    label: str


class ReadingRow(msgspec.Struct, gc=False):
    at: str
    value: float
    unit: str
    estimated: bool


class TariffRow(msgspec.Struct, gc=False):
    name: str
    rate: float


class ResourceRow(msgspec.Struct, gc=False):
    id: str
    type_id: str
    name: str
    classifier: str
    unit: str


class HomeRow(msgspec.Struct, gc=False):
    id: str
    name: str
    city: str
    time_zone: str


async def types_of(rows: Rows, some: Sequence[ResourceRow]) -> list[TypeRow]:
    return [TYPES[one.type_id] for one in some]


async def current_of(rows: Rows, some: Sequence[ResourceRow]) -> list[ReadingRow]:
    return [READINGS[one.id][-1] for one in some]


async def tariffs_of(rows: Rows, some: Sequence[ResourceRow]) -> list[TariffRow]:
    return [TARIFFS[one.id] for one in some]


async def readings_of(rows: Rows, some: Sequence[ResourceRow], *, first: int = FIRST) -> list[list[ReadingRow]]:
    return [READINGS[one.id][:first] for one in some]


async def resources_of(rows: Rows, some: Sequence[HomeRow]) -> list[list[ResourceRow]]:
    return [RESOURCES[one.id] for one in some]


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
    type: ResourceType = edge(types_of, needs=Permission.RESOURCE_TYPE_READ, description="What it measures.")
    current: Reading = edge(current_of, needs=Permission.READINGS_READ, description="The newest reading.")
    tariff: Tariff = edge(tariffs_of, needs=Permission.RESOURCE_READ, description="What its energy costs.")
    readings: list[Reading] = edge(readings_of, needs=Permission.READINGS_READ, description="The first readings.")


@strawberry.type
class Home:
    id: strawberry.ID
    name: str
    city: str
    time_zone: str
    resources: list[Resource] = edge(resources_of, needs=Permission.RESOURCE_READ, description="What it has.")


@operation(Kind.QUERY, returns=str, needs=Permission.ANYONE)
async def hello(call: Call) -> str:
    """A greeting."""
    return "hello"


@operation(Kind.QUERY, returns=Home, needs=Permission.VIRTUAL_ENTITY_READ)
async def home(call: Call, *, id: strawberry.ID) -> HomeRow:
    """The home with this id."""
    found = HOMES.get(id)
    if found is None:
        raise NotFound(f"no home with id {id}")
    return found


@operation(Kind.QUERY, returns=list[Home], needs=Permission.VIRTUAL_ENTITY_READ)
async def homes(call: Call) -> list[HomeRow]:
    """Every home."""
    return list(HOMES.values())


@operation(Kind.QUERY, returns=list[Reading], needs=Permission.READINGS_READ)
async def readings(call: Call, *, resource_id: strawberry.ID) -> list[ReadingRow]:
    """Every reading of a resource."""
    return READINGS[resource_id]


@operation(Kind.MUTATION, returns=bool, needs=Permission.ANYONE)
async def nothing(call: Call) -> bool:
    """Change nothing: a schema has a mutation."""
    return True


@operation(Kind.SUBSCRIPTION, returns=bool, needs=Permission.ANYONE)
async def never(call: Call) -> None:
    """Tell nothing: a schema has a subscription."""


SAMPLE = loaded()
TYPES = {one["id"]: TypeRow(**one) for one in SAMPLE["types"]}
TARIFFS = {one["resourceId"]: TariffRow(one["name"], one["rate"]) for one in SAMPLE["tariffs"]}
READINGS = {key: [ReadingRow(**one) for one in some] for key, some in SAMPLE["readings"].items()}
HOMES = {one["id"]: HomeRow(one["id"], one["name"], one["city"], one["timeZone"]) for one in SAMPLE["homes"]}
RESOURCES: dict[str, list[ResourceRow]] = defaultdict(list)
for one in SAMPLE["resources"]:
    row = ResourceRow(one["id"], one["typeId"], one["name"], one["classifier"], one["unit"])
    RESOURCES[one["homeId"]].append(row)
PRINCIPALS = {
    token: Principal(Role.ACCOUNT, Scheme.TOKEN, application_id="bench", user_id=user, account_id=user)
    for token, user in SAMPLE["tokens"].items()
}


async def authenticate(headers: Mapping[str, str]) -> Principal:
    """Whose token it is."""
    principal = PRINCIPALS.get(headers.get("token", ""))
    if principal is None:
        raise Unauthenticated("Access denied")
    return principal


class Nothing(Database):
    """A database without a server: its sessions are None, and what the declarations load is in memory."""

    def __init__(self) -> None:
        super().__init__("sqlite:///nothing.sqlite3")  # nobody connects

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Any]:
        yield None


async def serve() -> None:
    """Serve the endpoint alone, with the settings of `wattgate serve`."""
    schema = build((hello, home, homes, readings, nothing, never))
    endpoint = Endpoint(Gate(schema, Runner(Nothing(), MemoryBus())), authenticate, ide=False)
    served = config(endpoint)
    served.lifespan = "off"  # the endpoint answers requests and knows of nothing else
    await Server(served, Drain()).serve(listeners("127.0.0.1", int(os.environ["PORT"])))


if __name__ == "__main__":
    uvloop.run(serve())
