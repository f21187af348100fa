"""Two gateway processes on one database and one Redis, and the acts that end credentials."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import update
from sqlmodel import col

from tests.graphql.test_oauth import Client
from tests.realtime.test_server_sent_events import EVENT_STREAM_HEADERS, TOKEN, Stream
from tests.support import people
from tests.support.house import PASSWORD, House, Tenant, basic, settle
from tests.support.processes import gateway
from tests.support.redis_server import RedisServer, redis_server
from tests.support.schema import bring_up
from tests.support.scopes import EVERYTHING
from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.identity.secrets import hash_secret
from wattgate.db.models import Token
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

ENDED_SECONDS = 60
"""Maximum wait of a test for the end of a capability. The documented time is 5 s; a busy machine may be late."""

APP_ORIGIN = "https://app.example"
NEW_PASSWORD = "battery staple"

Headers = Mapping[str, str]


@dataclass
class Cluster:
    """The URLs of two gateway processes, two tenants, and components in this process on the same database and Redis."""

    one: str
    other: str
    gateway: Gateway
    tenant: Tenant
    foreign: Tenant
    http: httpx.AsyncClient
    redis: RedisServer

    @staticmethod
    def basic(username: str, password: str) -> dict[str, str]:
        """Return the members of `connection_init` and the headers of the Basic scheme."""
        return {name.lower(): value for name, value in basic(username, password).items()}

    async def rest(self, url: str, method: str, path: str, headers: Headers, **more: Any) -> httpx.Response:
        async with httpx.AsyncClient(base_url=url, timeout=30) as http:
            return await http.request(method, f"/api/v0-1{path}", headers=dict(headers), **more)

    @property
    def house(self) -> House:
        """The first gateway, as tests of one gateway see it."""
        return House(self.one, self.http, self.gateway, self.tenant, self.foreign)

    async def person(self) -> "Holder":
        """Add a user with an account."""
        added = await people.active(self.tenant)
        return Holder(self, added["username"], added["userId"], added["accountId"])

    async def reserve(self, url: str, headers: Headers) -> httpx.Response:
        async with httpx.AsyncClient(base_url=url, timeout=30) as http:
            return await http.put("/graphql", headers=dict(headers))

    async def reserved(self, url: str, headers: Headers) -> str:
        response = await self.reserve(url, headers)
        assert response.status_code == 201, response.text
        return response.text

    @asynccontextmanager
    async def opened(self, url: str, token: str, headers: Headers | None = None) -> AsyncIterator[Stream]:
        """Open a reserved stream, by default without credentials, as EventSource does."""
        async with (
            httpx.AsyncClient(base_url=url, timeout=30) as http,
            http.stream(
                "GET", "/graphql", params={"token": token}, headers={**EVENT_STREAM_HEADERS, **(headers or {})}
            ) as response,
        ):
            assert response.status_code == 200, (await response.aread()).decode()
            yield Stream(response)

    async def open_status(self, url: str, token: str, headers: Headers | None = None) -> int:
        """Open a reserved stream, leave it immediately, and return the status."""
        asked = {**EVENT_STREAM_HEADERS, **(headers or {})}
        async with (
            httpx.AsyncClient(base_url=url, timeout=30) as http,
            http.stream("GET", "/graphql", params={"token": token}, headers=asked) as response,
        ):
            return response.status_code

    async def operate(
        self,
        url: str,
        token: str,
        headers: Headers,
        query: str = "{ __typename }",
        operation_id: str = "q",
        **variables: Any,
    ) -> httpx.Response:
        """Start an operation on a stream."""
        body = {"query": query, "variables": variables, "extensions": {"operationId": operation_id}}
        async with httpx.AsyncClient(base_url=url, timeout=30) as http:
            return await http.post("/graphql", json=body, headers={TOKEN: token, **headers})

    async def stop(self, url: str, token: str, headers: Headers) -> httpx.Response:
        """Stop an operation on a stream."""
        async with httpx.AsyncClient(base_url=url, timeout=30) as http:
            return await http.delete("/graphql", params={"operationId": "q"}, headers={TOKEN: token, **headers})

    @asynccontextmanager
    async def distinct(self, url: str, headers: Headers, query: str) -> AsyncIterator[Stream]:
        """Open a stream with one operation."""
        async with (
            httpx.AsyncClient(base_url=url, timeout=30) as http,
            http.stream(
                "POST", "/graphql", json={"query": query}, headers={**EVENT_STREAM_HEADERS, **headers}
            ) as response,
        ):
            yield Stream(response)

    async def expire(self, token: str, seconds: float = -1.0) -> None:
        """Move the end of a token in the database."""
        async with self.gateway.database.session(EVERYTHING) as session:
            statement = update(Token).where(col(Token.digest) == hash_secret(token))
            await session.execute(
                statement.values(expires_at=utc_now() + timedelta(seconds=seconds)), execution_options=SCOPED_OPTION
            )
            await session.commit()


@dataclass
class Holder:
    """A user whose credentials end."""

    cluster: Cluster
    username: str
    user_id: str
    account_id: str

    async def token(self) -> dict[str, str]:
        """Log in and return the headers with the token."""
        body = {"username": self.username, "password": PASSWORD, "applicationId": self.cluster.tenant.application_id}
        response = await self.cluster.rest(self.cluster.one, "POST", "/auth", {}, json=body)
        return {"token": response.json()["token"]}

    @property
    def password(self) -> dict[str, str]:
        """The headers with the password."""
        return {**basic(self.username, PASSWORD), "applicationId": self.cluster.tenant.application_id}

    async def oauth(self, scope: str = "read write") -> dict[str, str]:
        """Let an OAuth client log the user in, and return the headers of its access token."""
        return {"token": (await (await self.client()).tokens(scope=scope))["access_token"]}

    async def client(self) -> Client:
        """Return a new OAuth client of the user."""
        added, served = await people.oauth_client(self.cluster.tenant), self.cluster.house
        return Client(served, added["clientId"], added["clientSecret"], self.username, self.account_id)

    async def token_id(self, headers: Headers) -> str:
        async with self.cluster.gateway.database.reader(EVERYTHING) as session:
            token = await session.execute(
                Token.__table__.select().where(col(Token.digest) == hash_secret(headers["token"])),  # type: ignore[attr-defined]
                execution_options=SCOPED_OPTION,
            )
            return str(token.one().token_id)


async def log_out(holder: Holder, headers: Headers) -> httpx.Response:
    return await holder.cluster.rest(holder.cluster.one, "DELETE", "/auth/deleteToken", headers)


async def revoke_listed(holder: Holder, headers: Headers) -> httpx.Response:
    path = f"/auth/token/{await holder.token_id(headers)}"
    return await holder.cluster.rest(holder.cluster.one, "DELETE", path, await holder.token())


async def change_password(holder: Holder, headers: Headers) -> httpx.Response:
    body = {"oldPassword": PASSWORD, "newPassword": NEW_PASSWORD}
    mine = await holder.token()
    return await holder.cluster.rest(holder.cluster.one, "POST", "/account/changepassword", mine, json=body)


async def reset_password(holder: Holder, headers: Headers) -> httpx.Response:
    who = {"username": holder.username, "userId": holder.user_id, "accountId": holder.account_id}
    code = await people.reset_token(holder.cluster.tenant, who)
    body = {
        "username": holder.username,
        "newPassword": NEW_PASSWORD,
        "token": code,
        "applicationId": holder.cluster.tenant.application_id,
    }
    return await holder.cluster.rest(holder.cluster.one, "PUT", "/user/resetpassword", {}, json=body)


async def close_account(holder: Holder, headers: Headers) -> httpx.Response:
    application = holder.cluster.tenant.headers["application"]
    return await holder.cluster.rest(holder.cluster.one, "DELETE", f"/account/{holder.account_id}", application)


async def delete_user(holder: Holder, headers: Headers) -> httpx.Response:
    application = holder.cluster.tenant.headers["application"]
    return await holder.cluster.rest(holder.cluster.one, "DELETE", f"/user/{holder.user_id}", application)


Act = Callable[[Holder, Headers], Awaitable[httpx.Response]]
TOKEN_ACTS: tuple[Act, ...] = (log_out, revoke_listed)
ACCOUNT_ACTS: tuple[Act, ...] = (change_password, reset_password, close_account, delete_user)


async def perform(act: Act, holder: Holder, headers: Headers) -> None:
    response = await act(holder, headers)
    assert response.status_code == 200, response.text


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[Cluster]:
    """Run two gateways as processes, with a Redis of their own."""
    (folder / "redis").mkdir()
    url = f"sqlite:///{folder / 'test.sqlite3'}"
    async with redis_server(folder / "redis", "--appendonly", "no") as redis:
        local = build_gateway(Settings(_env_file=None, database_url=url, redis_url=redis.url))
        await bring_up(local.database)
        served = {"DATABASE_URL": url, "REDIS_URL": redis.url, "ALLOWED_ORIGINS": f'["{APP_ORIGIN}"]'}
        try:
            async with local.bus:
                tenant, foreign = await settle(local, "one"), await settle(local, "other")
                async with (
                    gateway(folder=folder, **served) as one,
                    gateway(folder=folder, **served) as other,
                    httpx.AsyncClient(base_url=one.url, timeout=30) as http,
                ):
                    yield Cluster(one.url, other.url, local, tenant, foreign, http, redis)
        finally:
            await local.database.close()
