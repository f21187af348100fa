"""The gateway as `wattgate serve` serves it, with a GraphQL schema on rows in memory and without a database.

Its operations and edges are declared as in the catalogue. It listens on $PORT.
"""

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import strawberry
import uvloop
from starlette.applications import Starlette

from bench.sample import DEFAULT_FIRST, load_sample
from wattgate.app.server.edge.drain import DrainTimeouts
from wattgate.app.server.edge.serving import DrainingServer, bind_sockets, build_uvicorn_config, tune_garbage_collection
from wattgate.app.server.factory import build_gateway, serve_gateway
from wattgate.app.server.gate.auth import Authenticator
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.identity.credentials import CredentialLookup
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import Scope
from wattgate.errors import NotFound
from wattgate.graphql.execution.pipeline import GraphQLPipeline
from wattgate.graphql.execution.schema import build_schema
from wattgate.operations.core.fields import edge
from wattgate.operations.core.operation import Call, OperationKind, Unaudited, operation
from wattgate.operations.core.runner import Runner
from wattgate.principal import AuthScheme, Permission, Principal, Role
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


async def types_of(rows: Rows, resources: Sequence[ResourceRow]) -> list[TypeRow]:
    return [TYPES[resource.type_id] for resource in resources]


async def current_of(rows: Rows, resources: Sequence[ResourceRow]) -> list[ReadingRow]:
    return [READINGS[resource.id][-1] for resource in resources]


async def tariffs_of(rows: Rows, resources: Sequence[ResourceRow]) -> list[TariffRow]:
    return [TARIFFS[resource.id] for resource in resources]


async def readings_of(
    rows: Rows, resources: Sequence[ResourceRow], *, first: int = DEFAULT_FIRST
) -> list[list[ReadingRow]]:
    return [READINGS[resource.id][:first] for resource in resources]


async def resources_of(rows: Rows, homes: Sequence[HomeRow]) -> list[list[ResourceRow]]:
    return [RESOURCES[home.id] for home in homes]


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
    type: ResourceType = edge(types_of, needs=Permission.RESOURCE_TYPE_READ, description="The type of the resource.")
    current: Reading = edge(current_of, needs=Permission.READINGS_READ, description="The newest reading.")
    tariff: Tariff = edge(tariffs_of, needs=Permission.RESOURCE_READ, description="The tariff of its energy.")
    readings: list[Reading] = edge(readings_of, needs=Permission.READINGS_READ, description="The first readings.")


@strawberry.type
class Home:
    id: strawberry.ID
    name: str
    city: str
    time_zone: str
    resources: list[Resource] = edge(
        resources_of, needs=Permission.RESOURCE_READ, description="The resources of the home."
    )


@strawberry.type
class Nothing:
    """The result of the mutation. It is an object, because results of mutations are unions."""

    changed: bool


@operation(OperationKind.QUERY, returns=str, needs=Permission.ANYONE)
async def hello(call: Call) -> str:
    """A greeting."""
    return "hello"


@operation(OperationKind.QUERY, returns=Home, needs=Permission.VIRTUAL_ENTITY_READ)
async def home(call: Call, *, id: strawberry.ID) -> HomeRow:
    """The home with this id."""
    row = HOMES.get(id)
    if row is None:
        raise NotFound(f"Unknown home {id!r}. Use an id of the sample.")
    return row


@operation(OperationKind.QUERY, returns=list[Home], needs=Permission.VIRTUAL_ENTITY_READ)
async def homes(call: Call) -> list[HomeRow]:
    """Every home."""
    return list(HOMES.values())


@operation(OperationKind.QUERY, returns=list[Reading], needs=Permission.READINGS_READ)
async def readings(call: Call, *, resource_id: strawberry.ID) -> list[ReadingRow]:
    """Every reading of a resource."""
    return READINGS[resource_id]


@operation(OperationKind.MUTATION, returns=Nothing, needs=Permission.ANYONE, audit=Unaudited("It changes nothing."))
async def nothing(call: Call) -> Nothing:
    """Change nothing. A schema needs a mutation."""
    return Nothing(changed=False)


@operation(OperationKind.SUBSCRIPTION, returns=bool, needs=Permission.ANYONE)
async def never(call: Call) -> None:
    """Publish nothing. A schema needs a subscription."""


SAMPLE = load_sample()
TYPES = {one["id"]: TypeRow(**one) for one in SAMPLE["types"]}
TARIFFS = {one["resourceId"]: TariffRow(one["name"], one["rate"]) for one in SAMPLE["tariffs"]}
READINGS = {key: [ReadingRow(**one) for one in some] for key, some in SAMPLE["readings"].items()}
HOMES = {one["id"]: HomeRow(one["id"], one["name"], one["city"], one["timeZone"]) for one in SAMPLE["homes"]}
RESOURCES: dict[str, list[ResourceRow]] = defaultdict(list)
for one in SAMPLE["resources"]:
    row = ResourceRow(one["id"], one["typeId"], one["name"], one["classifier"], one["unit"])
    RESOURCES[one["homeId"]].append(row)
PRINCIPALS = {
    token: Principal(Role.ACCOUNT, AuthScheme.TOKEN, application_id="bench", user_id=user, account_id=user)
    for token, user in SAMPLE["tokens"].items()
}


class InMemoryCredentials(CredentialLookup):
    """The tokens of the sample."""

    async def principal_by_token(self, token: str, now: datetime) -> Principal | None:
        return PRINCIPALS.get(token)


class InMemoryDatabase(Database):
    """A database without a server. Its readers are None, because the loaders use rows in memory."""

    def __init__(self) -> None:
        super().__init__("sqlite:///nothing.sqlite3")  # never opened

    def reader(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return nullcontext()


def build_bench_application(settings: Settings) -> Starlette:
    """Return the application of `wattgate serve`, whose GraphQL endpoint uses rows and tokens in memory."""
    gateway = build_gateway(settings)
    database = InMemoryDatabase()
    schema = build_schema((hello, home, homes, readings, nothing, never))
    pipeline = GraphQLPipeline(schema, Runner(database, MemoryBus()), budgets=gateway.budgets)
    in_memory = replace(gateway, pipeline=pipeline, authenticator=Authenticator(InMemoryCredentials(database)))
    return serve_gateway(settings, in_memory)


async def serve() -> None:
    """Serve the application by the server of `wattgate serve`."""
    config = build_uvicorn_config(build_bench_application(Settings(_env_file=None)))
    config.lifespan = "off"  # there is no database to open
    tune_garbage_collection()
    await DrainingServer(config, DrainTimeouts()).serve(bind_sockets("127.0.0.1", int(os.environ["PORT"])))


if __name__ == "__main__":
    uvloop.run(serve())
