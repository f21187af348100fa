"""The intake of what displays publish to an MQTT broker. Needs the extra `mqtt`: loaded where a broker is set."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiomqtt
from aiomqtt import MqttError

from wattgate.app.settings import Settings
from wattgate.energy.freshness import INTAKE_EVERY
from wattgate.energy.meter_messages import MeterMessage, Unreadable, read_message
from wattgate.errors import GatewayError
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.meter_messages import Refusal, hear_intake, record_meter_messages
from wattgate.principal import Principal, Role
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.server_address import Address

log = logging.getLogger(__name__)

BATCH = 500
"""How many messages are stored at once."""

GATHERING, LULL = 0.5, 0.02
"""Seconds for which messages are gathered at most, and after which without any they are stored.

Brokers send only so many before one is acknowledged (20, as most come), so that waiting for more would be in vain.
"""

QUEUE = 10_000
"""How many messages wait at most; far more than brokers send before one is acknowledged."""

REFUSED = 0x80
"""What a broker answers to a subscription from here on is a refusal."""

TOLD_EVERY = 60.0
"""Seconds for which a fault of a display is not told again."""

MAX_TOLD = 1_000
"""How many faults are told in that time; a log is no place for a flood."""


class FaultLog:
    """Logs what is refused, each kind of each display's at most once a minute, and how many others there were."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], float] = {}
        self._untold = 0

    def tell(self, refusal: Refusal, now: float) -> None:
        """Log a refusal, unless its kind or very many others were told in the minute before `now` (in seconds)."""
        while self._told and now - next(iter(self._told.values())) >= TOLD_EVERY:
            del self._told[next(iter(self._told))]
        key = (refusal.hardware_id, refusal.kind)
        if key in self._told or len(self._told) >= MAX_TOLD:
            self._untold += 1
            return
        self._told[key] = now
        more = f" ({self._untold:,} more since the last of these lines)" if self._untold else ""
        log.warning("display %r: %s%s", refusal.hardware_id, refusal.reason, more)
        self._untold = 0


class Inbox(asyncio.Queue[aiomqtt.Message]):
    """The messages that wait to be stored. `turned_away` says how many came while it was full."""

    turned_away = 0

    def put_nowait(self, item: aiomqtt.Message) -> None:
        if self.full():
            self.turned_away += 1
        else:
            super().put_nowait(item)


class Client(aiomqtt.Client):
    """A client that acknowledges when it is told to: what the client below it can do and aiomqtt does not offer."""

    _queue: Inbox

    def __init__(self, broker: Address, identifier: str | None, queue: int = QUEUE) -> None:
        super().__init__(
            broker.host,
            broker.port,
            username=broker.username,
            password=broker.password,
            identifier=identifier,
            clean_session=identifier is None,
            keepalive=30,
            tls_context=ssl.create_default_context() if broker.tls else None,
            queue_type=Inbox,
            max_queued_incoming_messages=queue,
        )
        self._client.manual_ack_set(True)

    async def gather(self) -> list[aiomqtt.Message]:
        """The next message, with those that come close behind it. MqttError when the connection is lost."""
        gathered = [await anext(self.messages)]
        deadline = time.monotonic() + GATHERING
        while len(gathered) < BATCH:
            if self._queue.empty() and time.monotonic() < deadline:
                await asyncio.sleep(LULL)
            if self._queue.empty():
                break
            gathered.append(self._queue.get_nowait())
        return gathered

    def acknowledge(self, messages: Sequence[aiomqtt.Message]) -> None:
        """Tell the broker that it may forget messages. After a loss of the connection it sends them again anyway."""
        for message in messages:
            self._client.ack(message.mid, message.qos)

    @property
    def owed(self) -> int:
        """How many messages the broker has to send again: those turned away, once no other waits."""
        return self._queue.turned_away if self._queue.empty() else 0


class MqttIntake:
    """Records what displays publish, for as long as the gateway runs.

    The broker keeps a session under the client id: what comes while the gateway is away is delivered afterwards. A
    message is acknowledged when it is stored or refused, and not before.
    """

    def __init__(
        self,
        broker: Address,
        *,
        application_id: str,
        topics: Sequence[str],
        client_id: str,
        backoff: Backoff = Backoff(),
        queue: int = QUEUE,
    ) -> None:
        self._broker = broker
        self._principal = Principal(Role.SYSTEM, application_id=application_id)
        self._topics = tuple(topics)
        self._client_id = client_id
        self._backoff = backoff
        self._queue = queue
        self._faults = FaultLog()
        self._connected = False

    async def run(self, runner: Runner) -> None:
        """Take messages, and connect again whenever the connection is lost."""
        attempt = 0
        while True:
            begun = time.monotonic()
            try:
                await self._take(runner)
            except MqttError as error:
                log.warning("the MQTT broker %s is away: %s", self._broker, error)
                await self._say(runner, connected=False)
            except Exception:  # the supervisor: one fault must not end the intake for good
                log.exception("the MQTT intake ended by a fault, and begins anew")
            if time.monotonic() - begun > self._backoff.longest:
                attempt = 0
            await asyncio.sleep(self._backoff.seconds(attempt))
            attempt += 1

    async def _take(self, runner: Runner) -> None:
        """Take messages for as long as the connection holds, or until the broker has to send some again."""
        async with Client(self._broker, self._client_id, self._queue) as client:
            await self._subscribe(client)
            log.info("messages of displays come from the MQTT broker %s", self._broker)
            async with self._alive(runner):
                while not client.owed:
                    messages = await client.gather()
                    await self._record(runner, messages)
                    client.acknowledge(messages)
            log.warning("%d messages came while %d waited; the broker has those of QoS 1", client.owed, self._queue)

    @asynccontextmanager
    async def _alive(self, runner: Runner) -> AsyncIterator[None]:
        """Give signs of life for as long as the context lasts."""
        beat = asyncio.create_task(self._beat(runner))
        try:
            yield
        finally:
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)

    async def _beat(self, runner: Runner) -> None:
        while True:
            await self._say(runner, connected=True)
            await asyncio.sleep(INTAKE_EVERY / 1000)

    async def _say(self, runner: Runner, *, connected: bool) -> None:
        """Put on record that the intake is connected, or that it is no longer: what is known of meters hangs on it."""
        if connected or self._connected:
            self._connected = connected
            try:
                await runner.run(hear_intake, self._principal, {"name": self._client_id, "connected": connected})
            except GatewayError as error:
                log.info("the intake's sign of life is not on record: %s", error.message)
            except Exception:  # the supervisor: a sign of life must not end what it is of
                log.exception("the intake's sign of life led to a fault")

    async def _subscribe(self, client: Client) -> None:
        granted = await client.subscribe([(topic, 1) for topic in self._topics])
        codes = [code if isinstance(code, int) else code.value for code in granted]
        refused = [topic for topic, code in zip(self._topics, codes, strict=True) if code >= REFUSED]
        if len(refused) == len(self._topics):
            raise MqttError("it refuses every topic")
        if refused:
            log.warning("the MQTT broker %s refuses the topics %s", self._broker, ", ".join(refused))

    async def _record(self, runner: Runner, messages: Sequence[aiomqtt.Message]) -> None:
        """Store what can be read of these messages; the rest is logged."""
        read = []
        for message in messages:
            topic = message.topic.value
            try:
                read.append(read_message(topic, message.payload))
            except Unreadable as reason:
                self._faults.tell(Refusal(topic, str(reason)), time.monotonic())
        if read:
            await self._store(runner, read)

    async def _store(self, runner: Runner, messages: Sequence[MeterMessage]) -> None:
        """Store messages, which wait while the database is away. One that nothing helps is found by halving."""
        attempt = 0
        while True:
            try:
                taken = await runner.run(record_meter_messages, self._principal, {"messages": messages})
            except GatewayError as error:
                if not error.retryable:
                    return await self._halve(runner, messages, error.message)
                log.warning("%d messages of displays wait: %s", len(messages), error.message)
            except Exception:  # the supervisor: one message must not keep the others from being stored
                log.exception("messages of displays led to a fault")
                return await self._halve(runner, messages, "an unexpected error has occurred")
            else:
                for refusal in taken.refusals:
                    self._faults.tell(refusal, time.monotonic())
                return None
            await asyncio.sleep(self._backoff.seconds(attempt))
            attempt += 1

    async def _halve(self, runner: Runner, messages: Sequence[MeterMessage], reason: str) -> None:
        """Store each half of messages that are refused together; refuse a single one."""
        if len(messages) == 1:
            self._faults.tell(Refusal(messages[0].hardware_id, "a message is not stored", reason), time.monotonic())
            return
        middle = len(messages) // 2
        await self._store(runner, messages[:middle])
        await self._store(runner, messages[middle:])


def intake(settings: Settings) -> MqttIntake:
    """The intake from the broker that the settings name."""
    return MqttIntake(
        Address.of_broker(settings.mqtt_url or ""),
        application_id=settings.mqtt_application_id or "",
        topics=settings.mqtt_topics,
        client_id=settings.mqtt_client_id,
    )


async def check(settings: Settings) -> None:
    """Connect to the broker that the settings name, beside a gateway that may be connected. MqttError if it fails."""
    async with Client(Address.of_broker(settings.mqtt_url or ""), None):
        pass
