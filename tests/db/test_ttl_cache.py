"""The limits of the TTL cache: age, number of entries and weight."""

from hypothesis import given
from hypothesis import strategies as st

from wattgate.db.ttl_cache import TtlCache


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_get_returns_none_after_the_ttl() -> None:
    time = Time()
    cache = TtlCache[str, int](max_entries=10, ttl_seconds=60.0, time=time)
    cache.put("a", 1)
    time.now = 59.0
    assert cache.get("a") == 1
    time.now = 60.0
    assert cache.get("a") is None
    assert len(cache) == 0


def test_put_restarts_the_ttl() -> None:
    time = Time()
    cache = TtlCache[str, int](max_entries=10, ttl_seconds=60.0, time=time)
    cache.put("a", 1)
    time.now = 50.0
    cache.put("a", 2)
    time.now = 100.0
    assert cache.get("a") == 2


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 12), st.sampled_from(["put", "get", "drop"]))))
def test_cache_never_exceeds_its_limits_and_tracks_its_weight(steps: list[tuple[str, int, str]]) -> None:
    cache = TtlCache[str, int](max_entries=4, max_weight=20, weigh=lambda value: value)
    for key, value, action in steps:
        if action == "put":
            cache.put(key, value)
        elif action == "get":
            cache.get(key)
        else:
            cache.discard(key)
        values = [cache.get(letter) or 0 for letter in "abcdefgh"]
        assert cache.weight == sum(values) <= 20
        assert len(cache) <= 4
