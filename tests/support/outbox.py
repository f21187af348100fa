"""A tenant on a database that no server works on, whose outbox a test empties at a time that it sets."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlmodel import col
from strawberry import ID

from tests.support.house import Tenant, operation
from tests.support.sinks import HERE
from tests.support.timed import Clock
from wattgate.app.workers.deliveries import Carrier, Deliveries
from wattgate.db.meter_network import RegistryNetwork
from wattgate.db.models import Delivery, Notification, Webhook
from wattgate.delivery.channels.channel import Content, Outcome, Outgoing, Sent
from wattgate.delivery.mail_addresses import AllowList
from wattgate.delivery.outbound_policy import Outside
from wattgate.enums import DeliveryKind
from wattgate.graphql.core.operation import Call, Kind, Operation
from wattgate.graphql.core.operation import operation as declare
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import deliveries
from wattgate.graphql.services.outbox import settle
from wattgate.graphql.types import alerts as types
from wattgate.principal import Permission
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.hub import Hub

TESTERS = ["Tester@Energy.example", "@testers.example"]
"""Who may get test mails."""


@declare(Kind.QUERY, returns=Outgoing, needs=Permission.SYSTEM)
async def prepare_bare(call: Call, *, delivery_id: str) -> Outgoing:
    """A delivery as it stands, with nothing in it."""
    one = await call.rows.get(Delivery, delivery_id)
    return Outgoing(one.delivery_id, one.application_id, one.attempts, one.created_at, (), Content())


@declare(Kind.MUTATION, returns=bool, needs=Permission.SYSTEM)
async def settle_bare(call: Call, *, delivery_id: str, worker: str, attempt: int, outcome: Outcome) -> bool:
    """Keep what became of an attempt, and nothing else."""
    return await settle(call, delivery_id, worker, attempt, outcome) is not None


class Recorder:
    """A channel that takes everything, or does what it is told to, and remembers what it was given."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.given: list[Outgoing] = []
        self._outcomes = list(outcomes)

    async def send(self, outgoing: Outgoing) -> Outcome:
        self.given.append(outgoing)
        return self._outcomes.pop(0) if self._outcomes else Sent()


class Post:
    """The outbox of a tenant, and workers on it."""

    def __init__(self, tenant: Tenant, bus: MemoryBus | None = None) -> None:
        self.tenant, self.clock, self.bus = tenant, Clock(), bus or MemoryBus()
        self.hub = Hub(self.bus)
        outside = Outside(HERE, test_addresses=AllowList.of(TESTERS))
        self.runner = Runner(
            tenant.gateway.database, self.bus, network=RegistryNetwork, clock=self.clock, outside=outside
        )

    def pass_time(self, span: timedelta) -> None:
        self.clock.now += span

    def worker(self, channel: Any, kind: DeliveryKind = DeliveryKind.PUSH, **more: Any) -> Deliveries:
        """A worker for deliveries of a kind that go out by this channel."""
        return self.worker_with({kind: Carrier(prepare_bare, channel, deliveries.settle_notification)}, **more)

    def worker_with(self, carriers: Mapping[DeliveryKind, Carrier], **more: Any) -> Deliveries:
        return Deliveries(self.runner, self.hub, carriers, clock=self.clock, **more)

    async def clear(self) -> None:
        """Let everything in the outbox be sent, long from now."""
        self.pass_time(timedelta(days=365))
        bare = Carrier(prepare_bare, Recorder(), settle_bare)
        await self.worker_with(dict.fromkeys(DeliveryKind, bare)).work_once()

    async def send(self, *channels: types.Channel, **more: Any) -> str:
        """Send an alert to the tenant's user; its id."""
        more = {"data": {"name": "Ada"}, **more}
        given = types.NewAlert(user_id=ID(self.tenant.user_id), alert_type_id="CM01", channels=list(channels), **more)
        made = await self.runner.run(operation("send_alert"), self.tenant.system, {"input": given})
        return str(made.alert_id)

    async def tokens(self, *tokens: str) -> None:
        """Let the tenant's account have these push tokens, and no others."""
        account = {"account_id": self.tenant.account_id}
        for known in await self.known_tokens():
            await self.run(operation("remove_mobile_app_token"), **account, remove_token=known)
        for token in tokens:
            await self.run(operation("add_mobile_app_token"), **account, new_token=token)

    async def known_tokens(self) -> list[str]:
        found = await self.run(operation("mobile_app_tokens"), account_id=self.tenant.account_id)
        return [one.token for one in found]

    async def rows(self, model: Any, *where: Any, order_by: Any = ()) -> list[Any]:
        async def read(rows: Any) -> list[Any]:
            return list(await rows.all(model, *where, order_by=order_by))

        found: list[Any] = await self.runner.read(self.tenant.system, Permission.SYSTEM, read)
        return found

    async def notification(self, alert_id: str) -> Any:
        """The only notification of an alert."""
        (found,) = await self.rows(Notification, col(Notification.alert_id) == alert_id)
        return found

    async def deliveries(self, alert_id: str) -> list[Any]:
        """The deliveries of an alert's notifications, in their order."""
        sent = await self.rows(Notification, col(Notification.alert_id) == alert_id)
        targets = [one.notification_id for one in sent]
        return await self.rows(Delivery, col(Delivery.target_id).in_(targets), order_by=[Delivery.number])

    async def webhooks(self, alert_id: str) -> list[Webhook]:
        """Return the webhooks about an alert, oldest first."""
        found = await self.rows(Webhook, order_by=[Webhook.created_at])
        return [one for one in found if one.payload.get("ns_alert_id") == alert_id]

    async def log(self, alert_id: str) -> list[tuple[int, str, str, str | None]]:
        """The steps of the only notification of an alert."""
        (logs,) = await self.tenant.edge(types.Notification, "log", [await self.notification(alert_id)])
        return [(one.step, one.stage, one.status, one.detail) for one in logs]

    async def events(self, alert_id: str) -> list[dict[str, Any]]:
        """Return the payloads of the webhooks about an alert, oldest first."""
        return [one.payload for one in await self.webhooks(alert_id)]

    async def run(self, what: Operation, **arguments: Any) -> Any:
        return await self.runner.run(what, self.tenant.system, arguments)
