"""The one waist: permission, then a session, then the commit, then the events."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from wattgate.clock import Clock, utc_now
from wattgate.db.engine import Database
from wattgate.db.meter_network import Networks, RegistryNetwork
from wattgate.db.reader import Session
from wattgate.db.rows import Rows
from wattgate.delivery.outbound_policy import ALONE, Outside
from wattgate.enums import camel
from wattgate.errors import Forbidden, GatewayError, Unauthenticated
from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.operation import Call, Kind, Operation
from wattgate.principal import Permission, Principal, Role, Scope
from wattgate.realtime.bus import Bus
from wattgate.realtime.events import Event
from wattgate.tracer import NO_SPANS, Spans

NO_APPLICATION = ""
"""The application of callers that have none: it owns no rows."""


class Runner:
    """Runs operations and edges for principals. Nothing else opens a session or commits."""

    def __init__(
        self,
        database: Database,
        bus: Bus,
        *,
        network: Networks = RegistryNetwork,
        clock: Clock = utc_now,
        spans: Spans = NO_SPANS,
        outside: Outside = ALONE,
    ) -> None:
        self.spans = spans
        self._database = database
        self._bus = bus
        self._network = network
        self._clock = clock
        self._outside = outside

    async def run(self, operation: Operation, principal: Principal, arguments: Mapping[str, Any]) -> Any:
        """The operation's result. Mutations are committed, and their events published, before it is returned."""
        with self.spans.step(camel(operation.name)):
            return await self._run(operation, principal, arguments)

    async def _run(self, operation: Operation, principal: Principal, arguments: Mapping[str, Any]) -> Any:
        scope = permit(principal, operation.needs)
        write = operation.kind is Kind.MUTATION
        events: list[Event] = []
        opened = self._database.session() if write else self._database.reading()
        async with opened as session:
            rows, network = self._rows(session, principal, scope), self._network(session)
            call = Call(principal, rows, events.append, network=network, outside=self._outside)
            try:
                result = await operation.resolver(call, **arguments)
            except GatewayError as error:
                if error.kept and isinstance(session, AsyncSession):
                    await session.commit()
                    await self._publish(events)
                raise
            if isinstance(session, AsyncSession):
                await session.commit()
        await self._publish(events)
        return result

    async def _publish(self, events: Sequence[Event]) -> None:
        if events:
            await self._bus.publish(events)

    async def load(
        self, edge: Edge, principal: Principal, parents: Sequence[Any], arguments: Mapping[str, Any]
    ) -> list[Any]:
        """What the edge leads to, one result for each parent, in a session of its own."""
        scope = permit(principal, edge.needs)
        with self.spans.step(edge.load.__name__):
            async with self._database.reading() as session:
                found: list[Any] = await edge.load(self._rows(session, principal, scope), parents, **arguments)
        if len(found) != len(parents):
            raise RuntimeError(f"{edge.load.__qualname__} gave {len(found)} results for {len(parents)} parents")
        return found

    async def read(self, principal: Principal, needs: Permission, work: Callable[[Rows], Awaitable[Any]]) -> Any:
        """What a function answers of the rows that the permission lets the principal see."""
        scope = permit(principal, needs)
        async with self._database.reading() as session:
            return await work(self._rows(session, principal, scope))

    def _rows(self, session: Session, principal: Principal, scope: Scope) -> Rows:
        own = scope is Scope.OWN
        if own and principal.user_id is None:
            raise Forbidden("this needs a user; applications name one in the header userId")
        application_id = principal.application_id or NO_APPLICATION
        return Rows(session, application_id, principal.user_id if own else None, now=self._clock())


def permit(principal: Principal, permission: Permission) -> Scope:
    """How far the permission reaches for the principal. Unauthenticated or Forbidden where it is not granted."""
    scope = principal.scope(permission)
    if scope is not None:
        return scope
    if principal.role is Role.ANONYMOUS:
        raise Unauthenticated("Access denied")
    raise Forbidden(f"these credentials do not allow {permission.name.lower().replace('_', ' ')}")
