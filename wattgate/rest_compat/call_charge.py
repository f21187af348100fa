"""The cost of one REST call, and its charge: before it runs, and then what the real size of its result adds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wattgate.clock import Clock, utc_now
from wattgate.errors import CostTooHigh, GatewayError, RateLimited
from wattgate.graphql.cost.directives import own_list_size
from wattgate.operations.core.operation import Operation
from wattgate.operations.readings.bulk_recorder import SenderGone
from wattgate.operations.vocabulary.cost_weights import (
    DEFAULT_LIST_SIZE,
    SERIES_ITEMS_PER_UNIT,
    STATEMENT_WEIGHT,
    Amount,
    render_units,
)
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.principal import Principal
from wattgate.rate_limit.budgets import CURRENT_BALANCE, Balance, Budgets, rate_limited_error
from wattgate.requests.client import AddressLimiter, AddressPolicy, current_client, never
from wattgate.requests.request_context import known_request_cost
from wattgate.requests.request_limits import size_attempts, size_cost

MAX_PACE_SECONDS = 60
"""Maximum sum of the times for which a stream waits for its budget. Then it ends with RateLimited."""

WAIT_CHECK_SECONDS = 1
"""Interval in which a stream that waits checks whether its wait still has a purpose."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class WaitEnds:
    """The reasons for which a stream does not wait any longer: its client has gone, or the gateway shuts down."""

    client_has_gone: Callable[[], bool] = never
    is_draining: Callable[[], bool] = never


class StreamWaits:
    """The waits of a stream for its budget: at most MAX_PACE_SECONDS in sum, until it makes progress."""

    def __init__(self, sleep: Sleep, ends: WaitEnds) -> None:
        self._sleep = sleep
        self._ends = ends
        self._waited = 0

    def mark_progress(self) -> None:
        """Let the next wait be the first one."""
        self._waited = 0

    async def wait(self, balance: Balance) -> None:
        """Wait until the budget may cover the next part.

        Raise RateLimited if the waits become too long or the gateway shuts down, and SenderGone if nobody is left to
        read the response.
        """
        left = balance.retry_after
        if self._waited + left > MAX_PACE_SECONDS:
            raise rate_limited_error(balance)
        self._waited += left
        while left > 0:
            if self._ends.client_has_gone():
                raise SenderGone("The client has gone.", retry_after=balance.retry_after)
            if self._ends.is_draining():
                raise rate_limited_error(balance)
            step = min(left, WAIT_CHECK_SECONDS)
            await self._sleep(step)
            left -= step


class CallCharge:
    """Charge a caller for the parts of a call. `charged` is their sum, and `balance` the budget after the last one."""

    def __init__(self, budgets: Budgets, principal: Principal, *, sleep: Sleep = asyncio.sleep) -> None:
        self.charged = 0
        self.balance: Balance | None = None
        self._budgets = budgets
        self._principal = principal
        self._sleep = sleep
        self._measured_units = 0
        self._executed_mutation = False

    def mark_mutation_executed(self) -> None:
        """Note that a mutation is committed. The charge of its result is then not refused: it would be sent again."""
        self._executed_mutation = True

    async def add(self, cost: int) -> None:
        """Charge a cost. Raise RateLimited or CostTooHigh if the budget does not cover it.

        RateLimited states when the budget covers it together with the charge so far, because the call begins anew.
        """
        try:
            self.balance = await self._budgets.charge(self._principal, cost, paid=self.charged)
        except CostTooHigh:
            self.balance = CURRENT_BALANCE.get()
            raise
        if self.balance is not None and not self.balance.granted:
            raise rate_limited_error(self.balance)
        self.charged += cost

    async def add_size(self, size: int) -> None:
        """Charge the size of a request in bytes, before it is parsed. Raise as `add` does.

        RateLimited states when the budget covers the operation too, as far as its cost is known.
        """
        if not (cost := size_cost(size)):
            return
        try:
            await self.add_units(cost)
        except RateLimited:
            error = await self._budgets.refusal(self._principal, max(self.charged + cost, known_request_cost()))
            self.balance = CURRENT_BALANCE.get()
            raise error from None

    async def begin_parts(self) -> None:
        """Raise RateLimited before a body of unknown length if earlier work has used up the budget."""
        self.balance = await self._budgets.charge(self._principal, 0, paid=self.charged)
        if self.balance is not None and not self.balance.granted:
            raise rate_limited_error(self.balance)

    async def add_part(self, size: int, whole: int) -> None:
        """Charge a part of a body that has arrived, also above the remaining budget. See `SizeCharge`."""
        cost = size_cost(whole) - size_cost(whole - size)
        if not cost:
            return
        try:
            self.balance = await self._budgets.charge_read(self._principal, cost, paid=self.charged)
        except GatewayError:
            self.balance = CURRENT_BALANCE.get()
            raise
        finally:
            self.charged += cost
            self._measured_units += cost

    async def refund_size(self, size: int) -> None:
        """Return the charge of a body that is not read."""
        if cost := size_cost(size):
            await self.refund(cost)
            self._measured_units -= cost

    async def raise_to(self, cost: int, *, loaded_units: int) -> None:
        """Charge the part of the call's cost that is not charged yet, when its rows are loaded. They cost loaded_units.

        Raise as `add_loaded` does.
        """
        paid = self.charged - self._measured_units
        if (missing := cost - paid) > 0:
            await self.add_loaded(missing, max(0, loaded_units - paid))

    async def add_loaded(self, cost: int, loaded_units: int) -> None:
        """Charge a cost of which `loaded_units` are for rows that are loaded already.

        If the budget does not cover the cost, charge the loaded units also above it, and raise as `add` does. The
        result of a mutation that is executed is charged above the budget, too.
        """
        if self._executed_mutation:
            await self.add_done(cost)
            return
        whole = self.charged + cost
        try:
            await self.add(cost)
        except (RateLimited, CostTooHigh):
            self.balance, error = await self._budgets.charge_refused(self._principal, whole, loaded_units=loaded_units)
            self.charged += loaded_units
            raise error from None

    async def add_units(self, units: int) -> None:
        """Charge units that the cost of the call does not contain, before their work begins. Raise as `add` does."""
        await self.add(units)
        self._measured_units += units

    async def add_done(self, units: int) -> None:
        """Charge work that is done and that only the stored data determine, also above the remaining budget."""
        if units:
            self.balance = await self._budgets.charge_done(self._principal, units)
            self.charged += units
            self._measured_units += units

    async def check_work(self) -> None:
        """Raise RateLimited if earlier work has used up the budget."""
        balance = await self._budgets.charge(self._principal, 0, paid=self.charged - self._measured_units)
        if balance is not None and not balance.granted:
            raise rate_limited_error(balance)

    async def add_work(self, seconds: float) -> None:
        """Charge the processor time of a rendering that is done, also above the remaining budget."""
        await self.add_done(render_units(seconds))

    async def refund(self, units: int) -> None:
        """Return units of the estimate, because their work was refused before it began."""
        self.balance = await self._budgets.refund(self._principal, units)
        self.charged -= units

    def begin_waits(self, ends: WaitEnds) -> StreamWaits:
        """Return the waits of a stream, which its parts share."""
        return StreamWaits(self._sleep, ends)

    async def add_paced(self, cost: int, waits: StreamWaits | None = None) -> None:
        """Charge the next part of a stream. Wait for the budget if it does not cover it.

        A cost above the capacity of the budget is charged in portions. Without `waits`, the part has waits of its own.
        Raise as `StreamWaits.wait` does.
        """
        waits = waits or self.begin_waits(WaitEnds())
        while cost > 0:
            portion = min(cost, self._budgets.max_cost(self._principal) or cost)
            balance = await self._budgets.charge(self._principal, portion)
            self.balance = balance
            if balance is None or balance.granted:
                self.charged += portion
                cost -= portion
                continue
            await waits.wait(balance)


class StrangerCharge(CallCharge):
    """The charge of a call without credentials: its address pays for its size, and an application for the rest."""

    def __init__(self, budgets: Budgets, principal: Principal, address_limits: AddressLimiter) -> None:
        super().__init__(budgets, principal)
        self._address_limits = address_limits

    def name_payer(self, payer: Principal) -> None:
        """Let the budget of another principal pay for the rest of the call. Nothing is charged yet but the size."""
        self._principal = payer

    async def add_size(self, size: int) -> None:
        await self.add_part(size, size)

    async def begin_parts(self) -> None:
        """Charge nothing: the address has paid for the call."""

    async def add_part(self, size: int, whole: int) -> None:
        if attempts := size_attempts(whole) - size_attempts(whole - size):
            await self._address_limits.charge_done(AddressPolicy.REQUEST, current_client(), attempts)

    async def refund_size(self, size: int) -> None:
        """Return nothing: the address pays for each attempt."""


BYTES_PER_UNIT = 1_024
"""Bytes of an upload that cost one unit, whatever they contain. A usual line has 100 bytes."""

LINES_PER_UNIT = 64
"""Lines of an upload that cost one unit, empty ones too."""

REFUSED_LINES_PER_UNIT = 2
"""Lines without a valid reading that cost one unit: each is parsed on its own, and has a reason."""

PORTION = 100
"""Units of reading that are charged at once. A call pays as much before it reads, as the cost of a mutation."""


class UploadCharge:
    """Charge a caller for the parts of an upload.

    Reading and storing have prices for the same lines, so the higher one counts. Refused lines are charged besides. All
    parts share the time of `StreamWaits`, which begins again when readings are recorded.
    """

    def __init__(self, charge: CallCharge, ends: WaitEnds = WaitEnds()) -> None:
        self._charge = charge
        self._waits = charge.begin_waits(ends)
        self._paying = asyncio.Lock()
        self._read_bytes = 0
        self._read_lines = 0
        self._refused_lines = 0
        self._stored_units = 0
        self._paid = 0

    @property
    def total(self) -> int:
        """The cost of all parts so far, in units."""
        read = self._read_bytes // BYTES_PER_UNIT + self._read_lines // LINES_PER_UNIT
        return max(read, self._stored_units) + self._refused_lines // REFUSED_LINES_PER_UNIT

    async def add_work(self, size: int, lines: int, refused: int) -> None:
        """Charge bytes and lines that are read, and lines that are refused. Wait for the budget if necessary.

        Raise as `CallCharge.add_paced` does.
        """
        self._read_bytes += size
        self._read_lines += lines
        self._refused_lines += refused
        if self.total - self._paid >= PORTION:
            await self._pay()

    async def add_paced(self, cost: int) -> None:
        """Charge a batch before it is stored, as `CallCharge.add_paced` does."""
        self._stored_units += cost
        await self._pay()

    def mark_recorded(self) -> None:
        """Note that readings are recorded."""
        self._waits.mark_progress()

    async def _pay(self) -> None:
        async with self._paying:  # a batch is stored while the next one is read: only one of both waits
            missing = self.total - self._paid
            self._paid += missing
            await self._charge.add_paced(missing, self._waits)


# The cost of a REST call: before it runs, by the assumed size of its list, and then by its real size.


@dataclass(frozen=True, slots=True)
class CallCost:
    """The cost of a call, as a function of the number of rows of its result.

    `fixed` does not depend on the rows, `per_row` is that of the edges of a row, and `items_per_unit` rows cost a unit.
    """

    fixed: int
    per_row: int
    items_per_unit: int
    assumed_rows: int

    @property
    def estimate(self) -> int:
        """The cost before the call runs."""
        return self.for_rows(self.assumed_rows)

    def for_rows(self, count: int) -> int:
        """Return the cost of a result of this many rows."""
        return self.fixed + self.row_units(count) + count * self.per_row

    def row_units(self, count: int) -> int:
        """Return what this many rows cost by themselves, without their edges."""
        return -(-count // self.items_per_unit)


def call_cost(
    operation: Operation, arguments: Mapping[str, Any], edges: Iterable[EdgeField] = (), clock: Clock = utc_now
) -> CallCost:
    """Return the cost of a REST call: an operation, its result and these edges of the result."""
    now, edges = clock(), list(edges)

    def value_of(amount: Amount) -> int:
        if isinstance(amount, int):
            return amount
        return amount.compute(now, *[arguments.get(name) for name in amount.slicing_arguments])

    own_size = own_list_size(operation.sizes)
    nested_units = max(
        (value_of(size.assumed_size) // SERIES_ITEMS_PER_UNIT for size in operation.sizes if size.sized_fields),
        default=0,
    )
    return CallCost(
        fixed=value_of(operation.base_cost) + nested_units + STATEMENT_WEIGHT * len(edges),
        per_row=sum(value_of(edge.weight) for edge in edges),
        items_per_unit=own_size.items_per_unit,
        assumed_rows=value_of(own_size.assumed_size) if operation.rest_returns_list else 1,
    )


def depends_on_arguments(operation: Operation) -> bool:
    """Return whether the cost of a REST call depends on its arguments."""
    amounts = (operation.base_cost, *(size.assumed_size for size in operation.sizes))
    return not all(isinstance(amount, int) for amount in amounts)


def cost_of_call(
    operation: Operation, arguments: Mapping[str, Any], edges: Iterable[EdgeField] = (), clock: Clock = utc_now
) -> int:
    """Return the cost of a REST call before it runs."""
    return call_cost(operation, arguments, edges, clock).estimate


def cost_of_edge_items(lists: Iterable[Any]) -> int:
    """Return the cost of the items of edge results beyond the size that the weight of the edge includes."""
    return sum(max(0, len(items) - DEFAULT_LIST_SIZE) for items in lists if isinstance(items, list))
