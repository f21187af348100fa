"""The shutdown of the MQTT intake while it stores a batch: the broker sends the messages of the batch again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from sqlalchemy import text

from bench.gateway import SeededGateway, seeded_gateway
from bench.mqtt import add_display
from bench.mqtt_messages import MessageServer
from tests.support.servers import Databases
from wattgate.app.settings import Settings
from wattgate.app.workers.mqtt_intake import MqttClient, MqttIntake, ReceivedMessage
from wattgate.operations.readings.raw_readings import raw_readings
from wattgate.realtime.server_address import ServerAddress

COUNT = 6


@asynccontextmanager
async def locked(gateway: SeededGateway) -> AsyncIterator[None]:
    """Let every write of readings wait."""
    async with gateway.gateway.database.engine.begin() as connection:
        await connection.execute(text("UPDATE resource SET name = name"))
        yield


async def stored(gateway: SeededGateway) -> list[float]:
    arguments = {"resource_id": gateway.resource_ids[0], "field": "POWER"}
    return list((await gateway.gateway.runner.run(raw_readings, gateway.system, arguments)).value)


async def test_shutdown_in_a_batch_acknowledges_none_of_it_and_all_are_stored_later(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = asyncio.Queue[int]()
    gather = MqttClient.next_batch

    async def report_batch(client: MqttClient) -> list[ReceivedMessage]:
        batch = await gather(client)
        batches.put_nowait(len(batch))
        return batch

    monkeypatch.setattr(MqttClient, "next_batch", report_batch)
    broker = MessageServer(COUNT, window=COUNT)
    async with (
        databases() as url,
        seeded_gateway(Settings(_env_file=None, database_url=url), count=1) as gateway,
        await asyncio.start_server(broker.serve, "127.0.0.1", 0) as listener,
    ):
        await add_display(gateway, gateway.resource_ids[0])
        address = ServerAddress.from_mqtt_url(f"mqtt://x@127.0.0.1:{listener.sockets[0].getsockname()[1]}")
        intake = partial(
            MqttIntake, address, application_id=gateway.application_id, topics=["glow/+/SENSOR/+"], client_id="x"
        )
        async with asyncio.timeout(60):
            async with locked(gateway):
                stopped = asyncio.create_task(intake().run(gateway.gateway.runner))
                assert await batches.get() >= 1
                stopped.cancel()
                await asyncio.gather(stopped, return_exceptions=True)
            assert (len(broker.unacknowledged), await stored(gateway)) == (COUNT, [])
            restarted = asyncio.create_task(intake().run(gateway.gateway.runner))
            await broker.all_acknowledged.wait()
            restarted.cancel()
            await asyncio.gather(restarted, return_exceptions=True)
        assert await stored(gateway) == list(range(COUNT))
