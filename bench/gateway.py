"""A gateway in its own process, on a database with an application, a user and empty resources."""

import http.client
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from socket import create_server
from typing import Any, BinaryIO

import orjson
from strawberry import ID

from tests.support.house import operation
from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings
from wattgate.db.encryption.key_ring import new_key
from wattgate.db.migrate import upgrade
from wattgate.operations.accounts import provisioning
from wattgate.operations.credentials import tokens
from wattgate.operations.homes import resource_types, resources
from wattgate.operations.types.homes import resources as types
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.principal import Principal, Role

USERNAME, PASSWORD = "bench@example.org", "correct horse"

BENCH_SETTINGS = {
    "WATTGATE_LOG_LEVEL": "warning",
    "WATTGATE_CALLER_BUDGET": str(10**9),  # costs are charged, but never exceed the budget
    "WATTGATE_APPLICATION_BUDGET": str(10**9),
    "WATTGATE_SECRET_KEYS": new_key(),
}
"""The settings of a gateway under measurement."""


@dataclass(frozen=True)
class SeededGateway:
    """A gateway in this process, and a user of it with resources."""

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
        """Add a home for each resource. Return the ids of the homes."""
        run, system = self.gateway.runner.run, self.system
        home_type = home_types.NewVirtualEntityType(name="Home")
        type_id = ID((await run(operation("add_virtual_entity_type"), system, {"input": home_type})).ve_type_id)
        homes = []
        for resource_id in resource_ids:
            owned_resource = home_types.OwnedResource(resource_id=ID(resource_id))
            home = home_types.NewVirtualEntity(ve_type_id=type_id, name="Home", resources=[owned_resource])
            homes.append(await run(operation("add_virtual_entity"), system, {"input": home}))
        return [home.ve_id for home in homes]


@dataclass(frozen=True)
class ServedGateway(SeededGateway):
    """A seeded gateway and a connection to another process that serves it."""

    connection: http.client.HTTPConnection

    def post(self, path: str, body: bytes, media: str = "application/json") -> Any:
        """Send a POST on the open connection and return the JSON response."""
        self.connection.request("POST", path, body, {"token": self.token, "Content-Type": media})
        return self._read_response()

    def get(self, path: str) -> Any:
        """Send a GET on the open connection and return the JSON response."""
        self.connection.request("GET", path, headers={"token": self.token})
        return self._read_response()

    def graphql(self, document: str, **variables: Any) -> Any:
        """Send a GraphQL request and return the data of the response."""
        answer = self.post("/graphql", orjson.dumps({"query": document, "variables": variables}))
        if "errors" in answer:
            raise RuntimeError(answer["errors"])
        return answer["data"]

    def _read_response(self) -> Any:
        response = self.connection.getresponse()
        body = orjson.loads(response.read())
        if response.status != 200:
            raise RuntimeError(body)
        return body


@asynccontextmanager
async def served_gateway(database_url: str, *, count: int) -> AsyncIterator[ServedGateway]:
    """Serve a gateway on an empty database with `count` resources of half-hourly energy and live power."""
    async with seeded_gateway(Settings(_env_file=None, database_url=database_url), count=count) as seeded:
        port = free_port()
        process = start_server({"WATTGATE_DATABASE_URL": database_url, **BENCH_SETTINGS}, port)
        try:
            connection = wait_until_served(port)
            with closing(connection):
                yield ServedGateway(**vars(seeded), connection=connection)
        finally:
            process.terminate()
            process.wait()


@asynccontextmanager
async def seeded_gateway(settings: Settings, *, count: int) -> AsyncIterator[SeededGateway]:
    """Add a user with `count` resources of half-hourly energy and live power to an empty database."""
    gateway = build_gateway(settings)
    await upgrade(gateway.database)
    try:
        yield await seed(gateway, count)
    finally:
        await gateway.database.close()


async def seed(
    gateway: Gateway, count: int, *, name: str = "bench", username: str = USERNAME, secret: str | None = None
) -> SeededGateway:
    """Add an application, and a user of it with `count` resources of half-hourly energy and live power.

    The secret of the application is random if none is given.
    """
    run, system = gateway.runner.run, Principal(Role.SYSTEM)
    application = await run(provisioning.create_application, system, {"name": name, "username": name, "secret": secret})
    user_id, token = await add_user(gateway, application.application_id, username)
    owner = Principal(Role.SYSTEM, application_id=application.application_id, user_id=user_id)
    resource_type = types.NewResourceType(name="energy", classifier="electricity.consumption", storage=_storage())
    type_id = (await run(resource_types.add_resource_type, owner, {"input": resource_type})).resource_type_id
    added = []
    for number in range(count):
        resource = types.NewResource(resource_type_id=ID(type_id), name=f"home {number}")
        added.append(await run(resources.add_resource, owner, {"input": resource}))
    return SeededGateway(
        gateway=gateway,
        application_id=application.application_id,
        user_id=user_id,
        token=token,
        resource_ids=[row.resource_id for row in added],
        numbers=[row.number or 0 for row in added],
    )


async def add_user(gateway: Gateway, application_id: str, username: str, **values: bool) -> tuple[str, str]:
    """Add a user of an application. Return the ID of the user and a token."""
    run, owner = gateway.runner.run, Principal(Role.SYSTEM, application_id=application_id)
    account = await run(provisioning.create_user, owner, {"username": username, "password": PASSWORD, **values})
    credentials = {"application_id": application_id, "username": username, "password": PASSWORD}
    token = (await run(tokens.authenticate, Principal(Role.ANONYMOUS), credentials)).token
    return str(account.user_id), str(token)


def _storage() -> list[types.NewStorageDefinition]:
    def of(sampling: str, field: types.NewStorageField) -> types.NewStorageDefinition:
        return types.NewStorageDefinition(
            type="timeseries", sampling=sampling, start="2014-01-06T00:00:00Z", fields=[field]
        )

    return [
        of("regular", types.NewStorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(3)")),
        of("irregular", types.NewStorageField(field_name="POWER", unit="W", datatype="integer", negative=True)),
    ]


def free_port() -> int:
    """Return a port on which no server listens."""
    with create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def start_server(settings: Mapping[str, str], port: int, log: BinaryIO | None = None) -> subprocess.Popen[bytes]:
    """Start `wattgate serve` with settings on a port. It writes its log to the file, or to the terminal."""
    environment = {**os.environ, **settings, "WATTGATE_PORT": str(port)}
    return subprocess.Popen([sys.executable, "-m", "wattgate", "serve"], env=environment, stdout=log, stderr=log)


def wait_until_served(port: int) -> http.client.HTTPConnection:
    """Return an open connection to a gateway that starts on a port. Raise RuntimeError after 30 seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for _ in range(300):
        try:
            connection.connect()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return connection
    raise RuntimeError("The gateway did not start within 30 seconds. Read its output above.")
