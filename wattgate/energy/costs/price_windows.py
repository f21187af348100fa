"""Prices of a resource's energy over time, and the cheapest time for a task. No I/O.

Instants and durations are in milliseconds. Instants count from 1970, UTC.

The cost of a task that draws a constant power changes linearly with its start, while its start and its end stay in the
same two spans. So the cheapest start is one at which the task begins or ends with a span, and no others are compared.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from wattgate.energy.costs.tariffs import TariffTerms
from wattgate.energy.costs.timeline import Rate, RateSpan


class PricedSpan(NamedTuple):
    """The time [start, end) with one known price."""

    start: int
    end: int
    rate: Rate

    @property
    def tariff(self) -> TariffTerms:
        """The tariff of the price."""
        return self.rate.charge.tariff

    @property
    def price(self) -> int:
        """The cost of a unit of energy, with components and VAT, in the units of `timeline`."""
        return self.rate.price

    @property
    def rate_with_vat(self) -> Decimal:
        """The cost of a unit of energy, with components and VAT, in hundredths."""
        return self.rate.hundredths_with_vat


def known_prices(spans: Sequence[RateSpan], start: int, stop: int) -> list[PricedSpan]:
    """Return the known prices in [start, stop), in order.

    Rates of block tariffs are left out, because they depend on the energy used.
    """
    known = list[PricedSpan]()
    for index, (begin, rule) in enumerate(spans):
        end = spans[index + 1].start if index + 1 < len(spans) else stop
        begin, end = max(begin, start), min(end, stop)
        if begin < end and isinstance(rule, Rate):
            known.append(PricedSpan(begin, end, rule))
    return known


def cheapest_window(prices: Sequence[PricedSpan], length: int) -> list[PricedSpan]:
    """Return the parts of the cheapest time without a gap that lasts `length`, in order. The first one of several.

    The result is empty if no such time has known prices.
    """
    candidates = [window for run in _runs(prices) for window in _windows(run, length)]
    if not candidates:
        return []
    _, begin, run = min(candidates, key=lambda window: window[:2])
    return list(_clip(run, begin, begin + length))


def _windows(run: Sequence[PricedSpan], length: int) -> Iterator[tuple[int, int, Sequence[PricedSpan]]]:
    """Yield the cost and the start of each window in a run of spans that begins or ends with a span."""
    starts = [span.start for span in run]
    sums = [0, *accumulate(span.price * (span.end - span.start) for span in run)]

    def cost_until(at: int) -> int:
        position = bisect_right(starts, at) - 1
        return sums[position] + run[position].price * (at - starts[position])

    for begin in {edge for span in run for edge in (span.start, span.end - length)}:
        if starts[0] <= begin and begin + length <= run[-1].end:
            yield cost_until(begin + length) - cost_until(begin), begin, run


def cheapest_parts(prices: Sequence[PricedSpan], length: int) -> list[PricedSpan]:
    """Return the cheapest parts of time that together last `length`, in order of time. The first ones of equal prices.

    The result is empty if less time than that has known prices.
    """
    if sum(span.end - span.start for span in prices) < length:
        return []
    chosen, missing = list[PricedSpan](), length
    for span in sorted(prices, key=lambda span: (span.price, span.start)):
        used = min(missing, span.end - span.start)
        chosen.append(span._replace(end=span.start + used))
        missing -= used
        if not missing:
            break
    return sorted(chosen)


def mean_rate_with_vat(parts: Sequence[PricedSpan]) -> Decimal:
    """Return the mean rate of some time with VAT, in hundredths, with 8 decimal places."""
    total = sum(((span.end - span.start) * Fraction(span.rate_with_vat) for span in parts), Fraction(0))
    mean = total / sum(span.end - span.start for span in parts)
    return Decimal(round(mean * 10**8)).scaleb(-8)


def _runs(prices: Sequence[PricedSpan]) -> Iterator[list[PricedSpan]]:
    """Yield the spans that follow each other without a gap."""
    run = list[PricedSpan]()
    for span in prices:
        if run and run[-1].end != span.start:
            yield run
            run = []
        run.append(span)
    if run:
        yield run


def _clip(run: Sequence[PricedSpan], start: int, stop: int) -> Iterator[PricedSpan]:
    for span in run:
        if span.start < stop and start < span.end:
            yield span._replace(start=max(span.start, start), end=min(span.end, stop))
