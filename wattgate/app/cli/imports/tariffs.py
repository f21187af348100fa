"""Import tariffs and prices, in batches: JSON Lines with one object for each line, or the prices of a price source.

A line with `kind` is a tariff, with the members of the GraphQL input `NewTariff`. A line without `kind` is the price of
one period (`at`, `rate`) in the dynamic tariff that is valid then. `resourceId` is the resource, unless the import has
one resource for all lines. `currency` is that of the import if a line has none. Without both, a price has that of its
tariff, and a tariff is refused.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

from wattgate.app.input_parser import InputParser, decode_object
from wattgate.clock import from_ms, to_ms
from wattgate.db.queries.series.tariffs import TariffRates
from wattgate.energy.buckets import MINUTE_MS
from wattgate.energy.costs.tariffs import price_length_ms
from wattgate.energy.quantities import currency_problem
from wattgate.enums import TariffKind
from wattgate.errors import BadInput, NotFound
from wattgate.graphql.execution.schema import build_schema
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.homes.resources import resource
from wattgate.operations.readings.bulk_recorder import BulkReport, ReportRefusal
from wattgate.operations.tariffs import MAX_PRICES, set_tariff, set_tariff_prices
from wattgate.operations.types.homes.resources import Resource
from wattgate.operations.types.meters.tariffs import NewTariff, NewTariffPrice
from wattgate.price_sources.answers import SourcePrice, describe_span
from wattgate.principal import Principal
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.line_reader import bytes_read, read_numbered_lines

DEFAULT_SOURCE = "import"
"""The `source` of a tariff if its line has none."""

NO_CURRENCY = "XXX"
"""The code of ISO 4217 for no currency. The parser of a price needs a code, and the price does not keep it."""

_NumberedPrices = list[tuple[int, NewTariffPrice]]
"""Prices, each with the number of its line."""


@dataclass(slots=True)
class _TariffImport:
    """The state of an import: its report, and the prices that are not recorded yet, by resource ID and currency.

    The currency is None for prices that do not state one.
    """

    runner: Runner
    principal: Principal
    refuse: ReportRefusal
    report: BulkReport = field(default_factory=BulkReport)
    pending_prices: dict[tuple[str, str | None], _NumberedPrices] = field(default_factory=lambda: defaultdict(list))
    pending_count: int = 0

    async def add_tariff(self, number: int, new_tariff: NewTariff) -> None:
        await self.flush_prices()  # earlier prices belong to the tariffs before this one
        try:
            await self.runner.run(set_tariff, self.principal, {"input": new_tariff})
        except (BadInput, NotFound) as error:
            self.reject_line(number, _format_problems(error))
        else:
            self.report.recorded += 1

    async def add_price(self, number: int, resource_id: str, currency: str | None, new_price: NewTariffPrice) -> None:
        self.pending_prices[resource_id, currency].append((number, new_price))
        self.pending_count += 1
        if self.pending_count >= MAX_PRICES:
            await self.flush_prices()

    async def flush_prices(self) -> None:
        """Record the pending prices."""
        for (resource_id, currency), prices in self.pending_prices.items():
            try:
                tariffs = await self.load_tariffs(resource_id)
            except NotFound as error:
                for number, _ in prices:
                    self.reject_line(number, error.message)
                continue
            by_tariff = defaultdict[tuple[str, str], _NumberedPrices](list)
            for number, price in prices:
                tariff = _dynamic_tariff_at(tariffs, price.at)
                if tariff is None:
                    self.reject_line(number, "the resource has no dynamic tariff at this time")
                elif currency not in (None, tariff.currency):
                    self.reject_line(number, f"currency: is {currency}, and the tariff is in {tariff.currency}")
                else:
                    by_tariff[tariff.tariff_id, tariff.currency].append((number, price))
            for (tariff_id, tariff_currency), tariff_prices in by_tariff.items():
                await self.record_prices(tariff_id, tariff_currency, tariff_prices)
        self.pending_prices.clear()
        self.pending_count = 0

    def reject_line(self, number: int, reason: str) -> None:
        self.report.refused += 1
        self.refuse(number, reason)

    async def load_tariffs(self, resource_id: str) -> list[TariffRates]:
        """Return the tariffs of a resource, newest first, including future ones."""
        row = await self.runner.run(resource, self.principal, {"resource_id": resource_id})
        edge = find_edge(Resource, "tariffs")
        tariffs: list[list[TariffRates]] = await self.runner.load(edge, self.principal, [row], {"upcoming": True})
        return tariffs[0]

    async def record_prices(self, tariff_id: str, currency: str, prices: _NumberedPrices) -> None:
        """Record prices. If the gateway rejects some of them, report those and record the others."""
        while prices:
            listed = [price for _, price in prices]
            arguments = {"tariff_id": tariff_id, "currency": currency, "prices": listed}
            try:
                result = await self.runner.run(set_tariff_prices, self.principal, arguments)
            except BadInput as error:
                reasons = {
                    problem.path[1]: problem.message for problem in error.problems if problem.path[0] == "prices"
                }
                if not reasons:
                    raise
                for index, reason in reasons.items():
                    self.reject_line(prices[int(index)][0], reason)
                prices = [price for index, price in enumerate(prices) if index not in reasons]
            else:
                self.report.recorded += result.recorded
                return


async def import_prices(
    prices: Sequence[SourcePrice],
    *,
    currency: str,
    vat_included: bool,
    runner: Runner,
    principal: Principal,
    resource_id: str,
    refuse: ReportRefusal,
) -> BulkReport:
    """Set the prices of a price source in the dynamic tariffs of a resource. Call `refuse` for each other price.

    A price that lasts longer than those of the tariff becomes several. If it lasts longer than its tariff, each part of
    its time belongs to the tariff then, and only the parts without one are refused. Raise BadInput if VAT would be
    added twice, and set none then.
    """
    prices_import = _TariffImport(runner, principal, refuse)
    tariffs = await prices_import.load_tariffs(resource_id)
    if vat_included:
        _check_vat_is_added_once(prices, tariffs)
    pending = defaultdict[str, _NumberedPrices](list)
    ascending = tariffs[::-1]
    starts = [to_ms(tariff.valid_from) for tariff in ascending]
    for number, price in enumerate(prices, start=1):
        prices_import.report.lines += 1
        for index, begin, end in _parts_by_tariff(starts, price):
            tariff = ascending[index] if index >= 0 else None
            if tariff is None or tariff.kind is not TariffKind.DYNAMIC:
                prices_import.reject_line(number, f"the home has no dynamic tariff of {describe_span(begin, end)}")
                continue
            if tariff.currency != currency:
                prices_import.reject_line(number, f"currency: is {currency}, and the tariff is in {tariff.currency}")
                continue
            length = price_length_ms(tariff.stored)
            first = price.start + (begin - price.start) // length * length  # it may begin before the tariff does
            for at in range(first, end, length):
                if at + length > price.end:
                    minutes, needed = (price.end - at) // MINUTE_MS, length // MINUTE_MS
                    reason = (
                        f"holds for {minutes} minutes, and prices of the tariff for {needed}. Set its `pricePeriod`"
                    )
                    prices_import.reject_line(number, reason)
                    break
                of_tariff = pending[tariff.tariff_id]
                of_tariff.append((number, NewTariffPrice(at=from_ms(at), rate=price.rate)))
                if len(of_tariff) >= MAX_PRICES:
                    await prices_import.record_prices(tariff.tariff_id, currency, pending.pop(tariff.tariff_id))
    for tariff_id, of_tariff in pending.items():
        await prices_import.record_prices(tariff_id, currency, of_tariff)
    return prices_import.report


def _parts_by_tariff(starts: Sequence[int], price: SourcePrice) -> Iterator[tuple[int, int, int]]:
    """Yield the index of each tariff in force while a price holds, with its part of that time.

    `starts` are those of the tariffs, in order. Index -1 is the time before all of them.
    """
    begin, index = price.start, bisect_right(starts, price.start) - 1
    while begin < price.end:
        end = min(price.end, starts[index + 1]) if index + 1 < len(starts) else price.end
        yield index, begin, end
        begin, index = end, index + 1


def _check_vat_is_added_once(prices: Sequence[SourcePrice], tariffs: Sequence[TariffRates]) -> None:
    """Raise BadInput if a tariff adds VAT to prices that include it. `tariffs` are ordered newest first."""
    until = from_ms(max((price.end for price in prices), default=0))
    since = from_ms(min((price.start for price in prices), default=0))
    for tariff in tariffs:
        if tariff.valid_from < until and tariff.kind is TariffKind.DYNAMIC and tariff.vat_percent:
            raise BadInput(
                f"The prices include VAT, and the tariff {tariff.name!r} adds {tariff.vat_percent} %. Set a tariff "
                "with `vatPercent` 0 first."
            )
        if tariff.valid_from <= since:  # earlier ones price nothing of the time
            return


async def import_tariffs(
    file: BinaryIO,
    *,
    runner: Runner,
    principal: Principal,
    resource_id: str | None,
    currency: str | None,
    refuse: ReportRefusal,
    progress: Callable[[int], None],
) -> BulkReport:
    """Set the tariff or price of each valid line. Call `refuse` with the number and reason of each other line.

    Call `progress` with the number of bytes read so far.
    """
    schema = build_schema(OPERATIONS)
    tariffs, prices = InputParser(schema, set_tariff, "input"), InputParser(schema, set_tariff_prices, "prices")
    tariff_import = _TariffImport(runner, principal, refuse)
    for number, text in read_numbered_lines(file):
        tariff_import.report.lines += 1
        try:
            line = {**({} if currency is None else {"currency": currency}), **_parse_line(text, resource_id)}
            if "kind" in line:
                await tariff_import.add_tariff(number, tariffs.parse({"source": DEFAULT_SOURCE, **line}))
            else:
                line_resource_id, line_currency = line.pop("resourceId", None), line.pop("currency", None)
                if line_currency is not None and (problem := _currency_problem(line_currency)):
                    raise InvalidLine(f"currency: {problem}")
                (price,) = prices.parse([line], tariffId="", currency=line_currency or NO_CURRENCY)
                if not isinstance(line_resource_id, str):
                    raise InvalidLine("has no `resourceId`. Add it, or use the option --resource")
                await tariff_import.add_price(number, line_resource_id, line_currency, price)
        except InvalidLine as error:
            tariff_import.reject_line(number, str(error))
        progress(bytes_read(file))
    await tariff_import.flush_prices()
    return tariff_import.report


def _currency_problem(code: Any) -> str | None:
    return currency_problem(code) if isinstance(code, str) else f"{code!r} is not a text"


def _parse_line(text: str, resource_id: str | None) -> dict[str, Any]:
    """Return the JSON object of a line. Add the resource ID of the import, if it has one."""
    line = decode_object(text)
    if resource_id is None:
        return line
    if line.setdefault("resourceId", resource_id) != resource_id:
        raise InvalidLine("has another `resourceId` than the option --resource")
    return line


def _dynamic_tariff_at(tariffs: list[TariffRates], at: datetime) -> TariffRates | None:
    """Return the tariff that is valid at an instant if it is dynamic, else None. `tariffs` are ordered newest first."""
    in_force = next((tariff for tariff in tariffs if tariff.valid_from <= at), None)
    return in_force if in_force and in_force.kind is TariffKind.DYNAMIC else None


def _format_problems(error: BadInput | NotFound) -> str:
    """Return all problems of a tariff in one text, each with its path in the line."""
    problems = (f"{'.'.join(map(str, problem.path[1:]))} {problem.message}" for problem in error.problems)
    return "; ".join(problems) or error.message
