"""A gateway in a process of its own, on a database with an application, a user, and resources to fill."""

import http.client
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from socket import create_server
from typing import Any

import orjson
from strawberry import ID

from tests.support.house import operation
from wattgate.app.server.factory import Gateway, assemble
from wattgate.app.settings import Settings
from wattgate.db.migrate import upgrade
from wattgate.graphql.resolvers import provisioning, resources, tokens
from wattgate.graphql.types import resources as types
from wattgate.graphql.types import virtual_entities as home_types
from wattgate.principal import Principal, Role

USERNAME, PASSWORD = "bench@example.org", "correct horse"

SERVED = {
    "WATTGATE_LOG_LEVEL": "warning",
    "WATTGATE_CALLER_BUDGET": str(10**9),  # all is charged, and nobody is refused
    "WATTGATE_APPLICATION_BUDGET": str(10**9),
}
"""Settings of a gateway that is measured."""


@dataclass(frozen=True)
class Owner:
    """An assembled gateway of this process, and a user of it with resources."""

    gateway: Gateway
    application_id: str
    user_id: str
    token: str
    resource_ids: list[str]
    numbers: list[int]

    @property
    def system(self) -> Principal:
        return Principal(Role.SYSTEM, application_id=self.application_id, user_id=self.user_id)

    async def add_homes(self, resource_ids: list[str]) -> list[str]:
        """A home for each resource; their ids."""
        run, system = self.gateway.runner.run, self.system
        kind = home_types.NewVirtualEntityType(name="Home")
        type_id = ID((await run(operation("add_virtual_entity_type"), system, {"input": kind})).ve_type_id)
        made = []
        for one in resource_ids:
            owned = home_types.OwnedResource(resource_id=ID(one))
            given = home_types.NewVirtualEntity(ve_type_id=type_id, name="Home", resources=[owned])
            made.append(await run(operation("add_virtual_entity"), system, {"input": given}))
        return [home.ve_id for home in made]


@dataclass(frozen=True)
class Bench(Owner):
    """The same, and a gateway that is served by another process."""

    connection: http.client.HTTPConnection

    def post(self, path: str, body: bytes, media: str = "application/json") -> Any:
        """The JSON answer to a POST, on the connection that is kept."""
        self.connection.request("POST", path, body, {"token": self.token, "Content-Type": media})
        return self._answer()

    def get(self, path: str) -> Any:
        """The JSON answer to a GET, on the connection that is kept."""
        self.connection.request("GET", path, headers={"token": self.token})
        return self._answer()

    def graphql(self, document: str, **variables: Any) -> Any:
        """The data of a GraphQL answer."""
        answer = self.post("/graphql", orjson.dumps({"query": document, "variables": variables}))
        if "errors" in answer:
            raise RuntimeError(answer["errors"])
        return answer["data"]

    def _answer(self) -> Any:
        response = self.connection.getresponse()
        body = orjson.loads(response.read())
        if response.status != 200:
            raise RuntimeError(body)
        return body


@asynccontextmanager
async def bench(database_url: str, *, count: int) -> AsyncIterator[Bench]:
    """A served gateway on an empty database, with so many resources of half-hourly energy and live power."""
    async with owner(Settings(_env_file=None, database_url=database_url), count=count) as made:
        port = _free_port()
        process = _served(database_url, port)
        try:
            connection = _connected(port)
            with closing(connection):
                yield Bench(**vars(made), connection=connection)
        finally:
            process.terminate()
            process.wait()


@asynccontextmanager
async def owner(settings: Settings, *, count: int) -> AsyncIterator[Owner]:
    """A user on an empty database, with so many resources of half-hourly energy and live power."""
    gateway = assemble(settings)
    await upgrade(gateway.database)
    try:
        yield await _settled(gateway, count)
    finally:
        await gateway.database.close()


async def _settled(gateway: Gateway, count: int) -> Owner:
    run, system = gateway.runner.run, Principal(Role.SYSTEM)
    founded = await run(provisioning.create_application, system, {"name": "bench", "username": "bench"})
    owner = Principal(Role.SYSTEM, application_id=founded.application_id)
    account = await run(provisioning.create_user, owner, {"username": USERNAME, "password": PASSWORD})
    owner = Principal(Role.SYSTEM, application_id=founded.application_id, user_id=account.user_id)
    log_in = {"application_id": founded.application_id, "username": USERNAME, "password": PASSWORD}
    token = (await run(tokens.authenticate, Principal(Role.ANONYMOUS), log_in)).token
    kind = types.NewResourceType(name="energy", classifier="electricity.consumption", storage=_storage())
    type_id = (await run(resources.add_resource_type, owner, {"input": kind})).resource_type_id
    made = []
    for number in range(count):
        given = types.NewResource(resource_type_id=ID(type_id), name=f"home {number}")
        made.append(await run(resources.add_resource, owner, {"input": given}))
    return Owner(
        gateway=gateway,
        application_id=founded.application_id,
        user_id=account.user_id,
        token=token,
        resource_ids=[one.resource_id for one in made],
        numbers=[one.number or 0 for one in made],
    )


def _storage() -> list[types.NewStorageDefinition]:
    def of(sampling: str, field: types.NewStorageField) -> types.NewStorageDefinition:
        return types.NewStorageDefinition(
            type="timeseries", sampling=sampling, start="2014-01-06T00:00:00Z", fields=[field]
        )

    return [
        of("regular", types.NewStorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(3)")),
        of("irregular", types.NewStorageField(field_name="POWER", unit="W", datatype="integer", negative=True)),
    ]


def _free_port() -> int:
    with create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _served(database_url: str, port: int) -> subprocess.Popen[bytes]:
    settings = {"WATTGATE_DATABASE_URL": database_url, "WATTGATE_PORT": str(port), **SERVED}
    return subprocess.Popen([sys.executable, "-m", "wattgate", "serve"], env={**os.environ, **settings})


def _connected(port: int) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for _ in range(300):
        try:
            connection.connect()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return connection
    raise RuntimeError("the gateway did not come up")
