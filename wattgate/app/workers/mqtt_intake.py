"""The intake of messages that displays publish to an MQTT broker. It needs the extra `mqtt`."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

import aiomqtt
from aiomqtt import MqttError
from paho.mqtt.client import Client, MQTTMessage

from wattgate.app.settings import Settings
from wattgate.energy.freshness import INTAKE_HEARTBEAT_INTERVAL_MS
from wattgate.energy.meters.meter_messages import (
    MAX_PAYLOAD_BYTES,
    TOO_LARGE,
    MeterMessage,
    MeterMessageError,
    parse_message,
)
from wattgate.errors import GatewayError
from wattgate.operations.core.runner import Runner
from wattgate.operations.readings.meter_messages import (
    MAX_MESSAGES,
    MessageRefusal,
    record_intake_heartbeat,
    record_meter_messages,
)
from wattgate.pauses import raise_if_cancelled
from wattgate.principal import Principal, Role
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.server_address import ServerAddress
from wattgate.tls import client_context

log = logging.getLogger(__name__)

MAX_BATCH_MESSAGES = MAX_MESSAGES
"""Maximum number of messages in a batch, which is stored in one transaction."""

MAX_GATHER_SECONDS, QUIET_SECONDS = 0.05, 0.005
"""Maximum seconds to collect a batch, and seconds without a message after which a batch is complete.

Brokers send a limited number of messages before an acknowledgement (20 by default in most). Waiting longer for a larger
batch would have no effect. While a batch is stored, the messages of the next one arrive.
"""

MAX_QUEUED_MESSAGES = 10_000
"""Maximum number of queued messages: far more than brokers send before an acknowledgement."""

MAX_QUEUED_BYTES = 32 * 2**20
"""Bytes of queued messages from which on the queue is full: 10,000 usual messages have less. It may exceed them by one
message. Larger messages than displays send fill it earlier.
"""

MESSAGE_OVERHEAD_BYTES = 200
"""Bytes of memory that a queued message takes besides its topic and payload, about."""

FIRST_SUBACK_FAILURE = 0x80
"""Reason codes of a subscription from here on mean that the broker rejected it."""

REPEAT_LOG_SECONDS = 60.0
"""Seconds for which the same problem of a display is not logged again."""

MAX_LOGGED_KINDS = 1_000
"""Maximum number of different problems that are logged in that time, so that displays cannot flood the log."""


class RefusalLog:
    """Log of refused messages: each kind of problem of each display at most once a minute, with the number left out."""

    def __init__(self) -> None:
        self._logged_at: dict[tuple[str, str], float] = {}
        self._suppressed = 0

    def log_refusal(self, refusal: MessageRefusal, now: float) -> None:
        """Log a refusal, or only count it if its kind or MAX_LOGGED_KINDS others were logged in the last minute.

        `now` is a monotonic time in seconds.
        """
        while self._logged_at and now - next(iter(self._logged_at.values())) >= REPEAT_LOG_SECONDS:
            del self._logged_at[next(iter(self._logged_at))]
        key = (refusal.hardware_id, refusal.kind)
        if key in self._logged_at or len(self._logged_at) >= MAX_LOGGED_KINDS:
            self._suppressed += 1
            return
        self._logged_at[key] = now
        suffix = f" ({self._suppressed:,} more since the last such line)" if self._suppressed else ""
        log.warning("Display %r: %s%s", refusal.hardware_id, refusal.reason, suffix)
        self._suppressed = 0


class ReceivedMessage(NamedTuple):
    """A message with the number and the QoS of its acknowledgement. `payload` is None if it was too large."""

    topic: str
    payload: bytes | None
    mid: int
    qos: int

    @property
    def size(self) -> int:
        """The bytes of memory that the message takes in the queue, about."""
        return len(self.topic) + len(self.payload or b"") + MESSAGE_OVERHEAD_BYTES


class MessageQueue(asyncio.Queue[Any]):
    """The messages that wait to be stored. `dropped_count` is the number that arrived while the queue was full.

    It is full with a number of messages, or with MAX_QUEUED_BYTES in `size`.
    """

    dropped_count = 0
    size = 0

    def full(self) -> bool:
        return super().full() or self.size >= MAX_QUEUED_BYTES

    def get_nowait(self) -> ReceivedMessage:
        message: ReceivedMessage = super().get_nowait()
        self.size -= message.size
        return message

    def put_nowait(self, item: ReceivedMessage) -> None:
        if self.full():
            self.dropped_count += 1
        else:
            super().put_nowait(item)
            self.size += item.size


class MqttClient(aiomqtt.Client):
    """An MQTT client with manual acknowledgements, which aiomqtt does not offer but its underlying client does.

    The queue has plain tuples, because the messages of aiomqtt take a quarter of the time of receiving.
    """

    def __init__(self, broker: ServerAddress, identifier: str | None, max_queued: int = MAX_QUEUED_MESSAGES) -> None:
        self._received = received = MessageQueue(max_queued)
        super().__init__(
            broker.host,
            broker.port,
            username=broker.username,
            password=broker.password,
            identifier=identifier,
            clean_session=identifier is None,
            keepalive=30,
            tls_context=client_context() if broker.tls else None,
            queue_type=cast(Any, lambda maxsize: received),  # the only documented way to reach the queue
        )
        self._client.manual_ack_set(True)
        self._client.on_message = self._enqueue
        buffer_received_bytes(self._client)

    def _enqueue(self, client: Client, userdata: Any, message: MQTTMessage) -> None:
        payload = bytes(message.payload) if len(message.payload) <= MAX_PAYLOAD_BYTES else None
        self._received.put_nowait(ReceivedMessage(message.topic, payload, message.mid, message.qos))

    async def next_batch(self) -> list[ReceivedMessage]:
        """Return the next message and those that follow shortly after. Raise MqttError if the connection is lost."""
        batch = [cast(ReceivedMessage, await anext(self.messages))]
        deadline = time.monotonic() + MAX_GATHER_SECONDS
        while len(batch) < MAX_BATCH_MESSAGES:
            if self._received.empty() and time.monotonic() < deadline:
                await asyncio.sleep(QUIET_SECONDS)
            if self._received.empty():
                break
            batch.append(self._received.get_nowait())
        return batch

    def acknowledge(self, messages: Sequence[ReceivedMessage]) -> None:
        """Acknowledge messages to the broker. If the connection was lost, the broker sends them again anyway."""
        for message in messages:
            self._client.ack(message.mid, message.qos)

    @property
    def redelivery_count(self) -> int:
        """The number of dropped messages, which the broker has to send again; 0 until the queue is empty."""
        return self._received.dropped_count if self._received.empty() else 0


class MqttIntake:
    """Intake that records the messages of displays.

    The broker keeps a session for the client ID. When the gateway reconnects, the broker delivers the messages that
    arrived while it was down. A message is acknowledged only after it is stored or refused.
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
        """Receive messages until cancelled, and reconnect after each lost connection."""
        attempt = 0
        while True:
            started_at = time.monotonic()
            try:
                await self._consume(runner)
            except MqttError as error:
                log.warning("The MQTT broker %s is unavailable: %s", self._broker, error)
                await self._record_heartbeat(runner, connected=False)
            except Exception:  # the supervisor: an exception must not stop the intake forever
                log.exception("The MQTT intake failed and reconnects")
            raise_if_cancelled()
            if time.monotonic() - started_at > self._backoff.max_seconds:
                attempt = 0
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            attempt += 1

    async def _consume(self, runner: Runner) -> None:
        """Receive messages until the connection is lost, or until a reconnect is needed to receive dropped messages."""
        async with MqttClient(self._broker, self._client_id, self._max_queued) as client:
            await self._subscribe(client)
            log.info("Receiving messages of displays from the MQTT broker %s", self._broker)
            async with self._heartbeats(runner):
                while not client.redelivery_count:
                    messages = await client.next_batch()
                    await self._record(runner, messages)
                    client.acknowledge(messages)
            log.warning(
                "%d messages arrived while the queue of %d messages and %d MiB was full; the broker sends those of "
                "QoS 1 again",
                client.redelivery_count,
                self._max_queued,
                MAX_QUEUED_BYTES // 2**20,
            )

    @asynccontextmanager
    async def _heartbeats(self, runner: Runner) -> AsyncIterator[None]:
        """Record heartbeats until the context exits."""
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
        """Record that the intake is connected or disconnected. The freshness of meters depends on it.

        An intake that was never connected does not record that it is disconnected.
        """
        if connected or self._connected:
            self._connected = connected
            try:
                await runner.run(
                    record_intake_heartbeat, self._principal, {"name": self._client_id, "connected": connected}
                )
            except GatewayError as error:
                log.info("The heartbeat of the MQTT intake could not be recorded: %s", error.message)
            except Exception:  # the supervisor: a heartbeat must not stop the intake
                log.exception("The heartbeat of the MQTT intake failed")

    async def _subscribe(self, client: MqttClient) -> None:
        granted = await client.subscribe([(topic, 1) for topic in self._topics])
        codes = [code if isinstance(code, int) else code.value for code in granted]
        refused = [topic for topic, code in zip(self._topics, codes, strict=True) if code >= FIRST_SUBACK_FAILURE]
        if len(refused) == len(self._topics):
            raise MqttError("it rejects all topics of WATTGATE_MQTT_TOPICS")
        if refused:
            log.warning("The MQTT broker %s rejects the topics %s", self._broker, ", ".join(refused))

    async def _record(self, runner: Runner, messages: Sequence[ReceivedMessage]) -> None:
        """Store the messages that can be parsed, and log the others."""
        parsed = []
        for message in messages:
            try:
                if message.payload is None:
                    raise MeterMessageError(TOO_LARGE)
                parsed.append(parse_message(message.topic, message.payload))
            except MeterMessageError as error:
                self._refusal_log.log_refusal(MessageRefusal(message.topic, str(error)), time.monotonic())
        if parsed:
            await self._store(runner, parsed)

    async def _store(self, runner: Runner, messages: Sequence[MeterMessage]) -> None:
        """Store messages. Retry while the database is unavailable.

        If the batch fails for another reason, halve it until the invalid message is isolated.
        """
        attempt = 0
        while True:
            try:
                result = await runner.run(record_meter_messages, self._principal, {"messages": messages})
            except GatewayError as error:
                if not error.retryable:
                    return await self._store_halves(runner, messages, error.message)
                log.warning("%d messages of displays could not be stored yet: %s", len(messages), error.message)
            except Exception:  # the supervisor: one message must not block the others
                log.exception("Storing messages of displays failed")
                return await self._store_halves(runner, messages, "an unexpected error has occurred")
            else:
                for refusal in result.refusals:
                    self._refusal_log.log_refusal(refusal, time.monotonic())
                return None
            raise_if_cancelled()
            await asyncio.sleep(self._backoff.delay_seconds(attempt))
            attempt += 1

    async def _store_halves(self, runner: Runner, messages: Sequence[MeterMessage], reason: str) -> None:
        """Store each half of a failed batch separately. Log a batch of one message as refused."""
        if len(messages) == 1:
            self._refusal_log.log_refusal(
                MessageRefusal(messages[0].hardware_id, "the message is not stored", reason), time.monotonic()
            )
            return
        middle = len(messages) // 2
        await self._store(runner, messages[:middle])
        await self._store(runner, messages[middle:])


def create_intake(settings: Settings) -> MqttIntake:
    """Create the intake for the broker of the settings."""
    return MqttIntake(
        ServerAddress.from_mqtt_url(settings.mqtt_url or ""),
        application_id=settings.mqtt_application_id or "",
        topics=settings.mqtt_topics,
        client_id=settings.mqtt_client_id,
    )


async def check_broker(settings: Settings) -> None:
    """Connect to the broker of the settings and disconnect. Raise MqttError if that fails.

    It uses no client ID, so that it does not replace the connection of a running gateway.
    """
    async with MqttClient(ServerAddress.from_mqtt_url(settings.mqtt_url or ""), None):
        pass


# A buffer between a socket and paho, which reads three to five times from the socket for each message.
#
# aiomqtt calls paho again while `pending()` of the socket is not 0, as it needs for TLS. So one event of the event
# loop handles all messages that have arrived, up to RECEIVE_BYTES and the rest of the last message.

RECEIVE_BYTES = 16 * 1024
"""Bytes of one read: the largest record of TLS, and some milliseconds of work for paho."""


class ReceiveBuffer:
    """A socket that reads up to RECEIVE_BYTES at once. Everything except `recv` and `pending` is the socket's own."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._received = b""
        self._position = 0
        self._reads_ahead = True
        """Whether the next read takes more than paho asks for. Only the first read of an event does."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        """Return up to `size` bytes. Errors of the socket, such as BlockingIOError, are raised as they are."""
        if self._position == len(self._received):
            self._received = self._socket.recv(RECEIVE_BYTES if self._reads_ahead else size)
            self._position, self._reads_ahead = 0, False
        start, self._position = self._position, min(self._position + size, len(self._received))
        return self._received[start : self._position]

    def pending(self) -> int:
        """Return the number of received bytes that are not read yet, with those that TLS has decoded."""
        decoded: int = self._socket.pending() if hasattr(self._socket, "pending") else 0
        count = len(self._received) - self._position + decoded
        if not count:
            self._reads_ahead = True
        return count


def buffer_received_bytes(client: Client) -> None:
    """Put a ReceiveBuffer between the client and each socket that it opens.

    paho has no public way to give it a socket. aiomqtt reads the same private attribute.
    """
    opened = client.on_socket_open

    def open_with_buffer(opened_client: Client, userdata: Any, socket: Any) -> None:
        opened_client._sock = ReceiveBuffer(socket)
        if opened is not None:
            opened(opened_client, userdata, socket)

    client.on_socket_open = open_with_buffer
