"""Texts that are known by their SHA-256: of one process, and of many."""

from collections.abc import AsyncIterator

import pytest

from tests.support.redis_server import RedisServer
from wattgate.realtime.apq_store import (
    ENTRY_OVERHEAD_BYTES,
    TTL_SECONDS,
    ApqStore,
    LocalApqStore,
    RedisApqStore,
    digest_of,
    is_digest,
)
from wattgate.realtime.bus.best_effort_redis import BestEffortRedis
from wattgate.realtime.bus.redis_client import RedisClient
from wattgate.realtime.server_address import ServerAddress


@pytest.fixture
async def commands(redis: RedisServer) -> AsyncIterator[RedisClient]:
    await redis.command("FLUSHALL")
    made = RedisClient(ServerAddress.from_redis_url(redis.url))
    yield made
    await made.close()


@pytest.fixture(params=["memory", "redis"])
def texts(request: pytest.FixtureRequest, commands: RedisClient) -> ApqStore:
    local = LocalApqStore()
    return local if request.param == "memory" else RedisApqStore(BestEffortRedis(commands), local)


def gateway(commands: RedisClient, largest: int = 10_000) -> RedisApqStore:
    """A gateway that has nothing at hand."""
    return RedisApqStore(BestEffortRedis(commands), LocalApqStore(), max_total_size=largest)


async def test_a_text_is_found_by_its_digest(texts: ApqStore) -> None:
    text = "{ känguru }\n# \ud800"
    assert await texts.get(digest_of(text)) is None
    assert await texts.put(digest_of(text), text)
    assert await texts.get(digest_of(text)) == text
    assert await texts.get("what") is None
    assert await texts.get("sha256:" + digest_of(text)) is None


async def test_a_text_is_stored_under_its_own_digest_and_no_other(texts: ApqStore) -> None:
    with pytest.raises(ValueError, match="does not match the text"):
        await texts.put(digest_of("{ a }"), "{ b }")
    assert await texts.get(digest_of("{ a }")) is None


async def test_a_text_that_is_too_long_is_not_stored(texts: ApqStore) -> None:
    text = "#" * 32_769
    assert not await texts.put(digest_of(text), text)
    assert await texts.get(digest_of(text)) is None
    assert await texts.put(digest_of(text[1:]), text[1:])


async def test_a_process_keeps_so_many_texts_and_characters_and_no_more() -> None:
    few = LocalApqStore(max_texts=3)
    for number in range(5):
        await few.put(digest_of(str(number)), str(number))
        assert await few.get(digest_of("0")) == "0", "what is asked for stays"
        assert len(few) <= 3
    assert [await few.get(digest_of(str(number))) for number in range(5)] == ["0", None, None, "3", "4"]
    small = LocalApqStore(max_total_size=100)
    for letter in "abc":
        await small.put(digest_of(letter * 40), letter * 40)
    assert len(small) == 2
    await small.put(digest_of("d" * 101), "d" * 101)
    assert await small.get(digest_of("d" * 101)) is None
    assert len(small) == 2


async def test_what_one_gateway_was_sent_every_other_one_knows(commands: RedisClient) -> None:
    one, other = gateway(commands), gateway(commands)
    await one.put(digest_of("{ a }"), "{ a }")
    assert await other.get(digest_of("{ a }")) == "{ a }"


async def test_redis_keeps_so_many_bytes_and_no_more(redis: RedisServer, commands: RedisClient) -> None:
    size = 100 + ENTRY_OVERHEAD_BYTES
    for letter in "abcd":
        await gateway(commands, 3 * size).put(digest_of(letter * 100), letter * 100)
        assert await gateway(commands).get(digest_of("a" * 100)) == "a" * 100, "what is asked for stays"
    found = [await gateway(commands).get(digest_of(letter * 100)) for letter in "abcd"]
    assert [text is not None for text in found] == [True, False, True, True]
    assert int(await redis.command("GET", "wattgate:{texts}:bytes")) == 3 * size
    assert await redis.command("HLEN", "wattgate:{texts}:text") == 3
    await gateway(commands).put(digest_of("d" * 100), "d" * 100)
    assert int(await redis.command("GET", "wattgate:{texts}:bytes")) == 3 * size, "a text counts once"


async def test_redis_forgets_texts_that_nobody_asks_for(redis: RedisServer, commands: RedisClient) -> None:
    await gateway(commands).put(digest_of("{ a }"), "{ a }")
    keys = await redis.command("KEYS", "wattgate:{texts}:*")
    assert len(keys) == 3
    for key in keys:
        assert 0 < await redis.command("TTL", key) <= TTL_SECONDS
        await redis.command("EXPIRE", key, "10")
    await gateway(commands).get(digest_of("{ a }"))
    for key in keys:
        assert await redis.command("TTL", key) > 10


async def test_a_part_that_redis_has_lost_does_no_harm(redis: RedisServer, commands: RedisClient) -> None:
    for part in ("text", "asked", "bytes"):
        await gateway(commands).put(digest_of("{ a }"), "{ a }")
        await redis.command("DEL", f"wattgate:{{texts}}:{part}")
        await gateway(commands, 300 + ENTRY_OVERHEAD_BYTES).put(digest_of("b" * 300), "b" * 300)
        assert await gateway(commands).get(digest_of("b" * 300)) == "b" * 300
        assert int(await redis.command("GET", "wattgate:{texts}:bytes")) == 300 + ENTRY_OVERHEAD_BYTES


async def test_while_redis_is_away_each_gateway_knows_what_it_was_sent(own_redis: RedisServer) -> None:
    commands = RedisClient(ServerAddress.from_redis_url(own_redis.url))
    one = gateway(commands)
    await one.put(digest_of("{ a }"), "{ a }")
    await own_redis.kill()
    assert await one.get(digest_of("{ b }")) is None
    assert await one.put(digest_of("{ b }"), "{ b }")
    assert await one.get(digest_of("{ a }")) == "{ a }"
    assert await one.get(digest_of("{ b }")) == "{ b }"
    assert await gateway(commands).get(digest_of("{ a }")) is None
    await commands.close()


def test_a_digest_has_sixty_four_small_hexadecimal_digits() -> None:
    assert digest_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert is_digest(digest_of(""))
    assert not any(map(is_digest, ("", digest_of("").upper(), digest_of("")[1:], "g" * 64, digest_of("") + "\n")))
