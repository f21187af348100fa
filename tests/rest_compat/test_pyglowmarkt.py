"""The published client pyglowmarkt runs against a gateway; only its URL is replaced."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from glowmarkt import KWH, PT30M, BrightClient

from tests.support.house import PASSWORD, House


class Client(BrightClient):  # type: ignore[misc] # it has no types
    """The published client with a fixed URL: its constructor sets its own URL, which is ignored, and logs in."""

    def __init__(self, house: House) -> None:
        self._base = f"{house.rest}/"
        self._application = house.one.application_id
        super().__init__(house.one.username, PASSWORD)

    url = property(lambda self: self._base, lambda self, written: None)
    application = property(lambda self: self._application, lambda self, written: None)

    def get(self, path: str) -> Any:
        """Send a request with the client's headers, for endpoints without a working method."""
        headers = {"Content-Type": "application/json", "applicationId": self.application, "token": self.token}
        return self.session.get(f"{self.url}{path}", headers=headers)


@pytest.fixture
async def client(served: House) -> Client:
    return await asyncio.to_thread(Client, served)


@pytest.fixture
async def resource(served: House, client: Client) -> Any:
    """Return a resource as found by the client, with three half hours of readings on 2026-06-01."""
    resource_id = await served.one.add_resource("gas consumption")
    ve_id = await served.one.add_home(resource_id)
    start = datetime(2026, 6, 1, tzinfo=UTC)
    values = ("0.506", "0.25", "1.5")
    await served.one.record(resource_id, *((start + n * timedelta(minutes=30), v) for n, v in enumerate(values)))
    entities = await asyncio.to_thread(client.get_virtual_entities)
    entity = next(candidate for candidate in entities if candidate.id == ve_id)
    (resource_found,) = await asyncio.to_thread(entity.get_resources)
    assert resource_found.id == resource_id
    return resource_found


async def test_wrong_password_fails_as_the_client_expects(served: House) -> None:
    class WrongPassword(Client):
        password = property(lambda self: "wrong", lambda self, written: None)

    with pytest.raises(RuntimeError, match="Authentication failed"):
        await asyncio.to_thread(WrongPassword, served)


async def test_client_finds_homes_and_their_resources(served: House, client: Client) -> None:
    entities = await asyncio.to_thread(client.get_virtual_entities)
    entity = next(candidate for candidate in entities if candidate.id == served.one.ids["virtual_entity"])
    assert (entity.name, entity.postal_code, entity.application) == ("Home", "A1 1AA", served.one.application_id)
    (resource,) = await asyncio.to_thread(entity.get_resources)
    assert (resource.name, resource.classifier) == ("electricity consumption", "electricity.consumption")
    assert resource.base_unit == "kWh"


async def test_client_reads_half_hours_with_and_without_nulls(resource: Any) -> None:
    start = datetime(2026, 6, 1, tzinfo=UTC)
    end = start + timedelta(hours=1, minutes=59)
    readings = await asyncio.to_thread(resource.get_readings, start, end, PT30M)
    assert [(at.astimezone(UTC), value.value) for at, value in readings] == [
        (start, 0.506),
        (start + timedelta(minutes=30), 0.25),
        (start + timedelta(minutes=60), 1.5),
        (start + timedelta(minutes=90), 0),
    ]
    assert all(isinstance(value, KWH) for _, value in readings)
    known = await asyncio.to_thread(resource.get_readings, start, end, PT30M, "sum", True)
    assert len(known) == 3  # the client omits nulls


@pytest.mark.parametrize("period", ["PT1M", "PT30M", "PT1H", "P1D", "P1W", "P1M"])
async def test_client_may_round_the_end_to_every_period(resource: Any, period: str) -> None:
    end = resource.round(datetime(2026, 6, 1, 11, 47, tzinfo=UTC), period)
    start = end - timedelta(hours=4)
    assert await asyncio.to_thread(resource.get_readings, start, end, period)


async def test_client_reads_a_tariff(served: House, client: Client) -> None:
    tariff = await asyncio.to_thread(client.get_tariff, served.one.ids["resource"])
    assert (tariff.name, tariff.commodity, tariff.cid, tariff.type) == ("Standard", "ELEC", "PWER", "flatrate")
    assert (tariff.current_rates.rate.value, tariff.current_rates.standing_charge.value) == (24.5, 53.8)


async def test_client_gets_an_empty_list_without_a_tariff(client: Client, resource: Any) -> None:
    answer = await asyncio.to_thread(client.get, f"resource/{resource.id}/tariff")
    assert (answer.status_code, answer.json()["data"]) == (200, [])
    with pytest.raises(UnboundLocalError):  # 0.5.6 accepts the response, then returns an unset variable
        await asyncio.to_thread(resource.get_tariff)


async def test_client_gets_the_current_reading_and_first_and_last_time(client: Client, resource: Any) -> None:
    start = int(datetime(2026, 6, 1, tzinfo=UTC).timestamp())
    current = (await asyncio.to_thread(client.get, f"resource/{resource.id}/current")).json()
    assert (current["data"], current["units"]) == ([[start + 3600, 1.5]], "kWh")
    with pytest.raises(TypeError, match="print"):  # 0.5.6 fails when it prints the received time
        await asyncio.to_thread(resource.get_current)
    first = (await asyncio.to_thread(client.get, f"resource/{resource.id}/first-time")).json()
    last = (await asyncio.to_thread(client.get, f"resource/{resource.id}/last-time")).json()
    assert (first["data"], last["data"]) == ({"firstTs": start}, {"lastTs": start + 3600})
