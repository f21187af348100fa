"""The worker that takes what has to leave the house from the outbox, and sends it."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from wattgate.app.workers.background import Bell, go_round
from wattgate.clock import Clock, utc_now
from wattgate.db.models import Delivery
from wattgate.delivery.channels.channel import Channel, Outcome, Outgoing, Refused, Retry
from wattgate.enums import DeliveryKind
from wattgate.errors import GatewayError, Unavailable
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import deliveries
from wattgate.metrics import DELIVERIES
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

AT_ONCE = 20
"""How many deliveries one worker makes at the same time."""

LONGEST_REST = 5.0
"""Seconds until a worker looks for work again, even if nothing has told it that there is some."""

SHORTEST_REST = 0.05
"""Seconds between two looks at least, so that clocks that differ a little make no worker run hot."""

PAUSE_AFTER_TROUBLE = 2.0

GRACE = 1.0
"""Seconds that deliveries under way have at the end of a gateway, before they are given back."""

KEEPING = 30.0
"""Seconds for which a worker tries at least to keep what became of an attempt."""

SENDING = 0.75
"""The part of a lease that an attempt may take; the rest is for keeping what became of it."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """How deliveries of one kind are made.

    `prepare` answers from `delivery_id` what goes out: `Outgoing`, or `Refused` or `Retry` where nothing can.
    `settle` keeps what became of it (`delivery_id, worker, attempt, outcome`); False where the lease was lost.
    `close` ends what the channel holds open.
    """

    prepare: Operation
    channel: Channel
    settle: Operation
    close: Callable[[], Awaitable[None]] | None = None


class Deliveries:
    """Delivers for as long as it runs. What it has taken and cannot finish, others get: at once, or after its lease."""

    def __init__(
        self,
        runner: Runner,
        hub: Hub,
        carriers: Mapping[DeliveryKind, Carrier],
        *,
        clock: Clock = utc_now,
        lease: float = 60.0,
        grace: float = GRACE,
    ) -> None:
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._runner = runner
        self._bell = Bell(hub, topics.deliveries())
        self._carriers = carriers
        self._clock = clock
        self._lease = lease
        self._grace = grace
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Deliver until cancelled; then give back what cannot be finished soon."""
        try:
            with self._bell.listening():
                await go_round("deliveries", self._round, pause=0.0, pause_after_trouble=PAUSE_AFTER_TROUBLE)
        finally:
            await self._finish()
            for carrier in self._carriers.values():
                if carrier.close is not None:
                    await carrier.close()

    async def work_once(self) -> int:
        """Make every delivery that is due now, and wait for them; how many they were."""
        count = 0
        while begun := await self._begin():
            count += len(begun)
            await asyncio.gather(*begun)
        return count

    async def _round(self) -> None:
        """Take what is due, so far as there is room; with nothing to take, rest until there may be something."""
        self._bell.silence()
        if len(self._under_way) >= AT_ONCE or not await self._begin():
            await self._bell.open()
            await self._bell.rung(await self._rest())

    async def _begin(self) -> list[asyncio.Task[None]]:
        """Begin deliveries of all applications that have some, as many as there is room for."""
        begun: list[asyncio.Task[None]] = []
        due = await self._due()
        for application_id in due.applications:
            room = AT_ONCE - len(self._under_way)
            if room <= 0:
                break
            system = Principal(Role.SYSTEM, application_id=application_id)
            claim = {"kinds": list(self._carriers), "worker": self.worker, "lease": self._lease}
            share = max(1, room // len(due.applications))
            for delivery in await self._runner.run(deliveries.claim_deliveries, system, {**claim, "limit": share}):
                task = asyncio.create_task(self._deliver(system, delivery))
                self._under_way.add(task)
                task.add_done_callback(self._done)
                begun.append(task)
        return begun

    async def _due(self) -> deliveries.Due:
        kinds = {"kinds": list(self._carriers)}
        found: deliveries.Due = await self._runner.run(deliveries.due_deliveries, Principal(Role.SYSTEM), kinds)
        return found

    async def _rest(self) -> float:
        """For how many seconds there is nothing to begin; not for very long."""
        due = await self._due()
        rest = LONGEST_REST
        if due.next_at is not None:
            rest = min(rest, (due.next_at - self._clock()).total_seconds())
        if due.applications and len(self._under_way) < AT_ONCE:
            rest = 0.0
        return max(rest, SHORTEST_REST)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._bell.ring()
        if not task.cancelled() and (error := task.exception()):
            log.error("a delivery ended by a fault; another attempt comes after its lease", exc_info=error)

    async def _deliver(self, system: Principal, delivery: Delivery) -> None:
        """One attempt, and what became of it."""
        carrier = self._carriers[delivery.kind]
        mine = {"delivery_id": delivery.delivery_id, "worker": self.worker, "attempt": delivery.attempts}
        try:
            async with asyncio.timeout(self._lease * SENDING):
                outcome = await self._attempt(carrier, system, delivery)
        except TimeoutError:
            outcome = Retry(f"it took longer than {self._lease * SENDING:g} seconds")
        except asyncio.CancelledError:
            await self._runner.run(deliveries.give_back_delivery, system, mine)
            raise
        DELIVERIES.labels(delivery.kind.value, type(outcome).__name__.lower()).inc()
        await self._settle(carrier, system, {**mine, "outcome": outcome})

    async def _attempt(self, carrier: Carrier, system: Principal, delivery: Delivery) -> Outcome:
        """Send it. Whatever is wrong is an outcome: this is the supervisor of channels."""
        told = {"delivery_id": delivery.delivery_id}
        try:
            prepared: Outgoing | Refused | Retry = await self._runner.run(carrier.prepare, system, told)
            return await carrier.channel.send(prepared) if isinstance(prepared, Outgoing) else prepared
        except GatewayError as error:
            return (
                Retry(error.message, error.retry_after) if error.retryable else Refused("not_possible", error.message)
            )
        except Exception:
            log.exception("%s delivery %s failed by a fault", delivery.kind.value, delivery.delivery_id)
            return Retry("an unexpected error has occurred")

    async def _settle(self, carrier: Carrier, system: Principal, told: Mapping[str, object]) -> None:
        """Keep the outcome, trying again for a lease at least: what is not kept is sent once more.

        After the end of the lease it is kept only if nobody else has taken the delivery over.
        """
        async with asyncio.timeout(max(self._lease, KEEPING)):
            while True:
                try:
                    kept = await self._runner.run(carrier.settle, system, told)
                except Unavailable as error:
                    log.warning("what became of a delivery has to wait: %s", error.message)
                    await asyncio.sleep(error.retry_after or PAUSE_AFTER_TROUBLE)
                else:
                    break
        if not kept:
            log.warning("delivery %s took longer than its lease; another worker has it", told["delivery_id"])

    async def _finish(self) -> None:
        """Let what is under way come to its end, if that is soon; give back the rest."""
        if not self._under_way:
            return
        _, late = await asyncio.wait(self._under_way, timeout=self._grace)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
