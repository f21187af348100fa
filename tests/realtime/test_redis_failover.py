"""Failovers of real sentinels and a real cluster: gateways follow the primary, and each gap is reported."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.redis_cluster import NODE_TIMEOUT_MILLISECONDS, ClusterServers, cluster_servers
from tests.support.redis_sentinel import SentinelServers, sentinel_servers
from tests.support.redis_server import RedisServer, redis_server
from tests.support.watching import Watcher, reading, since, watching
from wattgate.errors import Unavailable
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.bus.primary import KEY_SLOT, SinglePrimary, create_finder
from wattgate.realtime.bus.redis import RedisBus
from wattgate.realtime.bus.redis_client import stream_key
from wattgate.realtime.redis_url import RedisServers

SHORT_BACKOFF = Backoff(min_seconds=0.02, max_seconds=0.1)


@pytest.fixture
async def sentinels(tmp_path: Path) -> AsyncIterator[SentinelServers]:
    async with sentinel_servers(tmp_path) as servers:
        yield servers


@asynccontextmanager
async def gateway(servers: SentinelServers | ClusterServers) -> AsyncIterator[Watcher]:
    bus = RedisBus(create_finder(servers.url), ping_seconds=0.5, backoff=SHORT_BACKOFF)
    async with watching(bus) as watcher:
        yield watcher


async def publish_until_received(publisher: Watcher, display: Watcher, topic: str, value: float) -> None:
    """Publish a value again and again until the display receives it."""
    async with asyncio.timeout(60):
        while value not in display.values(topic):
            await publisher.bus.publish([reading(topic, value)])
            await asyncio.sleep(0.02)


async def test_commanded_failover_moves_commands_and_events(sentinels: SentinelServers) -> None:
    async with gateway(sentinels) as publisher, gateway(sentinels) as display:
        opened = await display.bus.open_topics(["moved"])
        await publisher.bus.publish([reading("moved", 1)])
        await display.until(lambda: display.values("moved") == [1])
        new = await sentinels.fail_over()
        await display.until(lambda: ("moved", False) in display.resyncs)
        await publish_until_received(publisher, display, "moved", 2)
        assert await since(display.bus, "moved", opened["moved"]) is None
        assert (await new.command("ROLE"))[0] == "master"
        assert display.values("moved") == sorted(display.values("moved"))


@pytest.mark.long("a failover by command stays in the short form")
async def test_killed_primary_is_replaced(sentinels: SentinelServers) -> None:
    old = await sentinels.primary()
    async with gateway(sentinels) as publisher, gateway(sentinels) as display:
        await display.bus.open_topics(["killed"])
        await old.kill()
        await sentinels.wait_for_failover(old)
        await display.until(lambda: ("killed", False) in display.resyncs)
        await publish_until_received(publisher, display, "killed", 1)


@pytest.mark.long("a failover by command stays in the short form")
async def test_gateway_leaves_a_primary_that_hangs_and_returns(
    sentinels: SentinelServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wattgate.realtime.bus.redis_client.CHECK_SECONDS", 0.2)
    old = await sentinels.primary()
    async with gateway(sentinels) as publisher, gateway(sentinels) as display:
        await display.bus.open_topics(["hung"])
        await publisher.bus.publish([reading("hung", 1)])
        await display.until(lambda: display.values("hung") == [1])
        old.pause()
        try:
            await sentinels.wait_for_failover(old)
        finally:
            old.go_on()
        await display.until(lambda: ("hung", False) in display.resyncs)
        await publish_until_received(publisher, display, "hung", 2)


class ChosenPrimary(SinglePrimary):
    """A primary that the test chooses, as if a failover had separated some gateways from the others."""

    is_fixed = False

    def choose(self, server: RedisServer) -> None:
        self.servers = RedisServers.from_url(server.url)


async def test_publisher_that_stayed_at_the_old_primary_reports_its_last_events(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with redis_server(tmp_path) as old, redis_server(tmp_path / "other") as new:
        finder = ChosenPrimary(RedisServers.from_url(old.url))
        publishing = watching(RedisBus(finder, backoff=SHORT_BACKOFF))
        displaying = watching(RedisBus(create_finder(new.url), backoff=SHORT_BACKOFF))
        async with publishing as publisher, displaying as display:
            await display.bus.open_topics(["missed", "other"])
            await publisher.bus.publish([reading("missed", 1)])
            await finder.find()
            assert display.resyncs == []
            finder.choose(new)
            await finder.find()
            await display.until(lambda: display.resyncs != [])
            assert display.resyncs == [("missed", False)]
            await publisher.bus.publish([reading("missed", 2), reading("other", 2)])
            await display.until(lambda: len(display.events) == 2)
            assert (display.values("missed"), display.values("other")) == ([2], [2])
            assert publisher.bus.lost_events == 0  # type: ignore[attr-defined]


async def test_events_before_the_last_two_certain_answers_need_no_report(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with redis_server(tmp_path) as old, redis_server(tmp_path / "other") as new:
        finder = ChosenPrimary(RedisServers.from_url(old.url))
        publishing = watching(RedisBus(finder, backoff=SHORT_BACKOFF))
        displaying = watching(RedisBus(create_finder(new.url), backoff=SHORT_BACKOFF))
        async with publishing as publisher, displaying as display:
            await display.bus.open_topics(["early", "late"])
            for topic in ("early", "late", "late"):
                await publisher.bus.publish([reading(topic, 1)])
                await finder.find()
            finder.choose(new)
            await finder.find()
            await display.until(lambda: display.resyncs != [])
            await publisher.bus.publish([reading("early", 2)])
            await display.until(lambda: display.values("early") == [2])
            assert display.resyncs == [("late", False)]


@pytest.mark.long("starts servers for a wrong setting")
async def test_sentinels_that_do_not_know_the_name(sentinels: SentinelServers) -> None:
    finder = create_finder(sentinels.url.replace("master=gate", "master=other"))
    async with RedisBus(finder) as bus:
        with pytest.raises(Unavailable, match=r"no sentinel names the primary.*No such master with that name"):
            await bus.check()


async def test_sentinels_that_cannot_be_reached(tmp_path: Path) -> None:
    async with RedisBus(create_finder("redis+sentinel://127.0.0.1:1,127.0.0.1:2?master=gate")) as bus:
        with pytest.raises(Unavailable, match=r"no sentinel names the primary.*127\.0\.0\.1:2"):
            await bus.check()


@pytest.mark.long("a failover by command stays in the short form")
async def test_answer_of_a_separated_sentinel_does_not_count(sentinels: SentinelServers) -> None:
    """A sentinel that missed the failover names the old primary with an older epoch."""
    finder = create_finder(sentinels.url)
    old = await sentinels.primary()
    sentinels.sentinels[2].pause()
    try:
        await sentinels.fail_over()
        new = await sentinels.wait_for_failover(old)
    finally:
        sentinels.sentinels[2].go_on()
    assert (await finder.find()).port == new.port


@pytest.fixture(scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClusterServers]:
    async with cluster_servers(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


async def test_all_keys_have_the_hash_slot_of_the_primary(cluster: ClusterServers) -> None:
    primary = await cluster.primary()
    assert int(await primary.command("CLUSTER", "KEYSLOT", stream_key("topic"))) == KEY_SLOT
    for seed in cluster.nodes:
        finder = create_finder(f"redis+cluster://127.0.0.1:1,127.0.0.1:{seed.port}")
        assert (await finder.find()).port == primary.port


async def test_cluster_carries_events_and_follows_a_failover(cluster: ClusterServers) -> None:
    async with gateway(cluster) as publisher, gateway(cluster) as display:
        opened = await display.bus.open_topics(["a", "b"])
        await publisher.bus.publish([reading("a", 1), reading("b", 1)])
        await display.until(lambda: len(display.events) == 2)
        await cluster.fail_over()
        await publish_until_received(publisher, display, "a", 2)
        await display.until(lambda: {("a", False), ("b", False)} <= set(display.resyncs))
        assert await since(display.bus, "b", opened["b"]) is None
    await cluster.wait_until_ready()


@pytest.mark.long("a failover by command stays in the short form")
async def test_killed_node_of_the_cluster_is_replaced(cluster: ClusterServers) -> None:
    old = await cluster.primary()
    async with gateway(cluster) as publisher, gateway(cluster) as display:
        await display.bus.open_topics(["killed"])
        await old.kill()
        await publish_until_received(publisher, display, "killed", 1)
        assert ("killed", False) in display.resyncs
    await old.start("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MILLISECONDS))
    await cluster.wait_until_ready()


@pytest.mark.long("a failover by command stays in the short form")
async def test_gateways_follow_the_hash_slot_to_another_node(
    cluster: ClusterServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wattgate.realtime.bus.redis_client.CHECK_SECONDS", 0.2)
    async with gateway(cluster) as publisher, gateway(cluster) as display:
        await display.bus.open_topics(["resharded"])
        await publisher.bus.publish([reading("resharded", 1)])
        await display.until(lambda: display.values("resharded") == [1])
        await cluster.move_slot()
        await display.until(lambda: ("resharded", False) in display.resyncs)
        await publish_until_received(publisher, display, "resharded", 2)


async def test_node_of_a_cluster_that_is_named_as_a_single_server(cluster: ClusterServers) -> None:
    primary = await cluster.primary()
    other = next(node for node in cluster.nodes if node is not primary)
    async with RedisBus(create_finder(other.url)) as bus:
        (problem,) = await bus.find_problems()
        assert problem == "is a node of a cluster: write WATTGATE_REDIS_URL with redis+cluster://"


@pytest.mark.long("starts servers for a wrong setting")
async def test_single_server_that_is_named_as_a_cluster(sentinels: SentinelServers) -> None:
    url = sentinels.servers[0].url.replace("redis:", "redis+cluster:").removesuffix("/0")
    async with RedisBus(create_finder(url)) as bus:
        with pytest.raises(Unavailable, match=r"no node of the cluster names the primary.*cluster support disabled"):
            await bus.check()
