"""The cheapest time for a task, against models that go minute by minute."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from tests.support.pricing import tariff
from wattgate.clock import to_ms
from wattgate.energy.buckets import MINUTE_MS
from wattgate.energy.costs.price_windows import (
    PricedSpan,
    cheapest_parts,
    cheapest_window,
    known_prices,
    mean_rate_with_vat,
)
from wattgate.energy.costs.timeline import Price, rate_spans
from wattgate.enums import Period, TariffKind

START = to_ms(datetime(2026, 1, 5, tzinfo=UTC))
MINUTES = 40
PRICES = st.lists(st.none() | st.integers(-5, 5), min_size=8, max_size=8)


def spans_of(rates: list[int | None]) -> list[PricedSpan]:
    """Return the known prices of periods of 5 minutes."""
    dynamic = tariff(TariffKind.DYNAMIC, price_period=Period.PT5M, vat_rate=Decimal(20))
    prices = [Price(START + n * 5 * MINUTE_MS, rate) for n, rate in enumerate(rates) if rate is not None]
    stop = START + MINUTES * MINUTE_MS
    return known_prices(rate_spans([dynamic], {"t": prices}, START, stop), START, stop)


def minutes_of(parts: list[PricedSpan]) -> list[int]:
    return [at for span in parts for at in range((span.start - START) // MINUTE_MS, (span.end - START) // MINUTE_MS)]


@settings(max_examples=examples(200))
@given(rates=PRICES, length=st.integers(1, MINUTES))
def test_the_cheapest_window_has_the_lowest_cost(rates: list[int | None], length: int) -> None:
    by_minute = [rates[minute // 5] for minute in range(MINUTES)]
    costs = {
        begin: sum(rate for rate in part if rate is not None)
        for begin in range(MINUTES - length + 1)
        if None not in (part := by_minute[begin : begin + length])
    }
    found = minutes_of(cheapest_window(spans_of(rates), length * MINUTE_MS))
    if not costs:
        assert found == []
        return
    assert len(found) == length
    assert all(following == minute + 1 for minute, following in pairwise(found))
    assert costs[found[0]] == min(costs.values())


@settings(max_examples=examples(200))
@given(rates=PRICES, length=st.integers(1, MINUTES))
def test_the_cheapest_parts_are_the_first_of_the_lowest_minutes(rates: list[int | None], length: int) -> None:
    by_minute = [(rate, minute) for minute in range(MINUTES) if (rate := rates[minute // 5]) is not None]
    expected = sorted(minute for _, minute in sorted(by_minute)[:length])
    parts = cheapest_parts(spans_of(rates), length * MINUTE_MS)
    assert minutes_of(parts) == (expected if len(expected) == length else [])
    if parts:
        mean = (
            sum((Decimal(rates[minute // 5] or 0) for minute in expected), Decimal(0)) / length * Decimal("1.2") / 10**6
        )
        assert abs(mean_rate_with_vat(parts) - mean) <= Decimal("0.000000005")


def test_prices_of_a_block_tariff_are_not_known() -> None:
    blocks = tariff(TariffKind.BLOCK, block_period=Period.P1D)
    assert known_prices(rate_spans([blocks], {}, START, START + MINUTE_MS), START, START + MINUTE_MS) == []
