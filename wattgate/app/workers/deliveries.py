"""The worker that claims due deliveries from the outbox and sends them: mails, pushes and webhooks."""

import asyncio
import logging
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
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
from wattgate.metrics import DELIVERIES
from wattgate.operations.core.operation import Operation
from wattgate.operations.core.runner import Runner
from wattgate.operations.messages import deliveries
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

OUTCOME_LABELS: Mapping[type[Outcome], str] = {Sent: "sent", TemporaryFailure: "retry", PermanentFailure: "refused"}
"""The value of the metric label `outcome` for each outcome class."""

MAX_CONCURRENT_DELIVERIES = 20
"""Maximum number of deliveries that one worker sends at the same time. One application gets half of them at most."""

RESERVED_SLOTS = 4
"""Number of the last free slots that only applications without running deliveries get, one for each."""

MAX_IDLE_SECONDS = 5.0
"""Maximum seconds until a worker looks for work again without an event."""

MIN_IDLE_SECONDS = 0.05
"""Minimum seconds between two searches, so that a small clock difference to the database does not cause a busy loop."""

ERROR_PAUSE_SECONDS = 2.0

GRACE_SECONDS = 1.0
"""Seconds that running deliveries have at shutdown. Then the worker releases them for other workers."""

MIN_RECORD_SECONDS = 30.0
"""Minimum seconds for which a worker tries to record the outcome of an attempt."""

MAX_ATTEMPT_LEASE_SHARE = 0.75
"""Maximum share of a lease for an attempt. The rest is for recording its outcome."""


@dataclass(frozen=True, slots=True)
class DeliveryHandler:
    """The operations and the channel for deliveries of one kind.

    `prepare` takes `delivery_id` and returns the `OutboundMessage`, or `PermanentFailure` or `TemporaryFailure` if
    there is none to send. `record_outcome` takes `delivery_id`, `worker`, `attempt` and `outcome`, and returns a false
    value if the lease was lost. `close` closes the connections of the channel.
    """

    prepare: Operation
    channel: DeliveryChannel
    record_outcome: Operation
    close: Callable[[], Awaitable[None]] | None = None


class DeliveryWorker:
    """Claim and send due deliveries until cancelled.

    On cancellation, the worker releases unfinished deliveries. After a crash, other workers claim them when the lease
    expires. `lease` and `grace` are in seconds.
    """

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
        self._in_flight: dict[asyncio.Task[None], str] = {}
        """The running deliveries, and the application of each."""
        self._last_served = ""
        """The application that claimed last. The next search continues after it."""

    async def run(self) -> None:
        """Deliver until cancelled, then release the deliveries that do not finish within the grace period."""
        try:
            with self._wake_signal.subscribed():
                await run_forever("deliveries", self._run_iteration, pause=0.0, pause_after_error=ERROR_PAUSE_SECONDS)
        finally:
            await self._finish_in_flight()
            for handler in self._handlers.values():
                if handler.close is not None:
                    await handler.close()

    async def deliver_due(self) -> int:
        """Send all deliveries that are due now and wait for them. Return their number."""
        count = 0
        while tasks := await self._start(await self._find_due()):
            count += len(tasks)
            await asyncio.gather(*tasks)
        return count

    async def _run_iteration(self) -> None:
        """Start due deliveries. If there are none or all slots are in use, wait for an event or the next due time."""
        self._wake_signal.clear()
        due = await self._find_due()
        if await self._start(due) or await self._wake_signal.wait_subscribed():
            return  # search again, because more may be due
        await self._wake_signal.wait(self._idle_seconds(due))

    async def _start(self, due: deliveries.DueDeliveries) -> list[asyncio.Task[None]]:
        """Claim due deliveries and start their tasks, application by application, in turn.

        Each application gets an equal share of the slots. One share stays free, so that an application whose deliveries
        take long does not delay those of the next one. The last RESERVED_SLOTS are for applications without running
        deliveries, one for each.
        """
        tasks: list[asyncio.Task[None]] = []
        for application_id, limit in self._claim_limits(due.applications):
            system = Principal(Role.SYSTEM, application_id=application_id)
            claim = {"kinds": list(self._handlers), "worker": self.worker_id, "lease": self._lease}
            for delivery in await self._runner.run(deliveries.claim_deliveries, system, {**claim, "limit": limit}):
                task = asyncio.create_task(self._deliver(system, delivery))
                self._in_flight[task] = application_id
                task.add_done_callback(self._on_task_done)
                tasks.append(task)
                self._last_served = application_id
        return tasks

    def _claim_limits(self, applications: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Yield the applications that may start deliveries now, and how many, beginning after the last served one."""
        running = Counter(self._in_flight.values())
        share = max(1, MAX_CONCURRENT_DELIVERIES // (len(running.keys() | set(applications)) + 1))
        for application_id in sorted(applications, key=lambda name: (name <= self._last_served, name)):
            free = MAX_CONCURRENT_DELIVERIES - len(self._in_flight)
            first = min(1, free) if not running[application_id] else 0
            limit = min(share - running[application_id], max(first, free - RESERVED_SLOTS))
            if limit > 0:
                yield application_id, limit

    async def _find_due(self) -> deliveries.DueDeliveries:
        arguments = {"kinds": list(self._handlers)}
        due: deliveries.DueDeliveries = await self._runner.run(
            deliveries.due_deliveries, Principal(Role.SYSTEM), arguments
        )
        return due

    def _idle_seconds(self, due: deliveries.DueDeliveries) -> float:
        """Return the seconds until the next delivery is due, between MIN_IDLE_SECONDS and MAX_IDLE_SECONDS."""
        seconds = MAX_IDLE_SECONDS
        if due.next_at is not None:
            seconds = min(seconds, (due.next_at - self._clock()).total_seconds())
        if any(self._claim_limits(due.applications)):
            seconds = 0.0
        return max(seconds, MIN_IDLE_SECONDS)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._in_flight.pop(task, None)
        self._wake_signal.wake()
        if not task.cancelled() and (error := task.exception()):
            log.error("A delivery task failed; the delivery is retried after its lease expires", exc_info=error)

    async def _deliver(self, system: Principal, delivery: Delivery) -> None:
        """Make one attempt and record its outcome. Release the delivery if the task is cancelled."""
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
        """Prepare and send a delivery. Convert all exceptions to outcomes: this is the supervisor of the channels."""
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
            log.exception("Delivery %s (%s) failed with an exception", delivery.delivery_id, delivery.kind.value)
            return TemporaryFailure("an unexpected error has occurred")

    async def _record_outcome(
        self, handler: DeliveryHandler, system: Principal, arguments: Mapping[str, object]
    ) -> None:
        """Record the outcome, and retry for at least the time of a lease, because an unrecorded delivery is sent again.

        After the end of the lease, the outcome is recorded only if no other worker has claimed the delivery.
        """
        async with asyncio.timeout(max(self._lease, MIN_RECORD_SECONDS)):
            while True:
                try:
                    recorded = await self._runner.run(handler.record_outcome, system, arguments)
                except Unavailable as error:
                    log.warning("The outcome of a delivery could not be recorded yet: %s", error.message)
                    await asyncio.sleep(error.retry_after or ERROR_PAUSE_SECONDS)
                else:
                    break
        if not recorded:
            log.warning("Delivery %s exceeded its lease; another worker has claimed it", arguments["delivery_id"])

    async def _finish_in_flight(self) -> None:
        """Wait for the running deliveries for the grace period, then cancel the others, which releases them."""
        if not self._in_flight:
            return
        _, unfinished = await asyncio.wait(self._in_flight, timeout=self._grace)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
