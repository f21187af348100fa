"""The intake from a real MQTT broker: what displays publish is served, and nothing is lost on the way unsaid."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
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
from sqlalchemy import Pool
from sqlalchemy.util import greenlet_spawn
from sqlmodel import col
from strawberry import ID

from tests.support.asking import with_rows
from tests.support.house import House, Tenant, house, operation, settle
from tests.support.metering import add_device
from tests.support.schema import bring_up
from tests.support.servers import Broker, Databases, Relay, broker, database_on
from tests.support.socket import socket
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.app.workers.mqtt_intake import MAX_LOGGED_KINDS, MqttIntake, RefusalLog
from wattgate.clock import format_iso, utc_now
from wattgate.db.models import Intake, NetworkState
from wattgate.energy.meter_messages import Measurement, MeterMessage
from wattgate.errors import BadInput
from wattgate.graphql.resolvers.meter_messages import MAX_MESSAGES, MessageRefusal, record_meter_messages
from wattgate.graphql.types import resources as types
from wattgate.realtime.backoff import Backoff
from wattgate.realtime.server_address import ServerAddress

QUICKLY = Backoff(min_seconds=0.02, max_seconds=0.1)
FIELDS = {
    "electricity.consumption": {"POWER": "W", "REGISTER": "kWh", "RATE": "pence per kWh", "STANDING": "pence per day"},
    "electricity.export": {"REGISTER": "kWh"},
    "gas.consumption": {"VOLUME": "m3"},
}


async def until(condition: Callable[[], Any]) -> Any:
    """Wait, and not for ever, until something is so; a condition may have to be awaited."""
    async with asyncio.timeout(20):
        while True:
            found = condition()
            found = await found if asyncio.iscoroutine(found) else found
            if found:
                return found
            await asyncio.sleep(0.02)


class Display:
    """A display of a tenant's, with the resources that it feeds by classifier."""

    def __init__(self, tenant: Tenant, hardware_id: str, device_id: str, resource_ids: dict[str, str]) -> None:
        self.tenant, self.hardware_id, self.device_id = tenant, hardware_id, device_id
        self.resource_ids = resource_ids

    async def stored(self, classifier: str, field: str) -> list[float]:
        given = {"resource_id": self.resource_ids[classifier], "field": field}
        found = await self.tenant.gateway.runner.run(operation("raw_readings"), self.tenant.account, given)
        return list(found.value)

    async def power(self) -> list[float]:
        return await self.stored("electricity.consumption", "POWER")


async def display_of(tenant: Tenant, decimals: int = 3) -> Display:
    """A new display, whose resource types have the fields that displays fill."""
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
        kind = types.NewResourceType(name="live", classifier=classifier, storage=[storage])
        type_id = (await tenant.run("add_resource_type", input=kind)).resource_type_id
        given = types.NewResource(resource_type_id=ID(type_id), name=classifier)
        resource_ids[classifier] = str((await tenant.run("add_resource", input=given)).resource_id)
    device = await tenant.run("device", device_id=await add_device(tenant, *resource_ids.values()))
    return Display(tenant, device.hardware_id, device.device_id, resource_ids)


def electricity(watts: float, at: datetime) -> bytes:
    """A message of a display; each one of another second."""
    meter = {
        "timestamp": at.isoformat().replace("+00:00", "Z"),
        "energy": {
            "export": {"cumulative": 12.5, "units": "kWh"},
            "import": {"cumulative": 15254.8276, "units": "kWh", "price": {"unitrate": 0.16401, "standingcharge": 0}},
        },
        "power": {"value": watts / 1000, "units": "kW"},
    }
    return json.dumps({"electricitymeter": meter}).encode()


def state(at: datetime) -> bytes:
    han = {"rssi": -88, "status": "joined", "lqi": 48}
    return json.dumps({"timestamp": at.isoformat(), "software": "v2.0.2", "han": han}).encode()


def a_while_ago(count: int) -> list[datetime]:
    """So many instants, a second apart, the last of them now."""
    now = utc_now().replace(microsecond=0)
    return [now - timedelta(seconds=count - 1 - n) for n in range(count)]


async def publish(to: Broker, *messages: tuple[str, bytes]) -> None:
    async with aiomqtt.Client("127.0.0.1", to.port, username="display") as client:
        for topic, payload in messages:
            await client.publish(topic, payload, qos=1)


@pytest.fixture(scope="session")
async def connected(databases: Databases) -> AsyncIterator[tuple[House, Broker]]:
    """A served gateway on each engine that takes messages from a broker."""
    async with databases() as url, broker() as server, house(url, server.url) as made:
        await until(lambda: "wattgate" in server.subscribed)
        yield made, server


async def test_what_a_display_publishes_is_served_over_graphql(connected: tuple[House, Broker]) -> None:
    served, server = connected
    display = await display_of(served.one)
    (at,) = a_while_ago(1)
    spelt = ":".join(display.hardware_id[n : n + 2] for n in range(0, 12, 2)).lower()
    await publish(
        server,
        (f"glow/{spelt}/SENSOR/electricitymeter", electricity(425, at)),
        (f"glow/{display.hardware_id}/STATE", state(at)),
    )
    query = """query ($id: ID!) { device(deviceId: $id) {
        networkState { software hardware smetsVersion rssi lqi status at }
        status { status lastPacketAt }
        resources { classifier current { field unit value at } } } }"""

    async def told() -> Any:
        answer = await served.graphql(query, served.one.headers["account"], id=display.device_id)
        device = answer["data"]["device"]
        return device if device["networkState"] and any(one["current"] for one in device["resources"]) else None

    device = await until(told)
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
    (current,) = [one["current"] for one in device["resources"] if one["classifier"] == "electricity.consumption"]
    assert (current["field"], current["unit"], current["value"]) == ("POWER", "W", 425)
    assert await display.stored("electricity.consumption", "REGISTER") == [15254.828]  # rounded: the field has 3 places
    assert await display.stored("electricity.consumption", "RATE") == [16.401]
    assert await display.stored("electricity.consumption", "STANDING") == []  # zero is told before it is known
    assert await display.stored("electricity.export", "REGISTER") == [12.5]
    rest = (await served.call("GET", f"/device/{display.device_id}", served.one.headers["account"])).json()
    assert "networkState" not in rest


async def test_a_live_subscriber_gets_the_power(connected: tuple[House, Broker]) -> None:
    served, server = connected
    display = await display_of(served.one)
    transport = WebsocketsTransport(
        url=served.url.replace("http", "ws") + "/graphql", init_payload=served.one.headers["account"]
    )
    subscription = gql("subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { field unit value } }")
    subscription.variable_values = {"ids": [display.resource_ids["electricity.consumption"]]}
    async with Client(transport=transport) as session:
        received = asyncio.create_task(_first_power(session.subscribe(subscription)))
        instants = iter(a_while_ago(500))
        while not received.done():  # what is published before the subscription stands is not for it
            await publish(
                server, (f"glow/{display.hardware_id}/SENSOR/electricitymeter", electricity(77, next(instants)))
            )
            await asyncio.sleep(0.02)
    assert received.result() == {"field": "POWER", "unit": "W", "value": 77}


async def test_what_a_display_says_of_itself_is_told_to_whoever_follows_it(connected: tuple[House, Broker]) -> None:
    served, server = connected
    display = await display_of(served.one)
    query = """subscription ($ids: [ID!]!) {
        deviceStates(deviceIds: $ids) { deviceId freshness { state } networkState { rssi status } } }"""
    async with socket(served.url) as client:
        await client.init(**served.one.headers["account"])
        await client.subscribe(query, ids=[display.device_id])
        silent = {"deviceId": display.device_id, "freshness": {"state": "OFFLINE"}, "networkState": None}
        assert (await client.payload())["data"]["deviceStates"] == [silent]
        await publish(server, (f"glow/{display.hardware_id}/STATE", state(utc_now())))
        (told,) = (await client.payload())["data"]["deviceStates"]
        assert (told["freshness"]["state"], told["networkState"]) == ("LIVE", {"rssi": -88, "status": "joined"})


async def _first_power(payloads: Any) -> Any:
    async for payload in payloads:
        if payload["readings"]["field"] == "POWER":
            break
    return payload["readings"]


@asynccontextmanager
async def taking(tenant: Tenant, server: Broker, **more: Any) -> AsyncIterator[None]:
    """An intake at work, with a client id of its own."""
    options = {"topics": ["glow/+/STATE", "glow/+/SENSOR/+", "SMART/+/+"], "client_id": "intake", "backoff": QUICKLY}
    intake = MqttIntake(
        ServerAddress.from_mqtt_url(server.url), application_id=tenant.application_id, **{**options, **more}
    )
    task = asyncio.create_task(intake.run(tenant.gateway.runner))
    try:
        await until(lambda: "intake" in server.subscribed)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def server() -> AsyncIterator[Broker]:
    async with broker() as made:
        yield made


async def test_the_intake_connects_again_when_the_broker_comes_back(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    display = await display_of(connected[0].one)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    first, second = a_while_ago(2)
    async with taking(display.tenant, server):
        await publish(server, (topic, electricity(1, first)))
        await until(display.power)
        await server.stop()
        await until(lambda: "is away" in caplog.text)
        await server.start()
        await until(lambda: "intake" in server.subscribed)
        await publish(server, (topic, electricity(2, second)))
        await until(lambda: _is(display, [1, 2]))


async def test_an_intake_says_that_it_lives_and_that_its_broker_is_away(
    connected: tuple[House, Broker], server: Broker
) -> None:
    tenant = connected[0].other

    async def heard() -> list[bool]:
        known = await with_rows(tenant, lambda rows: rows.all(Intake, col(Intake.name) == "intake"))
        return [one.connected for one in known]

    async with taking(tenant, server):
        await until(lambda: _equals(heard, [True]))
        await server.stop()
        await until(lambda: _equals(heard, [False]))
        await server.start()
        await until(lambda: _equals(heard, [True]))


async def _equals(asked: Callable[[], Any], expected: Any) -> bool:
    return bool(await asked() == expected)


async def _is(display: Display, values: list[float]) -> bool:
    return await display.power() == values


async def test_garbage_and_strangers_are_logged_and_do_not_stop_the_others(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    display = await display_of(connected[0].one)
    elsewhere = await display_of(connected[0].other)
    one, two = a_while_ago(2)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"

    def logged(text: str) -> bool:
        return text in caplog.text

    async with taking(display.tenant, server):
        await publish(
            server,
            (topic, b"\x00garbage"),
            (f"glow/{elsewhere.hardware_id}/SENSOR/electricitymeter", electricity(3, one)),
            (topic, electricity(4, one)),
            (topic, electricity(5, utc_now() + timedelta(days=1))),
            (f"glow/{display.hardware_id}/SENSOR/watermeter", b"{}"),
            (topic, electricity(6, two)),
        )
        await until(lambda: _is(display, [4, 6]))
        for told in (
            "it is not JSON",
            "no active device has this hardware id",
            "is in the future",
            "none that displays publish",
        ):
            await until(partial(logged, told))  # refusals are logged when the others are stored
    assert await elsewhere.power() == []
    refused = [record for record in caplog.records if "is in the future" in record.getMessage()]
    assert len(refused) == 4  # power, register and rate of import, and the register of export: each is told


class Outage:
    """The database of a tenant, which can be taken away and brought back."""

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
        """Close the connections that were in use when the database was taken away."""
        if self._lost is not None:
            await greenlet_spawn(self._lost.dispose)


@pytest.fixture(params=["sqlite", "postgresql"])
async def outage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Display, Outage]]:
    """A display on a database of each engine that can be taken away."""
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
        made = Outage(tenant, relay)
        stack.push_async_callback(made.forget)
        yield await display_of(tenant), made


async def test_nothing_is_lost_while_the_database_is_away(
    outage: tuple[Display, Outage], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    display, database = outage
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    instants = a_while_ago(30)
    async with taking(display.tenant, server):
        await database.begin()
        await publish(server, *((topic, electricity(n, at)) for n, at in enumerate(instants)))
        await until(lambda: "messages of displays wait" in caplog.text)
        assert server.unacknowledged("intake") > 0
        await database.end()
        await until(lambda: _is(display, [float(n) for n in range(30)]))
        await until(lambda: server.unacknowledged("intake") == 0)


async def test_what_comes_while_the_gateway_is_away_is_delivered_afterwards(
    connected: tuple[House, Broker], server: Broker
) -> None:
    display = await display_of(connected[0].one)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    instants = a_while_ago(5)
    async with taking(display.tenant, server):
        pass
    await publish(server, *((topic, electricity(n, at)) for n, at in enumerate(instants)))
    async with taking(display.tenant, server):
        await until(lambda: _is(display, [float(n) for n in range(5)]))


async def test_when_more_comes_than_has_room_the_intake_connects_anew_for_it(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "wattgate.app.workers.mqtt_intake")
    display = await display_of(connected[0].one)
    topic = f"glow/{display.hardware_id}/SENSOR/electricitymeter"
    *instants, last = a_while_ago(21)
    async with taking(display.tenant, server, queue=2):
        await publish(server, *((topic, electricity(n, at)) for n, at in enumerate(instants)))
        await until(lambda: "came while 2 waited; the broker has those of QoS 1" in caplog.text)
        await until(lambda: caplog.text.count("messages of displays come from the MQTT broker") == 2)
        await publish(server, (topic, electricity(99, last)))
        await until(lambda: _ends_with(display, 99))


async def _ends_with(display: Display, value: float) -> bool:
    return (await display.power())[-1:] == [value]


@pytest.mark.parametrize("url", ["localhost", "redis://localhost", "mqtt://", "mqtt://localhost/1", "mqtt://h?tls=no"])
def test_what_is_no_broker_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an address such as mqtt://"):
        ServerAddress.from_mqtt_url(url)


def test_the_address_of_a_broker_says_who_the_gateway_is_and_is_told_without_its_password() -> None:
    address = ServerAddress.from_mqtt_url("mqtts://gate:pass%40word@broker.example/")
    assert (address.host, address.port, address.tls) == ("broker.example", 8883, True)
    assert (address.username, address.password) == ("gate", "pass@word")
    assert "pass@word" not in f"{address} {address!r}"
    assert not ServerAddress.from_mqtt_url("mqtt://broker.example").tls


async def test_a_broker_that_does_not_let_the_gateway_in_is_tried_again_and_told(
    connected: tuple[House, Broker], server: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    stranger = ServerAddress("127.0.0.1", server.port, tls=False, username=None, password=None)
    intake = MqttIntake(stranger, application_id="any", topics=["#"], client_id="intake", backoff=QUICKLY)
    task = asyncio.create_task(intake.run(connected[0].gateway.runner))
    await until(lambda: caplog.text.count(f"the MQTT broker 127.0.0.1:{server.port} is away") > 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def message(display: Display, at: datetime, *values: tuple[str, str], **more: Any) -> MeterMessage:
    measured = tuple(Measurement("electricity.consumption", field, Decimal(value), "W") for field, value in values)
    return MeterMessage(display.hardware_id, at, measured, **more)


async def take(display: Display, *messages: MeterMessage) -> Any:
    return await display.tenant.gateway.runner.run(record_meter_messages, display.tenant.system, {"messages": messages})


async def test_a_bad_value_leaves_the_others_of_the_batch(connected: tuple[House, Broker]) -> None:
    display = await display_of(connected[0].one, decimals=0)
    old = datetime(2001, 1, 1, tzinfo=UTC)
    one, two = a_while_ago(2)
    taken = await take(
        display,
        message(display, one, ("POWER", "2.5"), ("UNHEARD", "7"), unreadable=("something is odd",)),
        message(display, old, ("POWER", "1")),
        message(display, two, ("POWER", "3.5"), ("REGISTER", "5")),
        MeterMessage("FFFFFFFFFFFF", one),
    )
    assert taken.recorded == 2
    assert await display.power() == [2, 4]  # half to even
    assert [one.kind for one in taken.refusals] == [
        "something is odd",
        "electricity.consumption POWER is not stored",
        "electricity.consumption REGISTER is not stored",
        "no active device has this hardware id",
    ]
    assert taken.refusals[2].reason.endswith("is not stored: the field is in kWh, but the display measures in W")


async def test_a_message_that_breaks_its_batch_is_found_and_logged_and_the_others_are_stored(
    connected: tuple[House, Broker], caplog: pytest.LogCaptureFixture
) -> None:
    display = await display_of(connected[0].one)
    tenant = display.tenant
    good = [message(display, at, ("POWER", f"{n}")) for n, at in enumerate(a_while_ago(5))]
    broken: Any = None  # what no reader of messages makes
    bad = [MeterMessage(display.hardware_id, utc_now(), (broken,)), MeterMessage("A\0B", utc_now())]
    intake = MqttIntake(
        ServerAddress.from_mqtt_url("mqtt://nowhere"),
        application_id=tenant.application_id,
        topics=["#"],
        client_id="none",
    )
    await intake._store(tenant.gateway.runner, [*good[:2], bad[0], good[2], bad[1], *good[3:]])
    assert await display.power() == [0, 1, 2, 3, 4]
    assert "an unexpected error has occurred" in caplog.text
    assert caplog.text.count(f"display {bad[1].hardware_id!r}: ") == 1


async def test_a_batch_may_amount_to_more_readings_than_a_call_takes(connected: tuple[House, Broker]) -> None:
    tenant = connected[0].one
    resource_ids = [await tenant.add_resource() for _ in range(11)]
    device = await tenant.run("device", device_id=await add_device(tenant, *resource_ids))
    power = (Measurement("electricity.consumption", "POWER", Decimal(1), "W"),)
    messages = [MeterMessage(device.hardware_id, at, power) for at in a_while_ago(MAX_MESSAGES)]
    given = {"messages": messages}
    assert (await tenant.gateway.runner.run(record_meter_messages, tenant.system, given)).recorded == 11 * MAX_MESSAGES
    with pytest.raises(BadInput, match="at most 1,000 messages"):
        await tenant.gateway.runner.run(record_meter_messages, tenant.system, {"messages": [*messages, messages[0]]})


async def test_of_two_values_of_one_instant_the_later_sent_holds(connected: tuple[House, Broker]) -> None:
    display = await display_of(connected[0].one)
    (at,) = a_while_ago(1)
    for expected in (1, 1):  # sent again, as a broker does that saw no acknowledgement
        taken = await take(display, message(display, at, ("POWER", "2")), message(display, at, ("POWER", "1")))
        assert (taken.recorded, taken.refusals) == (expected, [])
    assert await display.power() == [1]


async def test_what_a_display_says_of_itself_is_the_newest_and_no_change_of_its_record(
    connected: tuple[House, Broker],
) -> None:
    display = await display_of(connected[0].one)
    before = await display.tenant.run("device", device_id=display.device_id)
    assert (before.network_state, before.heard_at) == (None, None)
    one, two, three = a_while_ago(3)

    async def hear(*instants: datetime) -> Any:
        said = [NetworkState(at=at, rssi=-at.second) for at in instants]
        taken = await take(display, *(message(display, one.at, state=one) for one in said))
        return taken, await display.tenant.run("device", device_id=display.device_id)

    for instants, newest in (((two,), two), ((one,), two), ((three, one), three)):
        taken, device = await hear(*instants)
        assert (device.heard_at, device.network_state.at, device.network_state.rssi) == (newest, newest, -newest.second)
        assert device.updated_at == before.updated_at
        assert taken.refusals == []
    taken, device = await hear(utc_now() + timedelta(hours=1))
    assert device.heard_at == three
    assert [one.reason for one in taken.refusals] == ["the device state is in the future"]


def test_each_fault_of_a_display_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    faults = RefusalLog()
    for second in range(130):
        faults.log_refusal(MessageRefusal("A", "not stored", f"{second} is too much"), second)
    faults.log_refusal(MessageRefusal("A", "odd"), 130)
    faults.log_refusal(MessageRefusal("B", "not stored", "130 is too much"), 130)
    assert [record.getMessage() for record in caplog.records] == [
        "display 'A': not stored: 0 is too much",
        "display 'A': not stored: 60 is too much (59 more since the last of these lines)",
        "display 'A': not stored: 120 is too much (59 more since the last of these lines)",
        "display 'A': odd (9 more since the last of these lines)",
        "display 'B': not stored: 130 is too much",
    ]


def test_a_flood_of_faults_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    faults = RefusalLog()
    for n in range(5 * MAX_LOGGED_KINDS):
        faults.log_refusal(MessageRefusal(uuid4().hex, "unknown", f"{n}"), 0)
    assert len(caplog.records) == MAX_LOGGED_KINDS
    faults.log_refusal(MessageRefusal("A", "later"), 60)
    assert caplog.records[-1].getMessage().endswith("later (4,000 more since the last of these lines)")


def test_each_wait_is_a_random_part_of_what_doubles_up_to_a_bound() -> None:
    for attempt, most in ((0, 1), (3, 8), (6, 60), (10_000, 60)):
        waits = [Backoff().delay_seconds(attempt) for _ in range(200)]
        assert 0 <= min(waits) < most / 2 < max(waits) <= most
