"""The rate of messages over MQTT, and its floor: the same client library with one plain bulk load a batch."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from strawberry import ID

from bench.database_driver import Driver
from bench.gateway import SeededGateway, free_port
from bench.mqtt_messages import MAC, START_MS
from tests.support.house import operation
from wattgate.app.workers.mqtt_intake import MqttClient, MqttIntake
from wattgate.clock import TimeRange, from_ms
from wattgate.enums import Period
from wattgate.operations.readings import readings
from wattgate.operations.types.meters import devices as device_types
from wattgate.realtime.server_address import ServerAddress

WINDOW = 1_000
"""The messages that the server sends before an acknowledgement. Brokers limit it by a setting, many of them to 20."""

SERVER_END_SECONDS = 5.0
"""The timeout for the server to end after it has closed the connection."""

TOPICS = "glow/+/SENSOR/+"
CLIENT_ID = "bench"
UNKNOWN_RESOURCE = 30_000_000


async def intake_rate(gateway: SeededGateway, resource_id: str, count: int) -> float:
    """Return the messages per second until all are stored and acknowledged. Each has one reading."""
    await add_display(gateway, resource_id)
    async with _message_server(count) as (process, broker):
        intake = MqttIntake(broker, application_id=gateway.application_id, topics=[TOPICS], client_id=CLIENT_ID)
        rate = await _rate_until_end(process, intake.run(gateway.gateway.runner), count)
    range_ = TimeRange(from_ms(START_MS), from_ms(START_MS + count * 1000))
    arguments = {"resource_id": resource_id, "range": range_, "period": Period.P1D, "field": "POWER"}
    stored = (await gateway.gateway.runner.run(readings.readings, gateway.system, arguments)).count
    if stored != count:
        raise RuntimeError(f"The intake stored {stored:,} of {count:,} messages")
    return rate


async def floor_rate(driver: Driver, count: int) -> float:
    """Return the messages per second if each batch is only received, loaded and acknowledged."""
    async with _message_server(count) as (process, broker):
        return await _rate_until_end(process, _load(broker, driver), count)


async def _rate_until_end(process: asyncio.subprocess.Process, client: Coroutine[Any, Any, None], count: int) -> float:
    """Run a client until the server has the acknowledgements of all messages. Return the messages per second."""
    started_at = time.perf_counter()
    task, end = asyncio.ensure_future(client), asyncio.ensure_future(process.wait())
    await asyncio.wait((task, end), return_when=asyncio.FIRST_COMPLETED)
    rate = count / (time.perf_counter() - started_at)
    if task.done():  # also if the server has closed the connection, because it is about to end
        await asyncio.wait((end,), timeout=SERVER_END_SECONDS)
    if not end.done():
        end.cancel()
        await task  # raises its error
        raise RuntimeError("The client ended before all messages were acknowledged.")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if process.returncode:
        raise RuntimeError(f"The server of messages ended with code {process.returncode}. Read its output above.")
    return rate


async def _load(broker: ServerAddress, driver: Driver) -> None:
    """Load a row for each message of a batch, then acknowledge the batch."""
    loaded = 0
    async with MqttClient(broker, CLIENT_ID) as client:
        await client.subscribe(TOPICS, 1)
        while True:
            batch = await client.next_batch()
            instants = range(START_MS + loaded * 1000, START_MS + (loaded + len(batch)) * 1000, 1000)
            await driver.insert([(UNKNOWN_RESOURCE, 0, at, 0, 0, 0, START_MS) for at in instants])
            client.acknowledge(batch)
            loaded += len(batch)


@asynccontextmanager
async def _message_server(count: int) -> AsyncIterator[tuple[asyncio.subprocess.Process, ServerAddress]]:
    """Start a server of messages. It ends when all of them are acknowledged."""
    port = free_port()
    arguments = map(str, (port, count, WINDOW))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.mqtt_messages", *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    try:
        if not await process.stdout.readline():
            raise RuntimeError("The server of messages did not start. Read its output above.")
        yield process, ServerAddress.from_mqtt_url(f"mqtt://gateway@127.0.0.1:{port}")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def add_display(gateway: SeededGateway, resource_id: str) -> None:
    """Add the display that sends the messages, with a sensor that feeds the resource."""
    run, system = gateway.gateway.runner.run, gateway.system
    device_type = device_types.NewDeviceType(
        description="display", protocol=device_types.NewTypeProtocol(protocol="MQTT", sensors=[])
    )
    type_id = (await run(operation("add_device_type"), system, {"input": device_type})).device_type_id
    sensor = device_types.NewDeviceSensor(protocol_id="ELEC", resource_id=ID(resource_id))
    device = device_types.NewDevice(
        device_type_id=type_id,
        hardware_id=MAC,
        hardware_ids=device_types.NewHardwareIds(mac=MAC),
        protocol=device_types.NewDeviceProtocol(sensors=[sensor]),
    )
    await run(operation("add_device"), system, {"input": device})
