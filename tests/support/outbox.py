"""The outbox of a tenant without a running server: a test sets the time and runs the delivery workers."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import update
from sqlmodel import col
from strawberry import ID

from tests.support.house import Tenant, operation
from tests.support.scopes import EVERYTHING
from tests.support.sinks import HERE
from tests.support.timed import Clock
from wattgate.app.workers.deliveries import DeliveryHandler, DeliveryWorker
from wattgate.db.meter_network import RegistryMeterNetwork
from wattgate.db.models import Delivery, Notification, Webhook
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.delivery.channels.channel import MessageContent, OutboundMessage, Outcome, Sent
from wattgate.delivery.mail_addresses import AllowList
from wattgate.delivery.outbound_policy import OutboundPolicy
from wattgate.delivery.signed_links import SignedLinks
from wattgate.enums import Channel, DeliveryKind, DeliveryState
from wattgate.operations.core.operation import Call, Operation, OperationKind
from wattgate.operations.core.operation import operation as declare
from wattgate.operations.core.runner import Runner
from wattgate.operations.messages import deliveries
from wattgate.operations.messages.outbox import record_delivery_outcome
from wattgate.operations.types.messages import alerts as types
from wattgate.principal import Permission
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.hub import Hub

PUBLIC_URL, LINK_KEY = "https://energy.example", "k" * 40
"""The settings of the links in mails."""

TESTERS = ["Tester@Energy.example", "@testers.example"]
"""Addresses and domains that may receive test mails."""


@declare(OperationKind.QUERY, returns=OutboundMessage, needs=Permission.SYSTEM)
async def prepare_bare(call: Call, *, delivery_id: str) -> OutboundMessage:
    """Return a delivery with empty content."""
    delivery = await call.rows.get(Delivery, delivery_id)
    return OutboundMessage(
        delivery.delivery_id, delivery.application_id, delivery.attempts, delivery.created_at, (), MessageContent()
    )


@declare(OperationKind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def settle_bare(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Record the outcome of an attempt without side effects."""
    return await record_delivery_outcome(call, delivery_id, worker, attempt, outcome) is not None


class Recorder:
    """A channel that records messages. It returns the given outcomes one after another, then `Sent`."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.given: list[OutboundMessage] = []
        self._outcomes = list(outcomes)

    async def send(self, outgoing: OutboundMessage) -> Outcome:
        self.given.append(outgoing)
        return self._outcomes.pop(0) if self._outcomes else Sent()


class Post:
    """The outbox of a tenant, with a clock and workers."""

    def __init__(self, tenant: Tenant, bus: MemoryBus | None = None) -> None:
        self.tenant, self.clock, self.bus = tenant, Clock(), bus or MemoryBus()
        self.hub = Hub(self.bus)
        links = SignedLinks(PUBLIC_URL, LINK_KEY.encode())
        policy = OutboundPolicy(HERE, None, AllowList.from_texts(TESTERS), PUBLIC_URL, links)
        self.runner = Runner(
            tenant.gateway.database, self.bus, network=RegistryMeterNetwork, clock=self.clock, outbound_policy=policy
        )

    def pass_time(self, span: timedelta) -> None:
        self.clock.now += span

    def worker(self, channel: Any, kind: DeliveryKind = DeliveryKind.PUSH, **more: Any) -> DeliveryWorker:
        """Return a worker that sends deliveries of a kind through a channel."""
        return self.worker_with(
            {kind: DeliveryHandler(prepare_bare, channel, deliveries.record_notification_outcome)}, **more
        )

    def worker_with(self, carriers: Mapping[DeliveryKind, DeliveryHandler], **more: Any) -> DeliveryWorker:
        return DeliveryWorker(self.runner, self.hub, carriers, clock=self.clock, **more)

    async def clear(self) -> None:
        """Empty the outbox: move the clock by a year, and store that everything is sent.

        A worker would send the deliveries of a target one after the other.
        """
        self.pass_time(timedelta(days=365))
        is_open = col(Delivery.state).in_((DeliveryState.WAITING, DeliveryState.LEASED))
        ended = {"state": DeliveryState.SENT, "ended_at": self.clock.now, "worker": None, "leased_until": None}
        async with self.tenant.gateway.database.session(EVERYTHING) as session:
            await session.execute(update(Delivery).where(is_open).values(**ended), execution_options=SCOPED_OPTION)
            await session.commit()

    async def send(self, *channels: Channel, **more: Any) -> str:
        """Send an alert to the tenant's user, or to another one, and return its ID."""
        more = {"user_id": ID(self.tenant.user_id), "data": {"name": "Ada"}, **more}
        alert = types.NewAlert(alert_type_id="CM01", channels=list(channels), **more)
        sent = await self.runner.run(operation("send_alert"), self.tenant.system, {"input": alert})
        return str(sent.alert_id)

    async def tokens(self, *tokens: str) -> None:
        """Replace the push tokens of the tenant's account."""
        account = {"account_id": self.tenant.account_id}
        for known in await self.known_tokens():
            await self.run(operation("remove_mobile_app_token"), **account, remove_token=known)
        for token in tokens:
            await self.run(operation("add_mobile_app_token"), **account, new_token=token)

    async def known_tokens(self) -> list[str]:
        tokens = await self.run(operation("mobile_app_tokens"), account_id=self.tenant.account_id)
        return [row.token for row in tokens]

    async def rows(self, model: Any, *where: Any, order_by: Any = ()) -> list[Any]:
        async def read(rows: Any) -> list[Any]:
            return list(await rows.all(model, *where, order_by=order_by))

        result: list[Any] = await self.runner.read(self.tenant.system, Permission.SYSTEM, read)
        return result

    async def notification(self, alert_id: str) -> Any:
        """Return the only notification of an alert."""
        (only,) = await self.rows(Notification, col(Notification.alert_id) == alert_id)
        return only

    async def deliveries(self, alert_id: str) -> list[Any]:
        """Return the deliveries of an alert's notifications, in order of their number."""
        sent = await self.rows(Notification, col(Notification.alert_id) == alert_id)
        targets = [notification.notification_id for notification in sent]
        return await self.rows(Delivery, col(Delivery.target_id).in_(targets), order_by=[Delivery.number])

    async def webhooks(self, alert_id: str) -> list[Webhook]:
        """Return the webhooks about an alert, oldest first."""
        rows = await self.rows(Webhook, order_by=[Webhook.created_at])
        return [webhook for webhook in rows if webhook.payload.get("ns_alert_id") == alert_id]

    async def log(self, alert_id: str) -> list[tuple[int, str, str, str | None]]:
        """Return the log entries of the only notification: step, stage, status and detail."""
        (logs,) = await self.tenant.edge(types.Notification, "log", [await self.notification(alert_id)])
        return [(entry.step, entry.stage, entry.status, entry.detail) for entry in logs]

    async def events(self, alert_id: str) -> list[dict[str, Any]]:
        """Return the payloads of the webhooks about an alert, oldest first."""
        return [webhook.payload for webhook in await self.webhooks(alert_id)]

    async def run(self, operation: Operation, **arguments: Any) -> Any:
        return await self.runner.run(operation, self.tenant.system, arguments)
