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
from wattgate.energy.freshness import INTAKE_HEARTBEAT_INTERVAL_MS
from wattgate.energy.meter_messages import MeterMessage, MeterMessageError, parse_message
from wattgate.errors import GatewayError
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.meter_messages import MessageRefusal, record_intake_heartbeat, record_meter_messages
from wattgate.principal import Principal, Role
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.server_address import ServerAddress

log = logging.getLogger(__name__)

MAX_BATCH_MESSAGES = 500
"""How many messages are stored at once."""

MAX_GATHER_SECONDS, QUIET_SECONDS = 0.5, 0.02
"""Seconds for which messages are gathered at most, and after which without any they are stored.

Brokers send only so many before one is acknowledged (20, as most come), so that waiting for more would be in vain.
"""

MAX_QUEUED_MESSAGES = 10_000
"""How many messages wait at most; far more than brokers send before one is acknowledged."""

FIRST_SUBACK_FAILURE = 0x80
"""What a broker answers to a subscription from here on is a refusal."""

REPEAT_LOG_SECONDS = 60.0
"""Seconds for which a fault of a display is not told again."""

MAX_LOGGED_KINDS = 1_000
"""How many faults are told in that time; a log is no place for a flood."""


class RefusalLog:
    """Logs what is refused, each kind of each display's at most once a minute, and how many others there were."""

    def __init__(self) -> None:
        self._logged_at: dict[tuple[str, str], float] = {}
        self._suppressed = 0

    def log_refusal(self, refusal: MessageRefusal, now: float) -> None:
        """Log a refusal, unless its kind or very many others were told in the minute before `now` (in seconds)."""
        while self._logged_at and now - next(iter(self._logged_at.values())) >= REPEAT_LOG_SECONDS:
            del self._logged_at[next(iter(self._logged_at))]
        key = (refusal.hardware_id, refusal.kind)
        if key in self._logged_at or len(self._logged_at) >= MAX_LOGGED_KINDS:
            self._suppressed += 1
            return
        self._logged_at[key] = now
        suffix = f" ({self._suppressed:,} more since the last of these lines)" if self._suppressed else ""
        log.warning("display %r: %s%s", refusal.hardware_id, refusal.reason, suffix)
        self._suppressed = 0


class MessageQueue(asyncio.Queue[aiomqtt.Message]):
    """The messages that wait to be stored. `turned_away` says how many came while it was full."""

    dropped_count = 0

    def put_nowait(self, item: aiomqtt.Message) -> None:
        if self.full():
            self.dropped_count += 1
        else:
            super().put_nowait(item)


class MqttClient(aiomqtt.Client):
    """A client that acknowledges when it is told to: what the client below it can do and aiomqtt does not offer."""

    _queue: MessageQueue

    def __init__(self, broker: ServerAddress, identifier: str | None, max_queued: int = MAX_QUEUED_MESSAGES) -> None:
        super().__init__(
            broker.host,
            broker.port,
            username=broker.username,
            password=broker.password,
            identifier=identifier,
            clean_session=identifier is None,
            keepalive=30,
            tls_context=ssl.create_default_context() if broker.tls else None,
            queue_type=MessageQueue,
            max_queued_incoming_messages=max_queued,
        )
        self._client.manual_ack_set(True)

    async def next_batch(self) -> list[aiomqtt.Message]:
        """The next message, with those that come close behind it. MqttError when the connection is lost."""
        batch = [await anext(self.messages)]
        deadline = time.monotonic() + MAX_GATHER_SECONDS
        while len(batch) < MAX_BATCH_MESSAGES:
            if self._queue.empty() and time.monotonic() < deadline:
                await asyncio.sleep(QUIET_SECONDS)
            if self._queue.empty():
                break
            batch.append(self._queue.get_nowait())
        return batch

    def acknowledge(self, messages: Sequence[aiomqtt.Message]) -> None:
        """Tell the broker that it may forget messages. After a loss of the connection it sends them again anyway."""
        for message in messages:
            self._client.ack(message.mid, message.qos)

    @property
    def redelivery_count(self) -> int:
        """How many messages the broker has to send again: those turned away, once no other waits."""
        return self._queue.dropped_count if self._queue.empty() else 0


class MqttIntake:
    """Records what displays publish, for as long as the gateway runs.

    The broker keeps a session under the client id: what comes while the gateway is away is delivered afterwards. A
    message is acknowledged when it is stored or refused, and not before.
    """

    def __init__(
        self,
        broker: ServerAddress,
        *,
        application_id: str,
        topics: Sequence[str],
        client_id: str,
        backoff: Backoff = Backoff(),
        max_queued: int = MAX_QUEUED_MESSAGES,
    ) -> None:
        self._broker = broker
        self._principal = Principal(Role.SYSTEM, application_id=application_id)
        self._topics = tuple(topics)
        self._client_id = client_id
        self._backoff = backoff
        self._max_queued = max_queued
        self._refusal_log = RefusalLog()
        self._connected = False

    async def run(self, runner: Runner) -> None:
        """Take messages, and connect again whenever the connection is lost."""
        attempt = 0
        while True:
            started_at = time.monotonic()
            try:
                await self._consume(runner)
            except MqttError as error:
                log.warning("the MQTT broker %s is away: %s", self._broker, error)
                await self._record_heartbeat(runner, connected=False)
            except Exception:  # the supervisor: one fault must not end the intake for good
                log.exception("the MQTT intake ended by a fault, and begins anew")
            if time.monotonic() - started_at > self._backoff.max_seconds:
                attempt = 0
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            attempt += 1

    async def _consume(self, runner: Runner) -> None:
        """Take messages for as long as the connection holds, or until the broker has to send some again."""
        async with MqttClient(self._broker, self._client_id, self._max_queued) as client:
            await self._subscribe(client)
            log.info("messages of displays come from the MQTT broker %s", self._broker)
            async with self._heartbeats(runner):
                while not client.redelivery_count:
                    messages = await client.next_batch()
                    await self._record(runner, messages)
                    client.acknowledge(messages)
            log.warning(
                "%d messages came while %d waited; the broker has those of QoS 1",
                client.redelivery_count,
                self._max_queued,
            )

    @asynccontextmanager
    async def _heartbeats(self, runner: Runner) -> AsyncIterator[None]:
        """Give signs of life for as long as the context lasts."""
        task = asyncio.create_task(self._send_heartbeats(runner))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _send_heartbeats(self, runner: Runner) -> None:
        while True:
            await self._record_heartbeat(runner, connected=True)
            await asyncio.sleep(INTAKE_HEARTBEAT_INTERVAL_MS / 1000)

    async def _record_heartbeat(self, runner: Runner, *, connected: bool) -> None:
        """Put on record that the intake is connected, or that it is no longer: what is known of meters hangs on it."""
        if connected or self._connected:
            self._connected = connected
            try:
                await runner.run(
                    record_intake_heartbeat, self._principal, {"name": self._client_id, "connected": connected}
                )
            except GatewayError as error:
                log.info("the intake's sign of life is not on record: %s", error.message)
            except Exception:  # the supervisor: a sign of life must not end what it is of
                log.exception("the intake's sign of life led to a fault")

    async def _subscribe(self, client: MqttClient) -> None:
        granted = await client.subscribe([(topic, 1) for topic in self._topics])
        codes = [code if isinstance(code, int) else code.value for code in granted]
        refused = [topic for topic, code in zip(self._topics, codes, strict=True) if code >= FIRST_SUBACK_FAILURE]
        if len(refused) == len(self._topics):
            raise MqttError("it refuses every topic")
        if refused:
            log.warning("the MQTT broker %s refuses the topics %s", self._broker, ", ".join(refused))

    async def _record(self, runner: Runner, messages: Sequence[aiomqtt.Message]) -> None:
        """Store what can be read of these messages; the rest is logged."""
        parsed = []
        for message in messages:
            topic = message.topic.value
            try:
                parsed.append(parse_message(topic, message.payload))
            except MeterMessageError as error:
                self._refusal_log.log_refusal(MessageRefusal(topic, str(error)), time.monotonic())
        if parsed:
            await self._store(runner, parsed)

    async def _store(self, runner: Runner, messages: Sequence[MeterMessage]) -> None:
        """Store messages, which wait while the database is away. One that nothing helps is found by halving."""
        attempt = 0
        while True:
            try:
                result = await runner.run(record_meter_messages, self._principal, {"messages": messages})
            except GatewayError as error:
                if not error.retryable:
                    return await self._store_halves(runner, messages, error.message)
                log.warning("%d messages of displays wait: %s", len(messages), error.message)
            except Exception:  # the supervisor: one message must not keep the others from being stored
                log.exception("messages of displays led to a fault")
                return await self._store_halves(runner, messages, "an unexpected error has occurred")
            else:
                for refusal in result.refusals:
                    self._refusal_log.log_refusal(refusal, time.monotonic())
                return None
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            attempt += 1

    async def _store_halves(self, runner: Runner, messages: Sequence[MeterMessage], reason: str) -> None:
        """Store each half of messages that are refused together; refuse a single one."""
        if len(messages) == 1:
            self._refusal_log.log_refusal(
                MessageRefusal(messages[0].hardware_id, "a message is not stored", reason), time.monotonic()
            )
            return
        middle = len(messages) // 2
        await self._store(runner, messages[:middle])
        await self._store(runner, messages[middle:])


def create_intake(settings: Settings) -> MqttIntake:
    """The intake from the broker that the settings name."""
    return MqttIntake(
        ServerAddress.from_mqtt_url(settings.mqtt_url or ""),
        application_id=settings.mqtt_application_id or "",
        topics=settings.mqtt_topics,
        client_id=settings.mqtt_client_id,
    )


async def check_broker(settings: Settings) -> None:
    """Connect to the broker that the settings name, beside a gateway that may be connected. MqttError if it fails."""
    async with MqttClient(ServerAddress.from_mqtt_url(settings.mqtt_url or ""), None):
        pass
