"""The charge of an operation while it runs: its estimate, the sizes of the lists that it loads, and measured work."""

from copy import copy

from wattgate.errors import CostTooHigh, GatewayError, RateLimited
from wattgate.graphql.cost.operation_cost import MAX_COST, CostEstimate
from wattgate.operations.vocabulary.cost_weights import render_units
from wattgate.principal import Principal
from wattgate.rate_limit.budgets import CURRENT_BALANCE, Balance, Budgets, rate_limited_error


class BudgetExhausted(Exception):
    """The remaining budget of the caller is lower than the cost of the operation."""

    def __init__(self, balance: Balance) -> None:
        super().__init__(balance.policy)
        self.balance = balance
        self.error = rate_limited_error(balance)


class OperationCharge:
    """The charge of one operation: the estimate before it runs, and the additional cost of the real list sizes.

    The processor time of renderings is charged when they are done, and not limited by MAX_COST before that.
    The cost may also fall while lists turn out short. A caller is never charged less than the estimate, except for a
    refund of work that did not begin. After a refusal, the operation loads nothing more. The rows that are loaded by
    then are charged, also above the remaining budget. A refusal of the budget then states when it covers the whole
    cost, because the operation begins anew. `balance` is the budget after the last charge.
    """

    __slots__ = (
        "_budgets",
        "_cost",
        "_estimate",
        "_executed_mutation",
        "_loaded_units",
        "_measured_units",
        "_prepaid_units",
        "_principal",
        "_refusal",
        "_size_units",
        "_work_units",
        "balance",
        "charged",
    )

    def __init__(self, budgets: Budgets, principal: Principal, estimate: CostEstimate, size_units: int = 0) -> None:
        """Create the charge of an operation, for whose request `size_units` are charged already."""
        self.charged = self._size_units = size_units
        self.balance = CURRENT_BALANCE.get() if size_units else None
        self._refusal: GatewayError | None = None
        self._budgets = budgets
        self._principal = principal
        self._estimate = estimate
        self._cost = estimate.total + size_units
        self._prepaid_units = 0
        self._work_units = 0
        self._measured_units = 0
        self._loaded_units = 0
        self._executed_mutation = False

    @classmethod
    def flat(cls, budgets: Budgets, principal: Principal, cost: int, size_units: int = 0) -> "OperationCharge":
        """Return the charge of work that loads no lists, in a request for which `size_units` are charged already."""
        return cls(budgets, principal, CostEstimate(cost, (), {}), size_units)

    @classmethod
    def for_event(cls, budgets: Budgets, principal: Principal, estimate: CostEstimate) -> "OperationCharge":
        """Return the charge of one event of a subscription, whose estimate was charged when it began."""
        charge = cls(budgets, principal, estimate)
        charge.charged = charge._prepaid_units = estimate.total
        return charge

    def copy_refusal(self) -> GatewayError:
        """Return the refusal of a part of the cost as a new error. Raise TypeError if nothing is refused.

        The frames of a traceback refer to this object and to all rows that the operation has loaded. An error with a
        traceback here would keep them until the garbage of cycles is collected, which may be many requests later.
        """
        if self._refusal is None:
            raise TypeError("nothing is refused")
        return copy(self._refusal)

    @property
    def is_refused(self) -> bool:
        """Whether a part of the cost was refused."""
        return self._refusal is not None

    @property
    def estimated(self) -> int:
        """The cost by the assumed sizes of lists, and the size of the request."""
        return self._estimate.total + self._size_units

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to charge, and nothing was refused."""
        return self._refusal is None and 0 < self.charged >= self._cost

    async def settle(self) -> None:
        """Charge the part of the cost that is not charged yet.

        Raise CostTooHigh if the cost exceeds MAX_COST, or RateLimited if the budget does not cover it. After that, all
        later calls raise the same error.
        """
        if self._refusal is None and not self.is_settled:
            try:
                await self._charge(self._cost - self.charged)
            except GatewayError as error:
                refused = self._after_mutation(error) if self._executed_mutation else error
                self._refusal = refused.with_traceback(None)
        await self._raise_refusal()

    def count(self, node_id: int, list_count: int, item_count: int) -> None:
        """Correct the cost: the lists of a field have `item_count` items together."""
        self._cost += self._estimate.correction(node_id, list_count, item_count)
        self._loaded_units += self._estimate.item_units(node_id, item_count)

    async def add_units(self, units: int) -> None:
        """Charge units before their work begins. Raise as `settle` does."""
        self._cost += units
        await self.settle()
        self._measured_units += units

    async def add_done(self, units: int) -> None:
        """Charge work that is done and that only the stored data determine, also above the remaining budget.

        Raise CostTooHigh if the cost then exceeds MAX_COST. After that, all later calls raise the same error.
        """
        await self._charge_done(units)
        if self._refusal is None and self._cost - self._work_units > MAX_COST:
            error = _cost_too_high(self._cost - self._work_units)
            self._refusal = self._after_mutation(error) if self._executed_mutation else error
        await self._raise_refusal()

    async def check_work(self) -> None:
        """Raise RateLimited if earlier work has used up the budget, or CostTooHigh if it exceeds MAX_COST.

        After that, all later calls raise the same error.
        """
        if self._refusal is None:
            self._refusal = await self._find_work_refusal()
        await self._raise_refusal()

    async def add_work(self, seconds: float) -> None:
        """Charge the processor time of a rendering that is done, also above the remaining budget."""
        if not (units := render_units(seconds)):
            return
        self._work_units += units
        await self._charge_done(units)

    async def refund(self, units: int) -> None:
        """Return units of the estimate, because their work was refused before it began."""
        self._cost -= units
        self.charged -= units
        self.balance = await self._budgets.refund(self._principal, units) or self.balance

    async def _charge_done(self, units: int) -> None:
        if not units:
            return
        self._cost += units
        self.charged += units
        self._measured_units += units
        await self._spend_done(units)

    async def _raise_refusal(self) -> None:
        """Raise the refusal, if there is one, after a charge of the rows that are loaded and not paid for."""
        if self._refusal is None:
            return
        missing = self._unpaid_rows
        is_begun = self.charged > self._size_units + self._prepaid_units
        self.charged += missing  # before the wait, so that concurrent edges do not charge it twice
        whole = self._cost - self._prepaid_units - self._work_units
        exhausted = self.exhausted_balance
        if exhausted is not None and exhausted.cost and (missing or (is_begun and exhausted.cost != whole)):
            self.balance, self._refusal = await self._budgets.charge_refused(
                self._principal, whole, loaded_units=missing
            )
        elif missing:
            await self._spend_done(missing)
        raise self.copy_refusal()

    @property
    def _unpaid_rows(self) -> int:
        """The units of the rows that are loaded and not paid for."""
        return max(0, self._loaded_units - (self.charged - self._size_units - self._measured_units))

    async def add_loaded(self) -> None:
        """Charge the rows that are loaded and not paid for, when an operation ends early. It loads nothing more."""
        if missing := self._unpaid_rows:
            self.charged += missing
            await self._spend_done(missing)

    def refuse_rest(self, error: GatewayError) -> None:
        """Let the operation load nothing more. All later calls raise the error, unless another one came before."""
        if self._refusal is None:
            self._refusal = error

    async def _spend_done(self, units: int) -> None:
        balance = await self._budgets.charge_done(self._principal, units)
        if balance is not None and self.exhausted_balance is None:  # a refusal states until when to wait
            self.balance = balance

    async def _find_work_refusal(self) -> GatewayError | None:
        if self._work_units > MAX_COST:
            return CostTooHigh(
                f"the renderings of this operation have cost {self._work_units:,} and the maximum is {MAX_COST:,}. "
                "Request less at once."
            )
        paid = self.estimated - self._prepaid_units
        self.balance = await self._budgets.charge(self._principal, 0, paid=paid) or self.balance
        return None if self.balance is None or self.balance.granted else rate_limited_error(self.balance)

    def mark_mutation_executed(self) -> None:
        """Note that a mutation is committed. A refusal then does not ask the client to send it again."""
        self._executed_mutation = True

    async def _charge(self, missing: int) -> None:
        if (cost := self._cost - self._work_units) > MAX_COST:
            raise _cost_too_high(cost)
        paid = self.charged - self._prepaid_units - self._work_units  # renderings are charged above the budget
        self.charged += missing  # before the wait, so that concurrent edges do not charge it twice
        is_granted = False
        try:
            self.balance = balance = await self._budgets.charge(self._principal, missing, paid=paid)
            if balance is not None and not balance.granted:
                raise rate_limited_error(balance)
            is_granted = True
        finally:
            if not is_granted:
                self.charged -= missing

    def _after_mutation(self, error: GatewayError) -> GatewayError:
        return CostTooHigh(
            f"The mutation was executed, but its selected result costs too much. Query the result. {error.message}"
        )

    @property
    def exhausted_balance(self) -> Balance | None:
        """The balance that refused the charge, or None if the refusal has another reason."""
        return self.balance if isinstance(self._refusal, RateLimited) else None


def _cost_too_high(cost: int) -> CostTooHigh:
    return CostTooHigh(f"the operation costs {cost:,} and the maximum is {MAX_COST:,}; request less data at once")
