"""What was found lately: no older, no heavier and no more than that."""

from hypothesis import given
from hypothesis import strategies as st

from wattgate.db.ttl_cache import Lately


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_was_found_too_long_ago_is_not_found() -> None:
    time = Time()
    kept = Lately[str, int](most=10, seconds=60.0, time=time)
    kept.put("a", 1)
    time.now = 59.0
    assert kept.get("a") == 1
    time.now = 60.0
    assert kept.get("a") is None
    assert len(kept) == 0


def test_what_is_put_again_is_new() -> None:
    time = Time()
    kept = Lately[str, int](most=10, seconds=60.0, time=time)
    kept.put("a", 1)
    time.now = 50.0
    kept.put("a", 2)
    time.now = 100.0
    assert kept.get("a") == 2


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 12), st.sampled_from(["put", "get", "drop"]))))
def test_the_bounds_hold_and_the_weight_is_that_of_what_is_kept(steps: list[tuple[str, int, str]]) -> None:
    kept = Lately[str, int](most=4, heaviest=20, weigh=lambda value: value)
    for key, value, what in steps:
        if what == "put":
            kept.put(key, value)
        elif what == "get":
            kept.get(key)
        else:
            kept.drop(key)
        values = [kept.get(one) or 0 for one in "abcdefgh"]
        assert kept.weight == sum(values) <= 20
        assert len(kept) <= 4
