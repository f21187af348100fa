"""A JSON Lines file of tariffs and prices into the database: one object a line, streamed in batches.

A line with `kind` is a tariff, with the members of the input `NewTariff`; without, it is the price of a half hour
(`at`, `rate`) of the dynamic tariff that holds then. `resourceId` says of which resource, unless one is named for the
file.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

import orjson
from graphql import GraphQLError
from graphql.utilities import validate_input_value

from wattgate.app.cli.imports.line_reader import numbered_lines
from wattgate.db.models import Tariff
from wattgate.enums import TariffKind
from wattgate.errors import BadInput, NotFound
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.fields import edge_named
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.execution.argument_binder import ArgumentBinder, RawArguments
from wattgate.graphql.execution.schema import Schema, build
from wattgate.graphql.resolvers.resources import resource
from wattgate.graphql.resolvers.tariffs import MAX_PRICES, set_tariff, set_tariff_prices
from wattgate.graphql.transport.bulk import BadLine, Refuse, Report
from wattgate.graphql.types.resources import Resource
from wattgate.graphql.types.tariffs import NewTariff, NewTariffPrice
from wattgate.principal import Principal

SOURCE = "import"
"""Where a tariff is known from whose line does not say."""

_Prices = list[tuple[int, NewTariffPrice]]
"""Prices with the number of the line that each stands on."""


@dataclass(slots=True)
class _Import:
    """A file on its way in: what is known of its resources, and the prices that are not recorded yet."""

    runner: Runner
    principal: Principal
    refuse: Refuse
    report: Report = field(default_factory=Report)
    prices: dict[str, _Prices] = field(default_factory=lambda: defaultdict(list))
    held: int = 0

    async def tariff(self, number: int, given: NewTariff) -> None:
        await self.store()  # what came before was meant for the tariffs before
        try:
            await self.runner.run(set_tariff, self.principal, {"input": given})
        except (BadInput, NotFound) as error:
            self.refused(number, _reason(error))
        else:
            self.report.recorded += 1

    async def price(self, number: int, resource_id: str, given: NewTariffPrice) -> None:
        self.prices[resource_id].append((number, given))
        self.held += 1
        if self.held >= MAX_PRICES:
            await self.store()

    async def store(self) -> None:
        """Record the prices that are held."""
        for resource_id, prices in self.prices.items():
            try:
                tariffs = await self._tariffs(resource_id)
            except NotFound as error:
                for number, _ in prices:
                    self.refused(number, error.message)
                continue
            by_tariff: dict[str, _Prices] = defaultdict(list)
            for number, price in prices:
                holding = _in_force(tariffs, price.at)
                if holding is None:
                    self.refused(number, "the resource has no dynamic tariff that holds then")
                else:
                    by_tariff[holding.tariff_id].append((number, price))
            for tariff_id, some in by_tariff.items():
                await self._record(tariff_id, some)
        self.prices.clear()
        self.held = 0

    def refused(self, number: int, reason: str) -> None:
        self.report.refused += 1
        self.refuse(number, reason)

    async def _tariffs(self, resource_id: str) -> list[Tariff]:
        """The tariffs of a resource that stand, newest first, those to come included."""
        found = await self.runner.run(resource, self.principal, {"resource_id": resource_id})
        edge = edge_named(Resource, "tariffs")
        tariffs: list[list[Tariff]] = await self.runner.load(edge, self.principal, [found], {"upcoming": True})
        return tariffs[0]

    async def _record(self, tariff_id: str, prices: _Prices) -> None:
        """Record prices without those that the gateway refuses."""
        while prices:
            arguments = {"tariff_id": tariff_id, "prices": [price for _, price in prices]}
            try:
                done = await self.runner.run(set_tariff_prices, self.principal, arguments)
            except BadInput as error:
                bad = {problem.path[1]: problem.message for problem in error.problems if problem.path[0] == "prices"}
                if not bad:
                    raise
                for index, reason in bad.items():
                    self.refused(prices[int(index)][0], reason)
                prices = [price for index, price in enumerate(prices) if index not in bad]
            else:
                self.report.recorded += done.recorded
                return


class _Reader:
    """Makes the arguments of an operation of what a line says, by the operation's own input types."""

    def __init__(self, schema: Schema, operation: Operation, argument: str) -> None:
        self._binder = ArgumentBinder(schema, operation)
        self._argument = argument

    def read(self, value: Any, **others: Any) -> Any:
        """The argument. BadLine with everything that is wrong with it, unknown members too."""
        reasons: list[str] = []

        def tell(error: GraphQLError, path: list[str | int]) -> None:
            place = ".".join(str(step) for step in path)
            reasons.append(f"{place}: {error.message}" if place else error.message)

        validate_input_value(value, self._binder.arguments[self._argument].type, tell, hide_suggestions=True)
        if reasons:
            raise BadLine("; ".join(reasons))
        return self._binder.bind(RawArguments({self._argument: value, **others}))[self._argument]


async def import_tariffs(
    file: BinaryIO,
    *,
    runner: Runner,
    principal: Principal,
    resource_id: str | None,
    refuse: Refuse,
    progress: Callable[[int], None],
) -> Report:
    """Set every tariff and price of the file that can be; the others are refused by line and reason.

    `progress` is told the bytes read so far.
    """
    schema = build(OPERATIONS)
    tariffs, prices = _Reader(schema, set_tariff, "input"), _Reader(schema, set_tariff_prices, "prices")
    work = _Import(runner, principal, refuse)
    for number, text in numbered_lines(file):
        work.report.lines += 1
        try:
            line = _line(text, resource_id)
            if "kind" in line:
                await work.tariff(number, tariffs.read({"source": SOURCE, **line}))
            else:
                of = line.pop("resourceId", None)
                (price,) = prices.read([line], tariffId="")
                if not isinstance(of, str):
                    raise BadLine("names no resource")
                await work.price(number, of, price)
        except BadLine as bad:
            work.refused(number, str(bad))
        progress(file.tell())
    await work.store()
    return work.report


def _line(text: str, resource_id: str | None) -> dict[str, Any]:
    """The object that a line is, with the resource that is named for the file where there is one."""
    try:
        line = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadLine(f"is not JSON: {error}") from None
    if not isinstance(line, dict):
        raise BadLine("is not an object")
    if resource_id is None:
        return line
    if line.setdefault("resourceId", resource_id) != resource_id:
        raise BadLine("names another resource than the one of the file")
    return line


def _in_force(tariffs: list[Tariff], at: datetime) -> Tariff | None:
    """The tariff that holds at an instant, if it is a dynamic one; tariffs are given newest first."""
    holding = next((tariff for tariff in tariffs if tariff.valid_from <= at), None)
    return holding if holding and holding.kind is TariffKind.DYNAMIC else None


def _reason(error: BadInput | NotFound) -> str:
    """Everything that is wrong with a tariff, with its place in the line."""
    told = (f"{'.'.join(map(str, problem.path[1:]))} {problem.message}" for problem in error.problems)
    return "; ".join(told) or error.message
