"""Stores of automatic persisted queries: in one process and in Redis."""

from collections.abc import AsyncIterator

import pytest

from tests.support.redis_server import RedisServer
from wattgate.realtime.apq_store import (
    TTL_SECONDS,
    ApqStore,
    LocalApqStore,
    digest_of,
    is_digest,
)
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.primary import create_finder
from wattgate.realtime.bus.redis_client import RedisClient
from wattgate.realtime.redis_apq_store import ENTRY_OVERHEAD_BYTES, RedisApqStore


@pytest.fixture
async def commands(redis: RedisServer) -> AsyncIterator[RedisClient]:
    await redis.command("FLUSHALL")
    client = RedisClient(create_finder(redis.url))
    yield client
    await client.close()


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest, commands: RedisClient) -> ApqStore:
    local = LocalApqStore()
    return local if request.param == "memory" else RedisApqStore(BestEffortRedis(commands), local)


def gateway_store(commands: RedisClient, max_total_size: int = 10_000) -> RedisApqStore:
    """Return the store of a gateway with an empty local store."""
    return RedisApqStore(BestEffortRedis(commands), LocalApqStore(), max_total_size=max_total_size)


async def test_get_returns_a_stored_text_by_its_digest(store: ApqStore) -> None:
    text = "{ känguru }\n# \ud800"
    assert await store.get(digest_of(text)) is None
    assert await store.put(digest_of(text), text)
    assert await store.get(digest_of(text)) == text
    assert await store.get("what") is None
    assert await store.get("sha256:" + digest_of(text)) is None


async def test_put_rejects_a_digest_of_another_text(store: ApqStore) -> None:
    with pytest.raises(ValueError, match="does not match the text"):
        await store.put(digest_of("{ a }"), "{ b }")
    assert await store.get(digest_of("{ a }")) is None


async def test_put_does_not_store_a_text_that_is_too_long(store: ApqStore) -> None:
    text = "#" * 32_769
    assert not await store.put(digest_of(text), text)
    assert await store.get(digest_of(text)) is None
    assert await store.put(digest_of(text[1:]), text[1:])


async def test_local_store_has_a_maximum_of_texts_and_characters() -> None:
    few = LocalApqStore(max_texts=3)
    for number in range(5):
        await few.put(digest_of(str(number)), str(number))
        assert await few.get(digest_of("0")) == "0", "requested texts stay"
        assert len(few) <= 3
    assert [await few.get(digest_of(str(number))) for number in range(5)] == ["0", None, None, "3", "4"]
    small = LocalApqStore(max_total_size=100)
    for letter in "abc":
        await small.put(digest_of(letter * 40), letter * 40)
    assert len(small) == 2
    await small.put(digest_of("d" * 101), "d" * 101)
    assert await small.get(digest_of("d" * 101)) is None
    assert len(small) == 2


async def test_gateways_share_texts_through_redis(commands: RedisClient) -> None:
    first, second = gateway_store(commands), gateway_store(commands)
    await first.put(digest_of("{ a }"), "{ a }")
    assert await second.get(digest_of("{ a }")) == "{ a }"


async def test_redis_store_has_a_maximum_of_bytes(redis: RedisServer, commands: RedisClient) -> None:
    size = 100 + ENTRY_OVERHEAD_BYTES
    for letter in "abcd":
        await gateway_store(commands, 3 * size).put(digest_of(letter * 100), letter * 100)
        assert await gateway_store(commands).get(digest_of("a" * 100)) == "a" * 100, "requested texts stay"
    found = [await gateway_store(commands).get(digest_of(letter * 100)) for letter in "abcd"]
    assert [text is not None for text in found] == [True, False, True, True]
    assert int(await redis.command("GET", "{wattgate}:texts:bytes")) == 3 * size
    assert await redis.command("HLEN", "{wattgate}:texts:text") == 3
    await gateway_store(commands).put(digest_of("d" * 100), "d" * 100)
    assert int(await redis.command("GET", "{wattgate}:texts:bytes")) == 3 * size, (
        "a text that is stored twice counts once"
    )


async def test_texts_expire_in_redis_unless_they_are_requested(redis: RedisServer, commands: RedisClient) -> None:
    await gateway_store(commands).put(digest_of("{ a }"), "{ a }")
    keys = await redis.command("KEYS", "{wattgate}:texts:*")
    assert len(keys) == 3
    for key in keys:
        assert 0 < await redis.command("TTL", key) <= TTL_SECONDS
        await redis.command("EXPIRE", key, "10")
    await gateway_store(commands).get(digest_of("{ a }"))
    for key in keys:
        assert await redis.command("TTL", key) > 10


async def test_redis_store_recovers_when_one_of_its_keys_is_lost(redis: RedisServer, commands: RedisClient) -> None:
    for part in ("text", "asked", "bytes"):
        await gateway_store(commands).put(digest_of("{ a }"), "{ a }")
        await redis.command("DEL", f"{{wattgate}}:texts:{part}")
        await gateway_store(commands, 300 + ENTRY_OVERHEAD_BYTES).put(digest_of("b" * 300), "b" * 300)
        assert await gateway_store(commands).get(digest_of("b" * 300)) == "b" * 300
        assert int(await redis.command("GET", "{wattgate}:texts:bytes")) == 300 + ENTRY_OVERHEAD_BYTES


async def test_gateway_uses_its_local_store_while_redis_is_unavailable(own_redis: RedisServer) -> None:
    commands = RedisClient(create_finder(own_redis.url))
    store = gateway_store(commands)
    await store.put(digest_of("{ a }"), "{ a }")
    await own_redis.kill()
    assert await store.get(digest_of("{ b }")) is None
    assert await store.put(digest_of("{ b }"), "{ b }")
    assert await store.get(digest_of("{ a }")) == "{ a }"
    assert await store.get(digest_of("{ b }")) == "{ b }"
    assert await gateway_store(commands).get(digest_of("{ a }")) is None
    await commands.close()


def test_digest_has_64_lower_case_hexadecimal_digits() -> None:
    assert digest_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert is_digest(digest_of(""))
    assert not any(map(is_digest, ("", digest_of("").upper(), digest_of("")[1:], "g" * 64, digest_of("") + "\n")))
