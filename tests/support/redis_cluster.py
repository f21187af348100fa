"""A Redis Cluster of three primaries and three replicas that tests can fail over and reshard."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from redis.exceptions import RedisError

from tests.support.redis_server import RedisServer
from wattgate.realtime.bus.primary import KEY_SLOT

PRIMARIES = 3
NODE_TIMEOUT_MILLISECONDS = 2000
SLOT_COUNT = 16384


class ClusterServers:
    """Six nodes. `url` names two of them."""

    def __init__(self, nodes: Sequence[RedisServer]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes[:2])
        return f"redis+cluster://{hosts}"

    async def primary(self) -> RedisServer:
        """Return the node that says that it is the primary of the hash slot of the gateways."""
        async with asyncio.timeout(60):
            while True:
                for node in self.nodes:
                    if await self._is_primary(node):
                        return node
                await asyncio.sleep(0.05)

    async def replica_of(self, primary: RedisServer) -> RedisServer:
        """Return the replica of a primary."""
        primary_id = await primary.command("CLUSTER", "MYID")
        (row,) = await primary.command("CLUSTER", "REPLICAS", primary_id)
        port = int(row.split()[1].partition("@")[0].rpartition(":")[2])
        (replica,) = (node for node in self.nodes if node.port == port)
        return replica

    async def fail_over(self) -> RedisServer:
        """Let the replica of the primary take over, and return it. All nodes stay alive."""
        replica = await self.replica_of(await self.primary())
        await replica.command("CLUSTER", "FAILOVER")
        async with asyncio.timeout(60):
            while not await self._is_primary(replica):  # noqa: ASYNC110 (the nodes are other processes)
                await asyncio.sleep(0.05)
        return replica

    async def move_slot(self) -> RedisServer:
        """Move the hash slot with all its keys to another primary, and return that one."""
        source = await self.primary()
        target = next(node for node in self.nodes[:PRIMARIES] if node is not source)
        source_id, target_id = await source.command("CLUSTER", "MYID"), await target.command("CLUSTER", "MYID")
        slot = str(KEY_SLOT)
        await target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        await source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        while keys := await source.command("CLUSTER", "GETKEYSINSLOT", slot, "100"):
            await source.command("MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", "REPLACE", "KEYS", *keys)
        for node in (target, source):
            await node.command("CLUSTER", "SETSLOT", slot, "NODE", target_id)
        return target

    async def wait_until_ready(self) -> None:
        """Wait until all nodes see all slots served, and each primary has its replica with its data."""
        async with asyncio.timeout(120):
            while not all([await self._is_ready(node) for node in self.nodes]):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def _is_primary(self, node: RedisServer) -> bool:
        try:
            rows = (await node.command("CLUSTER", "NODES")).splitlines()
        except (RedisError, OSError):
            return False
        (own,) = (row.split() for row in rows if "myself" in row)
        flags, slots = own[2].split(","), [text.partition("-") for text in own[8:] if text[0].isdigit()]
        return "master" in flags and any(int(first) <= KEY_SLOT <= int(last or first) for first, _, last in slots)

    async def _is_ready(self, node: RedisServer) -> bool:
        try:
            lines = (await node.command("CLUSTER", "INFO")).splitlines()
            role = await node.command("ROLE")
        except (RedisError, OSError):
            return False
        is_linked = role[3] == "connected" if role[0] == "slave" else len(role[2]) == 1
        return is_linked and {"cluster_state:ok", f"cluster_known_nodes:{len(self.nodes)}"} <= set(lines)


@asynccontextmanager
async def cluster_servers(folder: Path) -> AsyncIterator[ClusterServers]:
    """Yield a cluster in which all slots are served and each primary has a replica."""
    async with AsyncExitStack() as stack:
        nodes = []
        for number in range(2 * PRIMARIES):
            home = folder / f"node{number}"
            home.mkdir()
            nodes.append(RedisServer(home, is_node=True))
            stack.push_async_callback(nodes[-1].kill)
            await nodes[-1].start("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MILLISECONDS))
        primaries, replicas = nodes[:PRIMARIES], nodes[PRIMARIES:]
        bounds = [number * SLOT_COUNT // PRIMARIES for number in range(PRIMARIES + 1)]
        for number, node in enumerate(nodes):
            await node.command("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            await node.command("CLUSTER", "MEET", "127.0.0.1", str(nodes[0].port))
        for node, first, end in zip(primaries, bounds, bounds[1:], strict=False):
            await node.command("CLUSTER", "ADDSLOTS", *map(str, range(first, end)))
        cluster = ClusterServers(nodes)
        for primary, replica in zip(primaries, replicas, strict=True):
            await _replicate(replica, await primary.command("CLUSTER", "MYID"))
        await cluster.wait_until_ready()
        yield cluster


async def _replicate(replica: RedisServer, primary_id: str) -> None:
    """Make a node the replica of another one, as soon as it knows it."""
    async with asyncio.timeout(60):
        while True:
            try:
                await replica.command("CLUSTER", "REPLICATE", primary_id)
                return
            except RedisError:
                await asyncio.sleep(0.05)
