"""The intake from a real MQTT broker: displays' messages are stored, and each refused message is logged."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiomqtt
import pytest
from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport
from paho.mqtt.client import MQTTMessage
from sqlalchemy import Pool
from sqlalchemy.util import greenlet_spawn
from sqlmodel import col
from strawberry import ID

from tests.support.asking import with_rows
from tests.support.house import House, Tenant, house, operation, settle
from tests.support.metering import add_device
from tests.support.residents import resident
from tests.support.schema import bring_up
from tests.support.servers import Broker, Databases, Relay, broker, database_on
from tests.support.socket import socket
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.app.workers.mqtt_intake import MAX_LOGGED_KINDS, MAX_QUEUED_BYTES, MqttClient, MqttIntake, RefusalLog
from wattgate.clock import format_iso, utc_now
from wattgate.db.models import Intake, NetworkState, Resource
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_messages import MAX_PAYLOAD_BYTES, Measurement, MeterMessage
from wattgate.errors import BadInput
from wattgate.operations.accounts.users import delete_user
from wattgate.operations.moves.meter_point_moves import move_meter_point
from wattgate.operations.readings.meter_messages import MAX_MESSAGES, MessageRefusal, record_meter_messages
from wattgate.operations.tenancies.withdrawals import withdrawn_fields
from wattgate.operations.types.homes import resources as types
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.server_address import ServerAddress

SHORT_BACKOFF = Backoff(min_seconds=0.02, max_seconds=0.1)
FIELDS = {
    "electricity.consumption": {"POWER": "W", "REGISTER": "kWh", "RATE": "pence per kWh", "STANDING": "pence per day"},
    "electricity.export": {"REGISTER": "kWh"},
    "gas.consumption": {"VOLUME": "m3"},
}


async def wait_for(condition: Callable[[], Any]) -> Any:
    """Wait up to 60 seconds until a condition, which may be asynchronous, is true. Return its result."""
    async with asyncio.timeout(60):
        while True:
            result = condition()
            result = await result if asyncio.iscoroutine(result) else result
            if result:
                return result
            await asyncio.sleep(0.02)


class Display:
    """A display of a tenant, with the IDs of the resources that it feeds by classifier."""

    def __init__(self, tenant: Tenant, hardware_id: str, device_id: str, resource_ids: dict[str, str]) -> None:
        self.tenant, self.hardware_id, self.device_id = tenant, hardware_id, device_id
        self.resource_ids = resource_ids

    async def stored(self, classifier: str, field: str) -> list[float]:
        arguments = {"resource_id": self.resource_ids[classifier], "field": field}
        series = await self.tenant.gateway.runner.run(operation("raw_readings"), self.tenant.account, arguments)
        return list(series.value)

    async def power(self) -> list[float]:
        return await self.stored("electricity.consumption", "POWER")


async def display_of(tenant: Tenant, decimals: int = 3, mpxn: str | None = None) -> Display:
    """Add a display and resources with all fields that displays send, at a meter point if it is given."""
    resource_ids = {}
    for classifier, fields in FIELDS.items():
        storage = types.NewStorageDefinition(
            type="timeseries",
            sampling="irregular",
            start="2014-01-06T00:00:00+00:00",
            fields=[
                types.NewStorageField(
                    field_name=name, unit=unit, datatype=f"fixedpoint({decimals})", negative=name == "POWER"
                )
                for name, unit in fields.items()
            ],
        )
        new_type = types.NewResourceType(name="live", classifier=classifier, storage=[storage])
        type_id = (await tenant.run("add_resource_type", input=new_type)).resource_type_id
        new_resource = types.NewResource(resource_type_id=ID(type_id), name=classifier, mpxn=mpxn)
        resource_ids[classifier] = str((await tenant.run("add_resource", input=new_resource)).resource_id)
    device = await tenant.run("device", device_id=await add_device(tenant, *resource_ids.values()))
    return Display(tenant, device.hardware_id, device.device_id, resource_ids)


def electricity_message(watts: float, at: datetime) -> bytes:
    """Return an electricity message of a display. Each message of a test needs another second."""
    meter = {
        "timestamp": at.isoformat().replace("+00:00", "Z"),
        "energy": {
            "export": {"cumulative": 12.5, "units": "kWh"},
            "import": {"cumulative": 15254.8276, "units": "kWh", "price": {"unitrate": 0.16401, "standingcharge": 0}},
        },
        "power": {"value": watts / 1000, "units": "kW"},
    }
    return json.dumps({"electricitymeter": meter}).encode()


def state_message(at: datetime) -> bytes:
    han = {"rssi": -88, "status": "joined", "lqi": 48}
    return json.dumps({"timestamp": at.isoformat(), "software": "v2.0.2", "han": han}).encode()


def recent_instants(count: int) -> list[datetime]:
    """Return `count` instants, one second apart. The last one is now."""
    now = utc_now().replace(microsecond=0)
    return [now - timedelta(seconds=count - 1 - n) for n in range(count)]


async def publish(target: Broker, *messages: tuple[str, bytes]) -> None:
    async with aiomqtt.Client("127.0.0.1", target.port, username="display") as client:
        for topic, payload in messages:
            await client.publish(topic, payload, qos=1)


@pytest.fixture(scope="session")
async def connected(databases: Databases) -> AsyncIterator[tuple[House, Broker]]:
    """A served gateway on each engine that receives messages from a broker."""
    async with databases() as url, broker() as server, house(url, server.url) as house_with_intake:
        await wait_for(lambda: "wattgate" in server.subscribed)
        yield house_with_intake, server


async def test_published_measurements_are_served_over_graphql(connected: tuple[House, Broker]) -> None:
    served, server = connected
    display = await display_of(served.one)
    (at,) = recent_instants(1)
    mac_address = ":".join(display.hardware_id[n : n + 2] for n in range(0, 12, 2)).lower()
    await publish(
        server,
        (f"glow/{mac_address}/SENSOR/electricitymeter", electricity_message(425, at)),
        (f"glow/{display.hardware_id}/STATE", state_message(at)),
    )
    query = """query ($id: ID!) { device(deviceId: $id) {
        networkState { software hardware smetsVersion rssi lqi status at }
        status { status lastPacketAt }
        resources { classifier current { field unit value at } } } }"""

    async def load_device() -> Any:
        answer = await served.graphql(query, served.one.headers["account"], id=display.device_id)
        device = answer["data"]["device"]
        return (
            device if device["networkState"] and any(resource["current"] for resource in device["resources"]) else None
        )

    device = await wait_for(load_device)
    assert device["networkState"] == {
        "software": "v2.0.2",
        "hardware": None,
        "smetsVersion": None,
        "rssi": -88,
        "lqi": 48,
        "status": "joined",
        "at": format_iso(at),
    }
    assert device["status"]["status"] == "LIVE"
    (current,) = [
        resource["current"] for resource in device["resources"] if resource["classifier"] == "electricity.consumption"
    ]
    assert (current["field"], current["unit"], current["value"]) == ("POWER", "W", 425)
    assert await display.stored("electricity.consumption", "REGISTER") == [
        15254.828
    ]  # rounded to the 3 decimals of the field
    assert await display.stored("electricity.consumption", "RATE") == [16.401]
    assert (
        await display.stored("electricity.consumption", "STANDING") == []
    )  # displays send zero while the value is unknown
    assert await display.stored("electricity.export", "REGISTER") == [12.5]
    rest = (await served.call("GET", f"/device/{display.device_id}", served.one.headers["account"])).json()
    assert "networkState" not in rest


async def readings_of(display: Display) -> int:
    """Return how many readings the resources of a display have."""
    ids = [*display.resource_ids.values()]

    async def count(rows: Rows) -> int:
        resources = await rows.all(Resource, col(Resource.resource_id).in_(ids))
        return await rows.readings.count_since(withdrawn_fields(resources), 0)

    return int(await with_rows(display.tenant, count))


async def test_published_messages_go_to_the_household_of_their_instant(connected: tuple[House, Broker]) -> None:
    """Ada moves out and Bob in, who is then erased. A message from before Bob had the display is not his.

    The message of another display shows that the intake has stored all messages before it.
    """
    served, server = connected
    ada, bob = await resident(served.one), await resident(served.one)
    mpxn, now = str(uuid4().int)[:13], utc_now().replace(microsecond=0)
    moved_in, old = now - timedelta(minutes=2), await display_of(ada, mpxn=mpxn)
    topics = [f"glow/{old.hardware_id}/{name}" for name in ("SENSOR/electricitymeter", "STATE")]

    async def send(watts: float, at: datetime, after: datetime) -> None:
        """Publish a power and a state, then the power of another display, and wait for that."""
        other = await display_of(served.one)
        messages = zip(topics, (electricity_message(watts, at), state_message(at)), strict=True)
        marker = f"glow/{other.hardware_id}/SENSOR/electricitymeter", electricity_message(9, after)
        await publish(server, *messages, marker)
        await wait_for(other.power)

    await send(1, moved_in - timedelta(minutes=2), now)
    arguments = {"mpxn": mpxn, "user_id": ID(bob.user_id), "moved_in_at": moved_in}
    system = replace(served.one.system, user_id=None)
    moved = await served.gateway.runner.run(move_meter_point, system, arguments)
    successors = {one.resource_id: one.successor_id for one in moved.resources}
    resource_ids = {classifier: str(successors[one]) for classifier, one in old.resource_ids.items()}
    (device,) = moved.devices
    new = Display(bob, old.hardware_id, str(device.successor_id), resource_ids)
    await send(2, moved_in - timedelta(minutes=1), now)
    assert (await old.power(), await new.power()) == ([1], [])
    assert (await bob.run("device", device_id=new.device_id)).network_state is None
    await send(3, utc_now(), now)
    assert (await old.power(), await new.power()) == ([1], [3])
    assert (await ada.run("device", device_id=old.device_id)).network_state.at < moved_in
    of_ada, of_bob = await readings_of(old), await readings_of(new)
    await served.gateway.runner.run(delete_user, system, {"user_id": ID(bob.user_id)})
    await send(4, utc_now(), now)
    assert await readings_of(old) == of_ada
    assert await readings_of(new) <= of_bob  # the worker may have begun the erasure


async def test_published_registers_are_meter_reads(connected: tuple[House, Broker]) -> None:
    served, server = connected
    display = await display_of(served.one)
    (at,) = recent_instants(1)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    await publish(server, (topic, electricity_message(425, at)))
    for classifier, value in (("electricity.consumption", 15254.828), ("electricity.export", 12.5)):
        path = f"/resource/{display.resource_ids[classifier]}/meterread"

        async def read_meter(path: str = path) -> Any:
            answer = await served.call("GET", path, served.one.headers["account"])
            return answer.json() if answer.status_code == 200 else None

        read = await wait_for(read_meter)
        assert (read["data"], read["units"]) == ([[int(at.timestamp()), value]], "kWh")


async def test_live_subscriber_receives_power(connected: tuple[House, Broker]) -> None:
    served, server = connected
    display = await display_of(served.one)
    transport = WebsocketsTransport(
        url=served.url.replace("http", "ws") + "/graphql", init_payload=served.one.headers["account"]
    )
    subscription = gql("subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { field unit value } }")
    subscription.variable_values = {"ids": [display.resource_ids["electricity.consumption"]]}
    async with Client(transport=transport) as session:
        received = asyncio.create_task(_first_power(session.subscribe(subscription)))
        instants = iter(recent_instants(500))
        while not received.done():  # messages published before the subscription starts do not reach it
            await publish(
                server, (f"glow/{display.hardware_id}/SENSOR/electricitymeter", electricity_message(77, next(instants)))
            )
            await asyncio.sleep(0.02)
    assert received.result() == {"field": "POWER", "unit": "W", "value": 77}


async def test_display_state_is_sent_to_subscribers(connected: tuple[House, Broker]) -> None:
    served, server = connected
    display = await display_of(served.one)
    query = """subscription ($ids: [ID!]!) {
        deviceStates(deviceIds: $ids) { deviceId freshness { state } networkState { rssi status } } }"""
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        await client.subscribe(query, ids=[display.device_id])
        silent = {"deviceId": display.device_id, "freshness": {"state": "OFFLINE"}, "networkState": None}
        assert (await client.payload())["data"]["deviceStates"] == [silent]
        await publish(server, (f"glow/{display.hardware_id}/STATE", state_message(utc_now())))
        (state,) = (await client.payload())["data"]["deviceStates"]
        assert (state["freshness"]["state"], state["networkState"]) == ("LIVE", {"rssi": -88, "status": "joined"})


async def _first_power(payloads: Any) -> Any:
    async for payload in payloads:
        if payload["readings"]["field"] == "POWER":
            break
    return payload["readings"]


@asynccontextmanager
async def running_intake(tenant: Tenant, server: Broker, **changed: Any) -> AsyncIterator[None]:
    """Run an intake with its own client ID."""
    options = {
        "topics": ["glow/+/STATE", "glow/+/SENSOR/+", "SMART/+/+"],
        "client_id": "intake",
        "backoff": SHORT_BACKOFF,
    }
    intake = MqttIntake(
        ServerAddress.from_mqtt_url(server.url), application_id=tenant.application_id, **{**options, **changed}
    )
    task = asyncio.create_task(intake.run(tenant.gateway.runner))
    try:
        await wait_for(lambda: "intake" in server.subscribed)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def server() -> AsyncIterator[Broker]:
    async with broker() as broker_server:
        yield broker_server


async def test_intake_reconnects_when_broker_returns(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    display = await display_of(connected[0].one)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    first, second = recent_instants(2)
    async with running_intake(display.tenant, server):
        await publish(server, (topic, electricity_message(1, first)))
        await wait_for(display.power)
        await server.stop()
        await wait_for(lambda: "is unavailable" in caplog.text)
        await server.start()
        await wait_for(lambda: "intake" in server.subscribed)
        await publish(server, (topic, electricity_message(2, second)))
        await wait_for(lambda: _has_power(display, [1, 2]))


async def test_intake_records_heartbeat_and_lost_broker(connected: tuple[House, Broker], server: Broker) -> None:
    tenant = connected[0].other

    async def connected_flags() -> list[bool]:
        intakes = await with_rows(tenant, lambda rows: rows.all(Intake, col(Intake.name) == "intake"))
        return [intake.connected for intake in intakes]

    async with running_intake(tenant, server):
        await wait_for(lambda: _returns(connected_flags, [True]))
        await server.stop()
        await wait_for(lambda: _returns(connected_flags, [False]))
        await server.start()
        await wait_for(lambda: _returns(connected_flags, [True]))


async def _returns(load: Callable[[], Any], expected: Any) -> bool:
    return bool(await load() == expected)


async def _has_power(display: Display, values: list[float]) -> bool:
    return await display.power() == values


async def test_invalid_and_foreign_messages_are_logged_and_others_stored(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    display = await display_of(connected[0].one)
    elsewhere = await display_of(connected[0].other)
    first, second = recent_instants(2)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"

    def logged(text: str) -> bool:
        return text in caplog.text

    async with running_intake(display.tenant, server):
        await publish(
            server,
            (topic, b"\x00garbage"),
            (f"glow/{elsewhere.hardware_id}/SENSOR/electricitymeter", electricity_message(3, first)),
            (topic, electricity_message(4, first)),
            (topic, electricity_message(5, utc_now() + timedelta(days=1))),
            (f"glow/{display.hardware_id}/SENSOR/watermeter", b"{}"),
            (topic, electricity_message(6, second)),
        )
        await wait_for(lambda: _has_power(display, [4, 6]))
        for text in (
            "the message is not JSON",
            "no active device has this hardware id",
            "is in the future",
            "unknown topic: displays do not publish on it",
        ):
            await wait_for(partial(logged, text))  # refusals are logged after the other messages are stored
    assert await elsewhere.power() == []
    refused = [record for record in caplog.records if "is in the future" in record.getMessage()]
    assert len(refused) == 4  # power, register and rate of import, and the register of export: one line for each


class Outage:
    """Simulate an outage of a tenant's database."""

    def __init__(self, tenant: Tenant, relay: Relay | None) -> None:
        self._tenant, self._relay = tenant, relay
        self._folder = Path(tenant.gateway.database.url.database or "").parent
        self._lost: Pool | None = None

    async def begin(self) -> None:
        if self._relay is not None:
            await self._relay.cut()
        else:
            database = self._tenant.gateway.database
            self._lost = database.engine.pool
            await database.close()
            self._folder.rename(self._folder.with_name("away"))

    async def end(self) -> None:
        if self._relay is not None:
            await self._relay.open()
        else:
            self._folder.with_name("away").rename(self._folder)

    async def forget(self) -> None:
        """Close the connections that were in use when the outage began."""
        if self._lost is not None:
            await greenlet_spawn(self._lost.dispose)


@pytest.fixture(params=["sqlite", "postgresql"])
async def outage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Display, Outage]]:
    """A display on a database of each engine, and a simulated outage of the database."""
    async with AsyncExitStack() as stack:
        relay = None
        if request.param == "sqlite":
            (tmp_path / "here").mkdir()
            url = f"sqlite:///{tmp_path / 'here' / 'test.sqlite3'}"
        else:
            relay = Relay(await stack.enter_async_context(database_on(request.getfixturevalue("postgresql_url"))))
            await relay.open()
            stack.push_async_callback(relay.cut)
            url = relay.url
        gateway = build_gateway(Settings(_env_file=None, database_url=url))
        stack.push_async_callback(gateway.database.close)
        await bring_up(gateway.database)
        tenant = await settle(gateway, "one")
        database_outage = Outage(tenant, relay)
        stack.push_async_callback(database_outage.forget)
        yield await display_of(tenant), database_outage


async def test_messages_are_stored_after_database_outage(
    outage: tuple[Display, Outage], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    display, database = outage
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    instants = recent_instants(30)
    async with running_intake(display.tenant, server):
        await database.begin()
        await publish(server, *((topic, electricity_message(n, at)) for n, at in enumerate(instants)))
        await wait_for(lambda: "messages of displays could not be stored yet" in caplog.text)
        assert server.unacknowledged("intake") > 0
        await database.end()
        await wait_for(lambda: _has_power(display, [float(n) for n in range(30)]))
        await wait_for(lambda: server.unacknowledged("intake") == 0)


async def test_message_that_breaks_gathered_batch_does_not_affect_others(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch is refused as a whole if the time of one reading is not retained, and then stored in parts."""
    display, neighbour = await display_of(connected[0].one), await display_of(connected[0].one)
    elsewhere = await display_of(connected[0].other)
    type_id = (
        await display.tenant.run("resource", resource_id=neighbour.resource_ids["electricity.consumption"])
    ).resource_type_id
    await display.tenant.run("set_retention", resource_type_id=type_id, retention_days=7)
    *instants, last = recent_instants(41)
    topics = [f"glow/{one.hardware_id}/SENSOR/electricitymeter" for one in (display, neighbour, elsewhere)]
    messages = [(topics[n % 3], electricity_message(n, at)) for n, at in enumerate(instants)]
    messages[20:20] = [(topics[1], electricity_message(5, last - timedelta(days=30))), (topics[0], b"garbage")]
    async with running_intake(display.tenant, server):
        await publish(server, *messages)
        await wait_for(lambda: _has_power(display, [float(n) for n in range(40) if n % 3 == 0]))
        await wait_for(lambda: _has_power(neighbour, [float(n) for n in range(40) if n % 3 == 1]))
        await wait_for(lambda: server.unacknowledged("intake") == 0)
    assert await elsewhere.power() == []
    lines = refusals_in(caplog)
    (line,) = [line for line in lines if "the message is not stored: " in line]
    assert line.startswith(f"Display {neighbour.hardware_id!r}: the message is not stored: 3 readings are invalid")
    assert sum("no active device has this hardware id" in line for line in lines) == 1


@pytest.mark.long("stops and starts the gateway; the intake of messages stays in the short form")
async def test_messages_during_gateway_downtime_are_delivered_later(
    connected: tuple[House, Broker], server: Broker
) -> None:
    display = await display_of(connected[0].one)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    instants = recent_instants(5)
    async with running_intake(display.tenant, server):
        pass
    await wait_for(lambda: "intake" not in server.subscribed)  # it drops messages that a connected client does not take
    await publish(server, *((topic, electricity_message(n, at)) for n, at in enumerate(instants)))
    async with running_intake(display.tenant, server):
        await wait_for(lambda: _has_power(display, [float(n) for n in range(5)]))


async def test_intake_reconnects_after_queue_overflow(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "wattgate.app.workers.mqtt_intake")
    display = await display_of(connected[0].one)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    *instants, last = recent_instants(21)
    async with running_intake(display.tenant, server, max_queued=2):
        await publish(server, *((topic, electricity_message(n, at)) for n, at in enumerate(instants)))
        await wait_for(
            lambda: "arrived while the queue of 2 messages and 32 MiB was full; the broker sends" in caplog.text
        )
        await wait_for(lambda: caplog.text.count("Receiving messages of displays from the MQTT broker") >= 2)
        await publish(server, (topic, electricity_message(99, last)))
        await wait_for(lambda: _ends_with(display, 99))


def arrive(client: MqttClient, payload: bytes) -> None:
    """Let a message arrive, as the MQTT library reports it."""
    message = MQTTMessage(1, b"glow/0102030405060708/STATE")
    message.payload, message.qos = payload, 1
    assert client._client.on_message is not None
    client._client.on_message(client._client, None, message)


async def test_queue_of_large_messages_is_bounded_by_their_bytes() -> None:
    """It has room again when messages are taken out."""
    client = MqttClient(ServerAddress("127.0.0.1", 1, tls=False, username=None, password=None), "intake")
    for _ in range(1_000):
        arrive(client, bytes(MAX_PAYLOAD_BYTES))
    queue = client._received
    held = queue.qsize()
    assert held * MAX_PAYLOAD_BYTES <= MAX_QUEUED_BYTES + MAX_PAYLOAD_BYTES
    assert queue.dropped_count == 1_000 - held
    while not queue.empty():
        queue.get_nowait()
    arrive(client, b"{}")
    assert queue.qsize() == 1


async def test_message_that_is_too_large_is_queued_without_its_payload() -> None:
    client = MqttClient(ServerAddress("127.0.0.1", 1, tls=False, username=None, password=None), "intake")
    for size in (MAX_PAYLOAD_BYTES + 1, MAX_PAYLOAD_BYTES):
        arrive(client, bytes(size))
    queued = [client._received.get_nowait() for _ in range(2)]
    assert [len(message.payload or b"") for message in queued] == [0, MAX_PAYLOAD_BYTES]


async def test_message_that_is_too_large_is_refused_and_acknowledged(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    display = await display_of(connected[0].one)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    (at,) = recent_instants(1)
    async with running_intake(display.tenant, server):
        await publish(server, (topic, bytes(MAX_PAYLOAD_BYTES + 1)), (topic, electricity_message(7, at)))
        await wait_for(lambda: _ends_with(display, 7))
    assert "the message has more than 65,536 bytes" in caplog.text


async def _ends_with(display: Display, value: float) -> bool:
    return (await display.power())[-1:] == [value]


@pytest.mark.parametrize("url", ["localhost", "redis://localhost", "mqtt://", "mqtt://localhost/1", "mqtt://h?tls=no"])
def test_invalid_broker_url_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match="Write one such as mqtt://"):
        ServerAddress.from_mqtt_url(url)


def test_broker_address_has_credentials_and_hides_password() -> None:
    address = ServerAddress.from_mqtt_url("mqtts://gate:pass%40word@broker.example/")
    assert (address.host, address.port, address.tls) == ("broker.example", 8883, True)
    assert (address.username, address.password) == ("gate", "pass@word")
    assert "pass@word" not in f"{address} {address!r}"
    assert not ServerAddress.from_mqtt_url("mqtt://broker.example").tls


def start_refused_intake(served: House, server: Broker) -> asyncio.Task[None]:
    """Start an intake without a user name, which the broker refuses."""
    stranger = ServerAddress("127.0.0.1", server.port, tls=False, username=None, password=None)
    intake = MqttIntake(stranger, application_id="any", topics=["#"], client_id="intake", backoff=SHORT_BACKOFF)
    return asyncio.create_task(intake.run(served.gateway.runner))


async def test_refused_broker_connection_is_logged_and_retried(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    task = start_refused_intake(connected[0], server)
    await wait_for(lambda: caplog.text.count(f"The MQTT broker 127.0.0.1:{server.port} is unavailable") > 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_intake_ends_if_it_is_cancelled_while_the_broker_refuses_it(
    connected: tuple[House, Broker], server: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`asyncio.wait_for` of Python 3.11 drops a cancellation that arrives together with the refusal."""
    task = start_refused_intake(connected[0], server)
    answers: list[tuple[Any, ...]] = []
    receive_answer = aiomqtt.Client._on_connect

    def receive_and_cancel(client: aiomqtt.Client, *arguments: Any) -> None:
        receive_answer(client, *arguments)
        if not answers:
            task.cancel()
        answers.append(arguments)

    monkeypatch.setattr(aiomqtt.Client, "_on_connect", receive_and_cancel)
    await asyncio.wait({task}, timeout=20)
    assert task.cancelled()
    assert len(answers) == 1


def message(display: Display, at: datetime, *values: tuple[str, str], **more: Any) -> MeterMessage:
    measured = tuple(Measurement("electricity.consumption", field, Decimal(value), "W") for field, value in values)
    return MeterMessage(display.hardware_id, at, measured, **more)


async def record_messages(display: Display, *messages: MeterMessage) -> Any:
    return await display.tenant.gateway.runner.run(record_meter_messages, display.tenant.system, {"messages": messages})


async def test_invalid_value_does_not_affect_rest_of_batch(connected: tuple[House, Broker]) -> None:
    display = await display_of(connected[0].one, decimals=0)
    old = datetime(2001, 1, 1, tzinfo=UTC)
    one, two = recent_instants(2)
    result = await record_messages(
        display,
        message(display, one, ("POWER", "2.5"), ("UNHEARD", "7"), problems=("something is odd",)),
        message(display, old, ("POWER", "1")),
        message(display, two, ("POWER", "3.5"), ("REGISTER", "5")),
        MeterMessage("FFFFFFFFFFFF", one),
    )
    assert result.recorded == 2
    assert await display.power() == [2, 4]  # half to even
    assert [refusal.kind for refusal in result.refusals] == [
        "something is odd",
        "electricity.consumption POWER is not stored",
        "electricity.consumption REGISTER is not stored",
        "no active device has this hardware id",
    ]
    assert result.refusals[2].reason.endswith("is not stored: the field is in kWh, but the display measures in W")


async def test_message_that_breaks_batch_is_isolated_and_logged(
    connected: tuple[House, Broker], caplog: pytest.LogCaptureFixture
) -> None:
    display = await display_of(connected[0].one)
    tenant = display.tenant
    valid = [message(display, at, ("POWER", f"{n}")) for n, at in enumerate(recent_instants(5))]
    broken: Any = None  # a value that the message parser never returns
    invalid = [MeterMessage(display.hardware_id, utc_now(), (broken,)), MeterMessage("A\0B", utc_now())]
    intake = MqttIntake(
        ServerAddress.from_mqtt_url("mqtt://nowhere"),
        application_id=tenant.application_id,
        topics=["#"],
        client_id="none",
    )
    await intake._store(tenant.gateway.runner, [*valid[:2], invalid[0], valid[2], invalid[1], *valid[3:]])
    assert await display.power() == [0, 1, 2, 3, 4]
    assert "an unexpected error has occurred" in caplog.text
    assert caplog.text.count(f"Display {invalid[1].hardware_id!r}: ") == 1


async def test_batch_of_messages_may_exceed_readings_limit(connected: tuple[House, Broker]) -> None:
    tenant = connected[0].one
    resource_ids = [await tenant.add_resource() for _ in range(11)]
    device = await tenant.run("device", device_id=await add_device(tenant, *resource_ids))
    power = (Measurement("electricity.consumption", "POWER", Decimal(1), "W"),)
    messages = [MeterMessage(device.hardware_id, at, power) for at in recent_instants(MAX_MESSAGES)]
    arguments = {"messages": messages}
    result = await tenant.gateway.runner.run(record_meter_messages, tenant.system, arguments)
    assert result.recorded == 11 * MAX_MESSAGES
    with pytest.raises(BadInput, match="at most 1,000 messages"):
        await tenant.gateway.runner.run(record_meter_messages, tenant.system, {"messages": [*messages, messages[0]]})


async def test_last_value_of_same_instant_is_stored(connected: tuple[House, Broker]) -> None:
    display = await display_of(connected[0].one)
    (at,) = recent_instants(1)
    for expected in (1, 1):  # the second time as a redelivery, after a lost acknowledgement
        result = await record_messages(
            display, message(display, at, ("POWER", "2")), message(display, at, ("POWER", "1"))
        )
        assert (result.recorded, result.refusals) == (expected, [])
    assert await display.power() == [1]


async def test_newest_display_state_is_kept_without_updating_device_record(
    connected: tuple[House, Broker],
) -> None:
    display = await display_of(connected[0].one)
    before = await display.tenant.run("device", device_id=display.device_id)
    assert (before.network_state, before.heard_at) == (None, None)
    one, two, three = recent_instants(3)

    async def record_states(*instants: datetime) -> Any:
        states = [NetworkState(at=at, rssi=-at.second) for at in instants]
        result = await record_messages(display, *(message(display, state.at, network_state=state) for state in states))
        return result, await display.tenant.run("device", device_id=display.device_id)

    for instants, newest in (((two,), two), ((one,), two), ((three, one), three)):
        result, device = await record_states(*instants)
        assert (device.heard_at, device.network_state.at, device.network_state.rssi) == (newest, newest, -newest.second)
        assert device.updated_at == before.updated_at
        assert result.refusals == []
    result, device = await record_states(utc_now() + timedelta(hours=1))
    assert device.heard_at == three
    assert [refusal.reason for refusal in result.refusals] == ["the device state is in the future"]


def test_refusal_log_repeats_each_kind_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    refusal_log = RefusalLog()
    for second in range(130):
        refusal_log.log_refusal(MessageRefusal("A", "not stored", f"{second} is too much"), second)
    refusal_log.log_refusal(MessageRefusal("A", "odd"), 130)
    refusal_log.log_refusal(MessageRefusal("B", "not stored", "130 is too much"), 130)
    assert [record.getMessage() for record in caplog.records] == [
        "Display 'A': not stored: 0 is too much",
        "Display 'A': not stored: 60 is too much (59 more since the last such line)",
        "Display 'A': not stored: 120 is too much (59 more since the last such line)",
        "Display 'A': odd (9 more since the last such line)",
        "Display 'B': not stored: 130 is too much",
    ]


def test_refusal_log_has_limit_of_kinds(caplog: pytest.LogCaptureFixture) -> None:
    refusal_log = RefusalLog()
    for n in range(5 * MAX_LOGGED_KINDS):
        refusal_log.log_refusal(MessageRefusal(uuid4().hex, "unknown", f"{n}"), 0)
    assert len(refusals_in(caplog)) == MAX_LOGGED_KINDS
    refusal_log.log_refusal(MessageRefusal("A", "later"), 60)
    assert refusals_in(caplog)[-1].endswith("later (4,000 more since the last such line)")


def refusals_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the logged refusals. Other gateways of the process log meanwhile that this test blocks their loop."""
    name = "wattgate.app.workers.mqtt_intake"
    return [record.getMessage() for record in caplog.records if record.name == name]


def test_backoff_delay_is_random_up_to_doubling_limit() -> None:
    for attempt, max_delay in ((0, 1), (3, 8), (6, 60), (10_000, 60)):
        delays = [Backoff().delay_seconds(attempt) for _ in range(200)]
        assert 0 <= min(delays) < max_delay / 2 < max(delays) <= max_delay
