"""Run an operation: check permission and the bounds of the arguments, open a session, call the resolver, commit,
publish events.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self

import msgspec
from sqlalchemy.ext.asyncio import AsyncSession

from wattgate.access_log import AccessLog, AccessRecorder, RequestReads, is_logged
from wattgate.clock import Clock, utc_now
from wattgate.db.audit_chain import AuditAct
from wattgate.db.change_recorder import ChangeRecorder, to_json
from wattgate.db.column_types import new_id
from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import DatabaseSession, transaction_reader
from wattgate.db.credential_changes import accounts_with_changed_roles, changed_credentials
from wattgate.db.identity.credential_locks import hold_credential
from wattgate.db.identity.credential_states import CredentialStates
from wattgate.db.identity.passwords import HASH_COUNT, HashCount
from wattgate.db.meter_network import MeterNetwork, MeterNetworkFactory, RegistryMeterNetwork
from wattgate.db.rows.quotas import QuotaChecker
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.policies import DEFAULT_ACCOUNT_POLICY, DEFAULT_CONSENT_POLICY, AccountPolicy, ConsentPolicy
from wattgate.db.scope.row_scope import RowScope, Scope, SystemAccess, system_access
from wattgate.delivery.openid.client import OpenIdClient
from wattgate.delivery.outbound_policy import DEFAULT_OUTBOUND_POLICY, OutboundPolicy
from wattgate.delivery.templates.renderer import TemplateRenderer
from wattgate.enums import TRACE_ID
from wattgate.errors import (
    ENDED_CREDENTIALS,
    EXPIRED_CREDENTIALS,
    GatewayError,
    Unauthenticated,
)
from wattgate.operations.core.anonymous_turns import AnonymousTurns
from wattgate.operations.core.input_limits import check_arguments, check_edge_arguments
from wattgate.operations.core.operation import (
    Audit,
    Call,
    Delegation,
    Operation,
    OperationKind,
    Preparation,
    RunOperation,
)
from wattgate.operations.core.outside_work import (
    MAX_ROUNDS,
    OutsideTemplates,
    OutsideWork,
    WorkNeeded,
    inputs_keep_changing,
)
from wattgate.operations.core.row_reader import RowReader, check_permission, scope_of_rows
from wattgate.operations.vocabulary.cost_weights import (
    MUTATION_WEIGHT,
    PASSWORD_HASH_WEIGHT,
    PRICED_READINGS_PER_UNIT,
)
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.principal import OWN_CREDENTIAL_PERMISSIONS, TOKEN_GRACE, Principal, Role
from wattgate.rate_limit.budgets import UNLIMITED_BUDGETS, Budgets
from wattgate.realtime import topics
from wattgate.realtime.bus import Bus
from wattgate.realtime.events import CREDENTIALS_CHANGED, CredentialsRevoked, Event
from wattgate.realtime.shared_events import store_events
from wattgate.requests.client import UNLIMITED_ADDRESSES, AddressLimiter, Client, current_client
from wattgate.requests.request_context import WorkCharge
from wattgate.tracer import NO_SPAN, NOOP_TRACER, Tracer
from wattgate.values.graphql_names import graphql_name, graphql_operation_name

NO_GRACE = timedelta(0)


class _Run(msgspec.Struct, gc=False):
    """A call of an operation: its caller, the rows that it may see, its arguments, and what it has learnt so far.

    `now` stays the same in each round, because results of outside work may depend on it.
    """

    operation: Operation
    principal: Principal
    scope: RowScope
    arguments: Mapping[str, Any]
    reads: RequestReads | None
    selected: frozenset[str] | None
    client: Client
    prepared: Any
    now: datetime
    outside: OutsideWork
    charge: WorkCharge | None


class Runner(RowReader):
    """Run operations and edges for principals. Nothing else opens a session that writes, or commits.

    Close `templates` before the event loop closes.
    """

    def __init__(
        self,
        database: Database,
        bus: Bus,
        *,
        network: MeterNetworkFactory = RegistryMeterNetwork,
        clock: Clock = utc_now,
        tracer: Tracer = NOOP_TRACER,
        outbound_policy: OutboundPolicy = DEFAULT_OUTBOUND_POLICY,
        quotas: QuotaChecker | None = None,
        address_limits: AddressLimiter = UNLIMITED_ADDRESSES,
        consent_policy: ConsentPolicy = DEFAULT_CONSENT_POLICY,
        account_policy: AccountPolicy = DEFAULT_ACCOUNT_POLICY,
        access_log: AccessLog | None = None,
        budgets: Budgets = UNLIMITED_BUDGETS,
        credential_states: CredentialStates | None = None,
    ) -> None:
        super().__init__(database, clock=clock, quotas=quotas, consent_policy=consent_policy)
        self._budgets = budgets
        self._credential_states = credential_states or CredentialStates()
        self._openid = OpenIdClient(outbound_policy.egress)
        self._address_limits = address_limits
        self.tracer = tracer
        self.templates = TemplateRenderer()
        self._anonymous_turns = AnonymousTurns(database.pool_size)
        self._bus = bus
        self._network = network
        self._outbound_policy = outbound_policy
        self._account_policy = account_policy
        self._access_log = access_log

    def with_clock(self, clock: Clock) -> Self:
        """Return a runner on the same components with another clock, to add records as at another time."""
        runner = copy(self)
        runner._clock = clock
        return runner

    async def run(
        self,
        operation: Operation,
        principal: Principal,
        arguments: Mapping[str, Any],
        reads: RequestReads | None = None,
        selected: frozenset[str] | None = None,
        charge: WorkCharge | None = None,
    ) -> Any:
        """Return the result of an operation. Commit a mutation and publish its events first.

        `reads` holds the reads of the request that the access log has already. `selected` is that of `Call`. `charge`
        pays for work that is measured, such as renderings; without it, nobody pays. An operation that is refused before
        it hashes a password gets back the price of its hashes.
        """
        if charge is None or not (units := _units_of_hashes(operation)):
            return await self._run_traced(operation, principal, arguments, reads, selected, charge)
        count = HashCount()
        outer = HASH_COUNT.set(count)
        try:
            return await self._run_traced(operation, principal, arguments, reads, selected, charge)
        except GatewayError:
            if not count.started:
                await charge.refund(units)
            raise
        finally:
            HASH_COUNT.reset(outer)

    async def _run_traced(
        self,
        operation: Operation,
        principal: Principal,
        arguments: Mapping[str, Any],
        reads: RequestReads | None,
        selected: frozenset[str] | None,
        charge: WorkCharge | None,
    ) -> Any:
        if not self.tracer.is_enabled:
            return await self._run(operation, principal, arguments, reads, selected, charge)
        with self.tracer.step_span(operation.graphql_name):
            return await self._run(operation, principal, arguments, reads, selected, charge)

    async def _run(
        self,
        operation: Operation,
        principal: Principal,
        arguments: Mapping[str, Any],
        reads: RequestReads | None,
        selected: frozenset[str] | None,
        charge: WorkCharge | None,
    ) -> Any:
        """Check what can be checked without a session. Then run the resolver, in rounds, each in a new session."""
        scope, now = check_permission(principal, operation.needs, is_read=operation.is_read), self._clock()
        if principal.has_expired(now, TOKEN_GRACE if operation.renews_token else NO_GRACE):
            raise Unauthenticated(EXPIRED_CREDENTIALS)
        check_arguments(operation, arguments)
        if operation.delegates:
            if not operation.is_read and _has_credential(principal):  # before its first part, which may be a query
                async with self._open_session(
                    operation, _session_scope(operation, principal, scope_of_rows(principal, scope))
                ) as session:
                    await self._hold_credential(session, operation, principal)
            delegated = partial(self._run_delegated, principal, reads, charge)
            return await operation.resolver(Delegation(delegated, charge, self._clock), **arguments)
        client = current_client()
        if operation.address_policy is not None:
            await self._address_limits.charge(operation.address_policy, client)
        rows_scope = scope_of_rows(principal, scope)
        prepared = None
        if operation.prepare is not None:
            prepared = await self._prepare(operation, principal, rows_scope, arguments)
            now = self._clock()
        outside = OutsideWork(charge)
        run = _Run(operation, principal, rows_scope, arguments, reads, selected, client, prepared, now, outside, charge)
        device, new_device = client.device, client.new_device
        for _ in range(MAX_ROUNDS):
            try:
                async with self._anonymous_turns.turn(run.principal, run.client):
                    result = await self._run_round(run)
            except WorkNeeded as needed:
                client.device, client.new_device = device, new_device
                outside.begin_round()
                await outside.do(needed)
            except GatewayError:
                await outside.finish()
                raise
            else:
                if outside.has_afterwards:
                    await outside.finish()
                return result
        raise inputs_keep_changing()

    async def _run_round(self, run: "_Run") -> Any:
        """Run the resolver in a session. Commit a mutation and publish its events afterwards."""
        operation, principal = run.operation, run.principal
        events: list[Event] = []
        refusal: GatewayError | None = None
        result: Any = None
        async with self._open_session(operation, _session_scope(operation, principal, run.scope)) as session:
            await self._hold_credential(session, operation, principal)
            rows = self._rows(session, principal, run.scope, run.now)
            self._set_charges(rows, run.outside, run.charge)
            rows.accesses = self._access_recorder(principal, operation.name, run.reads)
            rows.network = self._network(session)
            if is_audited(operation, principal):
                rows.recorder = ChangeRecorder()
            call = self._build_call(run, rows, events, rows.network)
            try:
                result = await operation.resolver(call, **run.arguments)
            except GatewayError as error:
                if not error.commits_changes or not isinstance(session, AsyncSession):
                    raise
                refusal = error
            if run.outside.has_debt:
                raise run.outside.payment()
            if isinstance(session, AsyncSession):
                if rows.recorder is not None and refusal is None:
                    await record_act(rows, operation, principal, run.arguments)
                await _commit(session, self._database.instance_id, events)
        if events:
            await self._publish(events)
        if refusal is not None:
            raise refusal
        return result

    def _build_call(self, run: "_Run", rows: Rows, events: list[Event], network: MeterNetwork) -> Call:
        """Return the environment of a run of the resolver."""
        return Call(
            run.principal,
            rows,
            events.append,
            network=network,
            templates=OutsideTemplates(self.templates, run.outside, run.scope.application_id, run.charge),
            outside=run.outside,
            outbound_policy=self._outbound_policy,
            account_policy=self._account_policy,
            client=run.client,
            address_limits=self._address_limits,
            prepared=run.prepared,
            selected=run.selected,
        )

    def _open_session(self, operation: Operation, scope: Scope) -> AbstractAsyncContextManager[DatabaseSession]:
        if operation.kind is OperationKind.MUTATION:
            return self._database.session(scope)
        return self._database.query_reader(scope)

    async def _hold_credential(self, session: DatabaseSession, operation: Operation, principal: Principal) -> None:
        """Raise Unauthenticated if the credential of the caller has ended since it was authenticated.

        It may have waited since then: for its body, in a queue, in `prepare`, or for the transaction. Until the
        transaction ends, every act that would end the credential waits for it. A query changes nothing, so it does not
        ask again.
        """
        if not isinstance(session, AsyncSession) or not _has_credential(principal):
            return
        reader = await transaction_reader(session)
        hold_credential(reader, principal, alone=operation.needs in OWN_CREDENTIAL_PERMISSIONS)
        with system_access(session, SystemAccess.FIND_CREDENTIALS):
            since = self._clock() - (TOKEN_GRACE if operation.renews_token else NO_GRACE)
            if await self._credential_states.has_ended(reader, principal, since):
                raise Unauthenticated(ENDED_CREDENTIALS)

    def run_as(self, principal: Principal) -> RunOperation:
        """Return a function that runs operations for a principal. Nobody pays for them."""
        return partial(self._run_delegated, principal, None, None)

    async def _run_delegated(
        self,
        principal: Principal,
        reads: RequestReads | None,
        charge: WorkCharge | None,
        operation: Operation,
        arguments: Mapping[str, Any],
    ) -> Any:
        return await self.run(operation, principal, arguments, reads, charge=charge)

    async def _prepare(
        self, operation: Operation, principal: Principal, scope: RowScope, arguments: Mapping[str, Any]
    ) -> Any:
        """Return the result of the operation's `prepare`, which holds no transaction while it waits."""
        if operation.prepare is None:
            return None

        async def read(query: Callable[[Rows], Awaitable[Any]]) -> Any:
            async with self._database.reader(scope) as session:
                return await query(self._rows(session, principal, scope))

        preparation = Preparation(principal, read, self._openid, self._clock(), current_client(), self._address_limits)
        return await operation.prepare(preparation, **arguments)

    async def _publish(self, events: Sequence[Event]) -> None:
        if events:
            await self._bus.publish(events)

    async def load(
        self,
        edge: EdgeField,
        principal: Principal,
        parents: Sequence[Any],
        arguments: Mapping[str, Any],
        reads: RequestReads | None = None,
        charge: WorkCharge | None = None,
    ) -> list[Any]:
        """Return one result of the edge for each parent, in order. Read them in a session of their own.

        `charge` is that of `run`.
        """
        scope = scope_of_rows(principal, check_permission(principal, edge.needs, is_read=True))
        check_edge_arguments(edge, arguments)
        with self.tracer.step_span(edge.load.__name__) if self.tracer.is_enabled else NO_SPAN:
            results = await self._load(edge, principal, scope, parents, arguments, reads, charge)
        if len(results) != len(parents):
            raise RuntimeError(f"{edge.load.__qualname__} returned {len(results)} results for {len(parents)} parents")
        return results

    async def _load(
        self,
        edge: EdgeField,
        principal: Principal,
        scope: RowScope,
        parents: Sequence[Any],
        arguments: Mapping[str, Any],
        reads: RequestReads | None,
        charge: WorkCharge | None,
    ) -> list[Any]:
        """Load an edge, each time in a new session, until it needs no more outside work."""
        outside = OutsideWork()
        for _ in range(MAX_ROUNDS):
            try:
                async with self._database.query_reader(scope) as session:
                    rows = self._rows(session, principal, scope)
                    rows.accesses = self._access_recorder(principal, edge.load.__name__, reads)
                    rows.network = self._network(session)
                    rows.read_budget = partial(self._read_budget, outside, principal)
                    self._set_charges(rows, outside, charge)
                    results: list[Any] = await edge.load(rows, parents, **arguments)
                    return results
            except WorkNeeded as needed:
                outside.begin_round()
                await outside.do(needed)
        raise inputs_keep_changing()

    @staticmethod
    def _set_charges(rows: Rows, outside: OutsideWork, charge: WorkCharge | None) -> None:
        """Let the queries of an operation or an edge charge its caller, if somebody pays."""
        if charge is not None:
            rows.charge_readings = partial(_charge_readings, outside, charge)
            rows.collect = outside.collect

    def _read_budget(self, outside: OutsideWork, principal: Principal) -> Any:
        """Return the request budget of a caller, which is outside work."""
        return outside.result(("budget",), partial(self._budgets.charge, principal, 0))

    def _access_recorder(self, principal: Principal, name: str, reads: RequestReads | None) -> AccessRecorder | None:
        """Return the recorder of the reads of an operation or an edge; None if they are not recorded."""
        if self._access_log is None or not is_logged(principal):
            return None
        return AccessRecorder(self._access_log, principal, graphql_operation_name(name), reads or RequestReads())

    async def forget_topics(self, topics: Sequence[str]) -> None:
        """Delete the retained events of topics. Raise Unavailable if the bus is unavailable."""
        await self._bus.forget(topics)

    async def clear_log(self) -> None:
        """Overwrite what the write-ahead log of SQLite still has of deleted rows."""
        await self._database.clear_log()


def _has_credential(principal: Principal) -> bool:
    """Return whether a principal has a credential, which can end."""
    return principal.role not in (Role.SYSTEM, Role.ANONYMOUS)


def _units_of_hashes(operation: Operation) -> int:
    """Return the part of the weight of an operation that pays for hashes. It keeps the weight of a mutation."""
    weight = operation.weight
    return weight - MUTATION_WEIGHT if isinstance(weight, int) and weight >= PASSWORD_HASH_WEIGHT else 0


def _charge_readings(outside: OutsideWork, charge: WorkCharge, count: int) -> None:
    """Charge readings before a query prices them. The budget may be in Redis, so this is outside work."""
    number = outside.same_value(new_id)  # two parts with the same count are two charges
    if units := count // PRICED_READINGS_PER_UNIT:
        outside.result(("readings", number, count), partial(charge.add_units, units))


async def _commit(session: AsyncSession, origin: str, events: list[Event]) -> None:
    """Commit a transaction, and add the event for a change of credentials. A revocation is one already.

    The transaction stores the events about ends and changes too, for processes that the bus does not reach.
    """
    await session.flush()
    for account_id in accounts_with_changed_roles(session):
        changed = CredentialsRevoked(token_ids=(), changed_account_id=account_id)
        events.append(Event(topics.revocations(), new_id(), changed))
    if changed_credentials(session) and not any(isinstance(event.payload, CredentialsRevoked) for event in events):
        events.append(Event(topics.revocations(), new_id(), CREDENTIALS_CHANGED))
    await store_events(session, origin, events)
    await session.commit()


def _session_scope(operation: Operation, principal: Principal, rows_scope: RowScope) -> Scope:
    """Return the scope of the session: that of the rows, or that of the system for its work without an application."""
    if principal.role is not Role.SYSTEM or principal.application_id is not None:
        return rows_scope
    if operation.system_access is None:  # without it, PostgreSQL would hide the rows of every application
        raise RuntimeError(f"{operation.name} runs without an application. Declare its `system_access`.")
    return operation.system_access


# The entries that operations leave in the audit log. Each mutation declares which of its calls leave one.


def is_audited(operation: Operation, principal: Principal) -> bool:
    """Return whether the audit log records this call of an operation."""
    if operation.audit is Audit.CALLS_FOR_OTHERS:
        return not principal.sees_own_records_only
    return operation.audit is Audit.EVERY_CALL


async def record_act(rows: Rows, operation: Operation, principal: Principal, arguments: Mapping[str, Any]) -> None:
    """Append an entry about a finished operation, in its transaction."""
    assert isinstance(rows.recorder, ChangeRecorder)
    await rows.flush()
    changes = rows.recorder.changes()
    application_id = principal.application_id or rows.recorder.application_id
    if application_id is None:
        return  # the system has changed nothing of an application
    act = AuditAct(
        operation=operation.graphql_name,
        actor=_actor(principal),
        target=_target(arguments),
        changes=changes,
        trace_id=TRACE_ID.get() or None,
        client_address=current_client().host,
    )
    await rows.append_audit_entry(application_id, act)


def _actor(principal: Principal) -> dict[str, Any]:
    """Return who has called. `userId` is the user for whom an application acts, or that of the account."""
    return {
        "role": principal.role.value,
        "scheme": principal.scheme.value,
        "accountId": principal.account_id,
        "userId": principal.user_id,
        "tokenId": principal.token_id,
        "credential": principal.credential_name,
    }


def _target(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ids among the arguments. Other arguments may be secret or personal; `changes` has what they did."""
    target: dict[str, Any] = {}
    for name, value in arguments.items():
        if name.endswith("_id") and value is not None:
            target[graphql_name(name)] = to_json(value)
        elif name.endswith("_ids") and value is not None:
            target[graphql_name(name)] = [to_json(item) for item in value]
    return target
