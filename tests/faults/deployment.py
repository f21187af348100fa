"""A deployment for high availability: two gateways and a worker behind HAProxy, with all servers that can fail over.

    meters, displays -> HAProxy -> gateway one, gateway other -> PgBouncer -> PostgreSQL -> streaming replica
                                                              -> Redis Sentinel with TLS
    worker -> the same PgBouncer and Redis -> push provider

All parts are real processes on this machine.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import col

from tests.faults.environment import Environment
from tests.faults.gateways import GatewayProcess
from tests.support.haproxy import HaProxy, haproxy
from tests.support.house import CALLER_BUDGET, settle
from tests.support.outbox import Post
from tests.support.pgbouncer import PgBouncer, pgbouncer
from tests.support.postgresql_server import CopiedServer, replicated_server
from tests.support.processes import process
from tests.support.redis_sentinel import SentinelServers, sentinel_servers
from tests.support.redis_server import TlsCertificates
from tests.support.schema import bring_up
from tests.support.sinks import Sink, sink
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.models import Notification
from wattgate.enums import Channel, NotificationState

DELIVERY_SECONDS = 120
"""Maximum wait for the worker. It looks for new deliveries itself if no event reaches it."""


@dataclass(kw_only=True)
class Deployment(Environment):
    """The running servers. Meters and displays use only the address of the proxy."""

    sentinels: SentinelServers
    standby: CopiedServer
    pooler: PgBouncer
    proxy: HaProxy
    provider: Sink
    post: Post

    @property
    def ports(self) -> list[int]:
        return [self.proxy.port]

    @property
    def urls(self) -> list[str]:
        return [self.proxy.url]

    async def start_all(self) -> None:
        """Start the servers that do not run, and wait until Redis can fail over."""
        await asyncio.gather(self.postgresql.start(), *(server.start() for server in self.sentinels.servers))
        await self.proxy.start()
        await asyncio.gather(*(gateway.start() for gateway in self.gateways))
        await self.sentinels.wait_until_ready()

    async def wait_until_all_alerts_are_sent(self, count: int) -> None:
        """Wait until the worker has sent this many alerts."""
        async with asyncio.timeout(DELIVERY_SECONDS):
            while True:
                sent = await self.post.rows(Notification, col(Notification.state) == NotificationState.SENT)
                if len(sent) >= count:
                    return
                await asyncio.sleep(0.1)

    async def send_alert(self) -> None:
        """Queue a push notification, which the worker sends."""
        self.post.clock.now = utc_now()
        await self.post.send(Channel.PUSH)


@asynccontextmanager
async def running_deployment(folder: Path, certificates: TlsCertificates) -> AsyncIterator[Deployment]:
    """Run a deployment in a folder."""
    async with AsyncExitStack() as stack:
        (folder / "redis").mkdir()
        postgresql, standby = await stack.enter_async_context(replicated_server())
        sentinels = await stack.enter_async_context(sentinel_servers(folder / "redis", certificates))
        pooler = await stack.enter_async_context(pgbouncer(postgresql.url, pool_size=10))
        provider = await stack.enter_async_context(sink())
        gateway = build_gateway(Settings(_env_file=None, database_url=postgresql.url))
        stack.push_async_callback(gateway.database.close)
        await bring_up(gateway.database)
        tenant = await settle(gateway, "street")
        settings = {
            "DATABASE_URL": pooler.url_of(postgresql.url),
            "DATABASE_POOLER": "transaction",
            "DATABASE_REPLICA_URL": standby.url,
            "REDIS_URL": sentinels.url,
            "REDIS_CA_FILE": str(certificates.ca_file),
            "REDIS_CERTIFICATE_FILE": str(certificates.certificate_file),
            "REDIS_KEY_FILE": str(certificates.key_file),
            "TRUSTED_PROXIES": '["127.0.0.0/8"]',
            "PUSH_URL": provider.url,
            "DELIVERY_LEASE": "5",
            "CALLER_BUDGET": str(CALLER_BUDGET),  # all meters have one login
        }
        first, second = (GatewayProcess(name, folder, settings | {"DELIVER": "false"}) for name in ("one", "other"))
        for gateway_process in (first, second):
            stack.push_async_callback(gateway_process.kill)
        await asyncio.gather(first.start(), second.start())
        worker = await stack.enter_async_context(process("worker", folder=folder, **settings))
        await worker.logs("Delivering as worker")
        post = Post(tenant)
        await post.tokens("fcm:abc")
        yield Deployment(
            gateways=(first, second),
            redis=sentinels.servers[0],
            postgresql=postgresql,
            tenant=tenant,
            sentinels=sentinels,
            standby=standby,
            pooler=pooler,
            proxy=await stack.enter_async_context(haproxy(folder, [first.port, second.port])),
            provider=provider,
            post=post,
        )
