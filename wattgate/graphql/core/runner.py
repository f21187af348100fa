"""Run an operation: check permission, open a session, call the resolver, commit, publish events."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from wattgate.clock import Clock, utc_now
from wattgate.db.change_recorder import ChangeRecorder
from wattgate.db.engine import Database
from wattgate.db.meter_network import MeterNetworkFactory, RegistryMeterNetwork
from wattgate.db.reader import DatabaseSession
from wattgate.db.row_scope import RowScope, Scope
from wattgate.db.rows import Rows
from wattgate.delivery.outbound_policy import DEFAULT_OUTBOUND_POLICY, OutboundPolicy
from wattgate.enums import to_camel_case
from wattgate.errors import Forbidden, GatewayError, Unauthenticated
from wattgate.graphql.core.audit import is_audited, record_act
from wattgate.graphql.core.edge import EdgeField
from wattgate.graphql.core.operation import Call, Operation, OperationKind
from wattgate.principal import AccessScope, Permission, Principal, Role
from wattgate.realtime.bus import Bus
from wattgate.realtime.events import Event
from wattgate.tracer import NOOP_TRACER, Tracer

NO_APPLICATION = ""
"""The application of callers that have none. It owns no rows."""


class Runner:
    """Run operations and edges for principals. Nothing else opens a session or commits."""

    def __init__(
        self,
        database: Database,
        bus: Bus,
        *,
        network: MeterNetworkFactory = RegistryMeterNetwork,
        clock: Clock = utc_now,
        tracer: Tracer = NOOP_TRACER,
        outbound_policy: OutboundPolicy = DEFAULT_OUTBOUND_POLICY,
    ) -> None:
        self.tracer = tracer
        self._database = database
        self._bus = bus
        self._network = network
        self._clock = clock
        self._outbound_policy = outbound_policy

    async def run(self, operation: Operation, principal: Principal, arguments: Mapping[str, Any]) -> Any:
        """Return the result of an operation. Commit a mutation and publish its events first."""
        with self.tracer.step_span(to_camel_case(operation.name)):
            return await self._run(operation, principal, arguments)

    async def _run(self, operation: Operation, principal: Principal, arguments: Mapping[str, Any]) -> Any:
        scope = check_permission(principal, operation.needs)
        write = operation.kind is OperationKind.MUTATION
        events: list[Event] = []
        rows_scope = _rows_scope(principal, scope)
        session_scope = _session_scope(operation, principal, rows_scope)
        open_session = self._database.session if write else self._database.reader
        async with open_session(session_scope) as session:
            rows, network = self._rows(session, rows_scope), self._network(session)
            if is_audited(operation, principal):
                rows.recorder = ChangeRecorder()
            call = Call(principal, rows, events.append, network=network, outbound_policy=self._outbound_policy)
            try:
                result = await operation.resolver(call, **arguments)
            except GatewayError as error:
                if error.commits_changes and isinstance(session, AsyncSession):
                    await session.commit()
                    await self._publish(events)
                raise
            if isinstance(session, AsyncSession):
                if rows.recorder is not None:
                    await record_act(rows, operation, principal, arguments)
                await session.commit()
        await self._publish(events)
        return result

    async def _publish(self, events: Sequence[Event]) -> None:
        if events:
            await self._bus.publish(events)

    async def load(
        self, edge: EdgeField, principal: Principal, parents: Sequence[Any], arguments: Mapping[str, Any]
    ) -> list[Any]:
        """Return one result of the edge for each parent, in order. Read them in a session of their own."""
        scope = _rows_scope(principal, check_permission(principal, edge.needs))
        with self.tracer.step_span(edge.load.__name__):
            async with self._database.reader(scope) as session:
                results: list[Any] = await edge.load(self._rows(session, scope), parents, **arguments)
        if len(results) != len(parents):
            raise RuntimeError(f"{edge.load.__qualname__} returned {len(results)} results for {len(parents)} parents")
        return results

    async def read(self, principal: Principal, needs: Permission, query: Callable[[Rows], Awaitable[Any]]) -> Any:
        """Return the result of a query function over the rows that the permission lets the principal see."""
        scope = _rows_scope(principal, check_permission(principal, needs))
        async with self._database.reader(scope) as session:
            return await query(self._rows(session, scope))

    def _rows(self, session: DatabaseSession, scope: RowScope) -> Rows:
        return Rows(session, scope.application_id, scope.user_id, now=self._clock())


def _rows_scope(principal: Principal, scope: AccessScope) -> RowScope:
    """Return the rows that a principal may see. Raise Forbidden if these are a user's and it names none."""
    own_rows_only = scope is AccessScope.OWN
    if own_rows_only and principal.user_id is None:
        raise Forbidden("this needs a user; applications name one in the header userId")
    return RowScope(principal.application_id or NO_APPLICATION, principal.user_id if own_rows_only else None)


def _session_scope(operation: Operation, principal: Principal, rows_scope: RowScope) -> Scope:
    """Return the scope of the session: that of the rows, or that of the system for its work without an application."""
    if principal.role is Role.SYSTEM and principal.application_id is None and operation.system_access is not None:
        return operation.system_access
    return rows_scope


def check_permission(principal: Principal, permission: Permission) -> AccessScope:
    """Return the scope of a permission for the principal. Raise Unauthenticated or Forbidden if it is not granted."""
    scope = principal.access_scope(permission)
    if scope is not None:
        return scope
    if principal.role is Role.ANONYMOUS:
        raise Unauthenticated("Access denied")
    raise Forbidden(f"these credentials do not allow {permission.name.lower().replace('_', ' ')}")
