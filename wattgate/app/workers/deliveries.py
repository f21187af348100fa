"""The worker that takes what has to leave the house from the outbox, and sends it."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from wattgate.app.workers.background import WakeSignal, run_forever
from wattgate.clock import Clock, utc_now
from wattgate.db.models import Delivery
from wattgate.delivery.channels.channel import (
    DeliveryChannel,
    OutboundMessage,
    Outcome,
    PermanentFailure,
    Sent,
    TemporaryFailure,
)
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

OUTCOME_LABELS: Mapping[type[Outcome], str] = {Sent: "sent", TemporaryFailure: "retry", PermanentFailure: "refused"}
"""The label `outcome` of the metric of deliveries, by the class of an outcome."""

MAX_CONCURRENT_DELIVERIES = 20
"""How many deliveries one worker makes at the same time."""

MAX_IDLE_SECONDS = 5.0
"""Seconds until a worker looks for work again, even if nothing has told it that there is some."""

MIN_IDLE_SECONDS = 0.05
"""Seconds between two looks at least, so that clocks that differ a little make no worker run hot."""

ERROR_PAUSE_SECONDS = 2.0

GRACE_SECONDS = 1.0
"""Seconds that deliveries under way have at the end of a gateway, before they are given back."""

MIN_RECORD_SECONDS = 30.0
"""Seconds for which a worker tries at least to keep what became of an attempt."""

MAX_ATTEMPT_LEASE_SHARE = 0.75
"""The part of a lease that an attempt may take; the rest is for keeping what became of it."""


@dataclass(frozen=True, slots=True)
class DeliveryHandler:
    """How deliveries of one kind are made.

    `prepare` answers from `delivery_id` what goes out: `Outgoing`, or `Refused` or `Retry` where nothing can.
    `settle` keeps what became of it (`delivery_id, worker, attempt, outcome`); False where the lease was lost.
    `close` ends what the channel holds open.
    """

    prepare: Operation
    channel: DeliveryChannel
    record_outcome: Operation
    close: Callable[[], Awaitable[None]] | None = None


class DeliveryWorker:
    """Delivers for as long as it runs. What it has taken and cannot finish, others get: at once, or after its lease."""

    def __init__(
        self,
        runner: Runner,
        hub: Hub,
        handlers: Mapping[DeliveryKind, DeliveryHandler],
        *,
        clock: Clock = utc_now,
        lease: float = 60.0,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self.worker_id = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._runner = runner
        self._wake_signal = WakeSignal(hub, topics.deliveries())
        self._handlers = handlers
        self._clock = clock
        self._lease = lease
        self._grace = grace
        self._in_flight: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Deliver until cancelled; then give back what cannot be finished soon."""
        try:
            with self._wake_signal.subscribed():
                await run_forever("deliveries", self._run_iteration, pause=0.0, pause_after_error=ERROR_PAUSE_SECONDS)
        finally:
            await self._finish_in_flight()
            for handler in self._handlers.values():
                if handler.close is not None:
                    await handler.close()

    async def deliver_due(self) -> int:
        """Make every delivery that is due now, and wait for them; how many they were."""
        count = 0
        while tasks := await self._start_due():
            count += len(tasks)
            await asyncio.gather(*tasks)
        return count

    async def _run_iteration(self) -> None:
        """Take what is due, so far as there is room; with nothing to take, rest until there may be something."""
        self._wake_signal.clear()
        if len(self._in_flight) >= MAX_CONCURRENT_DELIVERIES or not await self._start_due():
            await self._wake_signal.wait_subscribed()
            await self._wake_signal.wait(await self._idle_seconds())

    async def _start_due(self) -> list[asyncio.Task[None]]:
        """Begin deliveries of all applications that have some, as many as there is room for."""
        tasks: list[asyncio.Task[None]] = []
        due = await self._find_due()
        for application_id in due.applications:
            free_slots = MAX_CONCURRENT_DELIVERIES - len(self._in_flight)
            if free_slots <= 0:
                break
            system = Principal(Role.SYSTEM, application_id=application_id)
            claim = {"kinds": list(self._handlers), "worker": self.worker_id, "lease": self._lease}
            limit = max(1, free_slots // len(due.applications))
            for delivery in await self._runner.run(deliveries.claim_deliveries, system, {**claim, "limit": limit}):
                task = asyncio.create_task(self._deliver(system, delivery))
                self._in_flight.add(task)
                task.add_done_callback(self._on_task_done)
                tasks.append(task)
        return tasks

    async def _find_due(self) -> deliveries.DueDeliveries:
        arguments = {"kinds": list(self._handlers)}
        due: deliveries.DueDeliveries = await self._runner.run(
            deliveries.due_deliveries, Principal(Role.SYSTEM), arguments
        )
        return due

    async def _idle_seconds(self) -> float:
        """For how many seconds there is nothing to begin; not for very long."""
        due = await self._find_due()
        seconds = MAX_IDLE_SECONDS
        if due.next_at is not None:
            seconds = min(seconds, (due.next_at - self._clock()).total_seconds())
        if due.applications and len(self._in_flight) < MAX_CONCURRENT_DELIVERIES:
            seconds = 0.0
        return max(seconds, MIN_IDLE_SECONDS)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        self._wake_signal.wake()
        if not task.cancelled() and (error := task.exception()):
            log.error("a delivery ended by a fault; another attempt comes after its lease", exc_info=error)

    async def _deliver(self, system: Principal, delivery: Delivery) -> None:
        """One attempt, and what became of it."""
        handler = self._handlers[delivery.kind]
        claim = {"delivery_id": delivery.delivery_id, "worker": self.worker_id, "attempt": delivery.attempts}
        try:
            async with asyncio.timeout(self._lease * MAX_ATTEMPT_LEASE_SHARE):
                outcome = await self._attempt(handler, system, delivery)
        except TimeoutError:
            outcome = TemporaryFailure(f"it took longer than {self._lease * MAX_ATTEMPT_LEASE_SHARE:g} seconds")
        except asyncio.CancelledError:
            await self._runner.run(deliveries.release_delivery, system, claim)
            raise
        DELIVERIES.labels(delivery.kind.value, OUTCOME_LABELS[type(outcome)]).inc()
        await self._record_outcome(handler, system, {**claim, "outcome": outcome})

    async def _attempt(self, handler: DeliveryHandler, system: Principal, delivery: Delivery) -> Outcome:
        """Send it. Whatever is wrong is an outcome: this is the supervisor of channels."""
        arguments = {"delivery_id": delivery.delivery_id}
        try:
            prepared: OutboundMessage | PermanentFailure | TemporaryFailure = await self._runner.run(
                handler.prepare, system, arguments
            )
            return await handler.channel.send(prepared) if isinstance(prepared, OutboundMessage) else prepared
        except GatewayError as error:
            return (
                TemporaryFailure(error.message, error.retry_after)
                if error.retryable
                else PermanentFailure("not_possible", error.message)
            )
        except Exception:
            log.exception("%s delivery %s failed by a fault", delivery.kind.value, delivery.delivery_id)
            return TemporaryFailure("an unexpected error has occurred")

    async def _record_outcome(
        self, handler: DeliveryHandler, system: Principal, arguments: Mapping[str, object]
    ) -> None:
        """Keep the outcome, trying again for a lease at least: what is not kept is sent once more.

        After the end of the lease it is kept only if nobody else has taken the delivery over.
        """
        async with asyncio.timeout(max(self._lease, MIN_RECORD_SECONDS)):
            while True:
                try:
                    recorded = await self._runner.run(handler.record_outcome, system, arguments)
                except Unavailable as error:
                    log.warning("what became of a delivery has to wait: %s", error.message)
                    await asyncio.sleep(error.retry_after or ERROR_PAUSE_SECONDS)
                else:
                    break
        if not recorded:
            log.warning("delivery %s took longer than its lease; another worker has it", arguments["delivery_id"])

    async def _finish_in_flight(self) -> None:
        """Let what is under way come to its end, if that is soon; give back the rest."""
        if not self._in_flight:
            return
        _, unfinished = await asyncio.wait(self._in_flight, timeout=self._grace)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
