"""Request pipeline for HTTP, WebSocket and SSE: resolve the document, validate, charge, execute."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any

import msgspec
from graphql import GraphQLError, OperationDefinitionNode, OperationType
from graphql.execution import VariableValues

from wattgate.clock import Clock, utc_now
from wattgate.errors import BadInput, GatewayError, RateLimited, TimedOut, Unavailable
from wattgate.graphql.cost.operation_charge import BudgetExhausted, OperationCharge
from wattgate.graphql.execution.compiled.engine import ExecutionEngine
from wattgate.graphql.execution.compiled.value_bounds import BoundValues
from wattgate.graphql.execution.documents.document_limits import DocumentLimits, is_long, parse_cost
from wattgate.graphql.execution.documents.document_queue import DocumentQueue
from wattgate.graphql.execution.documents.documents import Document, DocumentCache
from wattgate.graphql.execution.documents.persisted_documents import PersistedDocuments, needs_resolution
from wattgate.graphql.execution.json_encoding import LARGE_COST, PIECE_VALUES, encode_large_json
from wattgate.graphql.execution.root_fields import named_application, refuse_unpermitted
from wattgate.graphql.execution.schema import Schema, normalize_errors
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.core.runner import Runner
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT
from wattgate.principal import FindPayer, Principal, Role, pay_oneself
from wattgate.rate_limit.budgets import UNLIMITED_BUDGETS, Balance, Budgets, rate_limited_error
from wattgate.realtime.operation_request import OperationRequest
from wattgate.requests.bodies import InputWorker
from wattgate.requests.client import NOBODY, UNLIMITED_ADDRESSES, AddressLimiter, AddressPolicy, Client, current_client
from wattgate.requests.request_context import log_access_error
from wattgate.requests.request_limits import FREE_BODY_BYTES, size_attempts, size_cost
from wattgate.tracer import NO_SPAN, Tracer
from wattgate.values.stored_json import encode_json

TIME_LIMIT_SECONDS = 30.0
"""Maximum duration of a query or mutation, in seconds."""

DOCUMENT_LIMITS = DocumentLimits()

DRY_RUN = "dryRun"
"""The request extension that requests the cost of an operation without executing it."""


class PipelineResult(msgspec.Struct, frozen=True):
    """The result of a query or mutation. `data` is None if an error has reached the root.

    `charge` has the cost of the operation, and the remaining budget of the caller if there is one. `bound_values`
    returns an upper bound of the number of values in the data, if there is one.
    """

    data: dict[str, Any] | None
    errors: Sequence[GraphQLError]
    charge: OperationCharge
    bound_values: BoundValues | None = None

    @property
    def balance(self) -> Balance | None:
        """The remaining budget of the caller, or None without a budget."""
        return self.charge.balance

    async def encode_result(self) -> bytes:
        """Encode the result in JSON, without its cost."""
        return await self._encode(self._to_dict())

    async def encode_with_cost(self) -> bytes:
        """Encode the result and its cost in JSON, data first."""
        body = self._to_dict()
        body["extensions"] = {"cost": cost_extension(self.charge)}
        return await self._encode(body)

    async def _encode(self, body: dict[str, Any]) -> bytes:
        return encode_json(body) if self._is_small() else await encode_large_json(body)

    def _is_small(self) -> bool:
        """Return whether the result is certainly small. If not, `encode_large_json` counts its values."""
        if self.charge.charged < LARGE_COST:
            return True
        if self.bound_values is None or self.data is None or self.errors:
            return False
        return self.bound_values(self.data) <= PIECE_VALUES

    def _to_dict(self) -> dict[str, Any]:
        if self.errors:
            return {"data": self.data, "errors": [error.formatted for error in self.errors]}
        return {"data": self.data}


def cost_extension(charge: OperationCharge) -> dict[str, int]:
    """Return the members of `extensions.cost`."""
    return {"estimated": charge.estimated, "charged": charge.charged, **balance_members(charge.balance)}


def balance_members(balance: Balance | None) -> dict[str, int]:
    """Return the budget of the caller, if there is one. `reset` is the time in seconds until it is full again."""
    if balance is None:
        return {}
    return {"remaining": balance.remaining, "limit": balance.limit, "reset": balance.reset}


class GraphQLPipeline:
    """Resolve documents, charge their callers, and execute them."""

    def __init__(
        self,
        schema: Schema,
        runner: Runner,
        *,
        persisted_documents: PersistedDocuments | None = None,
        budgets: Budgets = UNLIMITED_BUDGETS,
        limits: DocumentLimits = DOCUMENT_LIMITS,
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        document_queue: DocumentQueue | None = None,
        clock: Clock = utc_now,
        address_limits: AddressLimiter = UNLIMITED_ADDRESSES,
        find_payer: FindPayer = pay_oneself,
    ) -> None:
        self._find_payer = find_payer
        self._address_limits = address_limits
        self._runner = runner
        self._inputs = InputWorker()
        self._persisted_documents = persisted_documents
        self._budgets = budgets
        self._limits = limits
        self._documents = DocumentCache(schema, limits, clock)
        self._document_queue = document_queue or DocumentQueue()
        self.engine = ExecutionEngine(schema, document_queue=self._document_queue)
        self._time_limit = TimeLimit(time_limit_seconds)

    async def charge_request(self, principal: Principal, size: int) -> None:
        """Charge the caller for a request of this many bytes, before it is parsed.

        Each transport calls it once for a request, so that every answer pays for the size. Requests of
        anonymous callers are charged to their address alone: it is not known yet which application they are for. Raise
        RateLimited for an address without attempts, and BudgetExhausted if the budget of the caller does not cover the
        size.
        """
        if principal.role is Role.ANONYMOUS:
            await self._address_limits.charge(AddressPolicy.DOCUMENT, current_client())
            if size > FREE_BODY_BYTES:
                await self.charge_stranger(size)
        elif cost := size_cost(size):
            await self._settled(OperationCharge.flat(self._budgets, principal, cost))

    async def charge_stranger(self, size: int, paid_size: int = 0) -> None:
        """Charge the size of a request without credentials to its address, from `paid_size` on."""
        if attempts := size_attempts(size) - size_attempts(paid_size):
            await self._address_limits.charge_done(AddressPolicy.DOCUMENT, current_client(), attempts)

    def body_charge(self, principal: Principal) -> "BodyCharge":
        """Return the charge of a request whose body is read."""
        return BodyCharge(self, self._budgets, principal)

    async def charge_refusal(self, principal: Principal) -> None:
        """Charge a request that is refused before it is read: a known caller as for a refused field, else the address.

        Raise as `charge_request` does.
        """
        await self.charge_request(principal, 0)
        await self._charge_statement(principal)

    async def _charge_statement(self, principal: Principal, size: int = 0) -> None:
        """Charge a known caller for a statement of a request of `size` bytes, which is charged already.

        The address of an anonymous caller has paid for its request.
        """
        if principal.role is not Role.ANONYMOUS:
            await self._settled(OperationCharge.flat(self._budgets, principal, STATEMENT_WEIGHT, size_cost(size)))

    async def resolve_document(
        self, principal: Principal, request: OperationRequest
    ) -> tuple[OperationRequest, Document]:
        """Return the request with the text of its document, and the requested operation.

        Raise InvalidRequest if the document is missing or invalid; see also `PersistedDocuments.resolve`. Raise
        BudgetExhausted if the budget of the caller does not cover a new document, or the look-up of an id.
        """
        persisted = self._persisted_documents
        if persisted is None or not needs_resolution(principal, request):
            return request, self._find_document(request) or await self._parse_document(principal, request)
        resolved = await persisted.resolve(principal, request, partial(self._charge_statement, principal, request.size))
        document = self._find_document(resolved) or await self._parse_document(principal, resolved)
        if resolved is not request:
            await persisted.store_text(request)
        return resolved, document

    def _find_document(self, request: OperationRequest) -> Document | None:
        """Return the document of a request if it is in the cache."""
        if request.query is None:
            raise BadInput("the request has no query")
        return self._documents.find(request.query, request.operation_name)

    async def _parse_document(self, principal: Principal, request: OperationRequest) -> Document:
        """Charge a known caller for the tokens of a new document, and parse it when it is the turn of the caller.

        The charge is not a part of the cost of the operation, because the next request with the document has none.
        Documents of anonymous callers are charged to their address: they must not use up the budget of others.
        """
        assert request.query is not None  # see `_find_document`
        is_known = principal.role is not Role.ANONYMOUS
        if is_known and (cost := parse_cost(request.query, self._limits)):
            await self._settled(OperationCharge.flat(self._budgets, principal, cost, size_cost(request.size)))
        parse = partial(self._documents.get, request.query, request.operation_name, is_known=is_known)
        return await self._document_queue.run(principal, parse, is_long=is_long(request.query))

    def document_for(self, request: OperationRequest) -> Document:
        """Return the operation of a request that contains the text of its document.

        Raise InvalidRequest if it is invalid.
        """
        if request.query is None:
            raise BadInput("the request has no query")
        return self._documents.get(request.query, request.operation_name)

    async def execute(
        self, principal: Principal, request: OperationRequest, document: Document, client: Client = NOBODY
    ) -> PipelineResult:
        """Execute a query or mutation. Raise InvalidRequest if its variables are invalid.

        A query loads nothing more soon after `client` has gone. A mutation that has begun completes: its client may not
        wait for the result.

        A caller that may run none of the root fields gets their errors before the variables are validated. The size of
        the request is charged already, by `charge_request`.

        With `extensions.dryRun`, return the cost and execute nothing. The operation may be a subscription then.
        """
        is_dry_run = request.extensions is not None and request.extensions.get(DRY_RUN) is True
        if document.kind is OperationType.SUBSCRIPTION and not is_dry_run:
            raise BadInput(
                "subscriptions are served over WebSockets, and as event streams to requests with "
                "Accept: text/event-stream"
            )
        size_units = prepaid_units(principal, request)
        if not is_dry_run:
            refusal = refuse_unpermitted(principal, document.root_fields, document.operation, request.variables)
            if refusal is not None:
                cost = STATEMENT_WEIGHT * len(document.root_fields)
                charge = await self._settled(OperationCharge.flat(self._budgets, principal, cost, size_units))
                return PipelineResult(refusal.data, normalize_errors(refusal.errors), charge)
        variables = await self._inputs.run(
            principal, request.size, self.engine.coerce_variables, document, request.variables
        )
        payer = principal
        if document.naming_values and principal.role is Role.ANONYMOUS:
            payer = await self._find_named_payer(principal, document, variables)
        if is_dry_run:
            return PipelineResult(None, (), await self._dry_run(payer, document, variables, size_units))
        charge = await self.charge(payer, document, variables, size_units)
        context = GraphQLContext(self._runner, principal, charge)
        with operation_span(self._runner.tracer, document.operation):
            try:
                with self._time_limit(charge.refuse_rest, client if document.kind is OperationType.QUERY else NOBODY):
                    outcome = await self.engine.execute(context, document, variables, request.variables)
            except TimeoutError:
                await charge.add_loaded()
                timed_out = TimedOut(f"the operation took more than {self._time_limit.seconds:g} seconds")
                return PipelineResult(None, [_to_graphql_error(timed_out)], charge)
        if document.kind is OperationType.QUERY:
            _raise_refusal(charge)
        return PipelineResult(outcome.data, outcome.errors, charge, outcome.bound_values)

    async def _find_named_payer(self, principal: Principal, document: Document, variables: VariableValues) -> Principal:
        """Return the principal whose budget pays for an anonymous document: that of the only application it names.

        A document with several ones is paid by the budget that its caller had without them, and no other one.
        """
        name = named_application(document.naming_values, variables.coerced, principal.application_id)
        return principal if name is None else await self._find_payer(principal, name)

    async def charge(
        self, principal: Principal, document: Document, variables: VariableValues, size_units: int = 0
    ) -> OperationCharge:
        """Charge the caller for the estimated cost of an operation. Return the charge, which follows its real cost.

        `size_units` is charged for the size of the request already.

        Raise CostTooHigh if the cost exceeds MAX_COST, BudgetExhausted if the budget of the caller does not cover it.
        """
        return await self._settled(
            OperationCharge(self._budgets, principal, document.cost.estimate(variables), size_units)
        )

    async def _settled(self, charge: OperationCharge) -> OperationCharge:
        """Charge the missing part of the cost. Raise BudgetExhausted if the budget of the caller does not cover it."""
        try:
            await charge.settle()
        except RateLimited:
            _raise_refusal(charge)
        return charge

    def event_charge(self, principal: Principal, document: Document, variables: VariableValues) -> OperationCharge:
        """Return the charge of one event of a subscription. It adds what the event costs above its estimate."""
        return OperationCharge.for_event(self._budgets, principal, document.cost.estimate(variables))

    async def _dry_run(
        self, principal: Principal, document: Document, variables: VariableValues, size_units: int
    ) -> OperationCharge:
        """Return the estimate of an operation and the balance of the caller. Charge nothing more than the size."""
        charge = OperationCharge(self._budgets, principal, document.cost.estimate(variables), size_units)
        charge.balance = await self._budgets.charge(principal, 0)
        return charge


class BodyCharge:
    """The charge of a request by the bytes of its body. See `SizeCharge`."""

    __slots__ = ("_budgets", "_pipeline", "_principal")

    def __init__(self, pipeline: GraphQLPipeline, budgets: Budgets, principal: Principal) -> None:
        self._pipeline = pipeline
        self._budgets = budgets
        self._principal = principal

    def add_size(self, size: int) -> Awaitable[None]:
        return self._pipeline.charge_request(self._principal, size)

    async def begin_parts(self) -> None:
        await self._pipeline.charge_request(self._principal, 0)
        balance = await self._budgets.charge(self._principal, 0, paid=0)
        if balance is not None and not balance.granted:
            raise rate_limited_error(balance)

    async def add_part(self, size: int, whole: int) -> None:
        if self._principal.role is Role.ANONYMOUS:
            await self._pipeline.charge_stranger(whole, whole - size)
            return
        paid = size_cost(whole - size)
        if cost := size_cost(whole) - paid:
            await self._budgets.charge_read(self._principal, cost, paid=paid)

    async def refund_size(self, size: int) -> None:
        cost = size_cost(size)
        if cost and self._principal.role is not Role.ANONYMOUS:
            await self._budgets.refund(self._principal, cost)


def prepaid_units(principal: Principal, request: OperationRequest) -> int:
    """Return the units that a caller has paid for the size of its request. The address of an anonymous one has paid."""
    return 0 if principal.role is Role.ANONYMOUS else size_cost(request.size)


def _raise_refusal(charge: OperationCharge) -> None:
    """Raise the refusal of a charge, if there is one. BudgetExhausted has the balance for the response's headers."""
    if charge.exhausted_balance is not None:
        raise BudgetExhausted(charge.exhausted_balance)
    if charge.is_refused:
        raise charge.copy_refusal()


def _to_graphql_error(error: GatewayError) -> GraphQLError:
    """Return an error of the whole operation, and log it."""
    log_access_error(error)
    return GraphQLError(error.message, extensions=error.extensions)


# The time limit of operations: one timer for all of a process, because each may take the same time. It also looks for
# queries whose client has gone.
#
# A timer for each operation, as `asyncio.timeout` sets it, takes a fifth of the processor time of a small query.

MIN_TIMER_SECONDS = 0.001
"""The shortest timer. Event loops round shorter ones to nothing, and would repeat them until the time has passed."""


GONE_CHECK_SECONDS = 1.0
"""Interval in which queries are checked for clients that have gone."""

Refuse = Callable[[GatewayError], None]
"""A function that lets an operation load nothing more, because of an error."""


def refuse_nothing(error: GatewayError) -> None:
    """Let an operation go on that has no charge."""


class TimeLimit:
    """Cancels operations that take more than `seconds`. The operation that began first is the next to end.

    An operation whose client has gone loads nothing more. It is not cancelled: that would close its connection to the
    database, and leave resolvers that have not begun.

    The timer runs while operations do, and needs no start: it belongs to the event loop of the last operation.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self.seconds = seconds
        self.now = now
        """The clock of the limit, in seconds."""
        self.running: dict[LimitedOperation, None] = {}
        """The operations within their limit, in the order of their ends."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, refuse: Refuse = refuse_nothing, client: Client = NOBODY) -> "LimitedOperation":
        """Return a context in which the current task may take the time. It raises TimeoutError as `asyncio.timeout`.

        `refuse` lets the operation load nothing more, after its client has gone.
        """
        return LimitedOperation(self, refuse, client)

    def enter_task(self, operation: "LimitedOperation") -> "asyncio.Task[object]":
        """Add an operation that begins now, and return the current task."""
        loop = self._loop
        task = (
            None if loop is None else asyncio.current_task(loop)
        )  # without a loop, it asks the system for the process
        if task is None:
            task = self._bind_loop()
        operation.ends_at = self.now() + self.seconds
        self.running[operation] = None
        if self._timer is None:
            self._set_timer(min(self.seconds, GONE_CHECK_SECONDS))
        return task

    def expire(self) -> None:
        """Cancel the operations whose time has passed."""
        now = self.now()
        for operation in list(self.running):
            if operation.ends_at > now:
                break
            operation.expire()

    def refuse_unattended(self) -> None:
        """Let the operations load nothing more that run for a while, and whose client has gone."""
        latest_end = self.now() - GONE_CHECK_SECONDS + self.seconds
        for operation in list(self.running):
            if operation.ends_at > latest_end:
                break
            if operation.client.has_gone():
                operation.refuse(Unavailable("the client has closed its connection; send the query again"))

    def _bind_loop(self) -> "asyncio.Task[object]":
        """Use the running event loop. Another one has ended, and its operations and timer with it."""
        self._loop, self._timer = asyncio.get_running_loop(), None
        self.running.clear()
        task = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("An operation with a time limit runs in a task.")
        return task

    def _set_timer(self, seconds: float) -> None:
        assert self._loop is not None  # an operation has begun
        self._timer = self._loop.call_later(max(seconds, MIN_TIMER_SECONDS), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.expire()
        self.refuse_unattended()
        if self.running:
            self._set_timer(min(next(iter(self.running)).ends_at - self.now(), GONE_CHECK_SECONDS))


class LimitedOperation:
    """One operation within its time limit. It may be cancelled until its context exits, and never after it."""

    __slots__ = ("_cancelling", "_is_expired", "_limit", "_task", "client", "ends_at", "refuse")

    def __init__(self, limit: TimeLimit, refuse: Refuse, client: Client) -> None:
        self.ends_at = 0.0
        self.refuse = refuse
        self.client = client
        self._limit = limit
        self._is_expired = False

    def __enter__(self) -> None:
        self._task = task = self._limit.enter_task(self)
        self._cancelling = task.cancelling()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Raise TimeoutError in place of the limit's cancellation, unless the task is cancelled for another reason too.

        An operation may also swallow the cancellation. Then the caller gets its result or its own error.
        """
        self._limit.running.pop(self, None)
        if self._is_expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """Cancel the operation."""
        del self._limit.running[self]
        self._is_expired = True
        self._task.cancel()


MAX_NAME_LENGTH = 100
"""Maximum number of characters of the operation name in a span."""


def operation_span(tracer: Tracer, operation: OperationDefinitionNode) -> AbstractContextManager[Any]:
    """Return the span of an operation. While spans are off, it is a context without effect.

    The operation name is an attribute, because clients choose it and span names must be few.
    """
    if not tracer.is_enabled:
        return NO_SPAN
    kind = operation.operation.value
    attributes = {"graphql.operation.type": kind}
    if operation.name is not None:
        attributes["graphql.operation.name"] = operation.name.value[:MAX_NAME_LENGTH]
    return tracer.request_span(kind, attributes)
