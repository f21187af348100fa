"""Calls of tests about moves: requests of a user by REST, refusals, and messages of displays."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx

from tests.support.house import House, Tenant
from tests.support.refusals import refusals
from wattgate.db.models import NetworkState
from wattgate.energy.meters.meter_messages import Measurement, MeterMessage
from wattgate.operations.readings import meter_messages
from wattgate.principal import Principal, Role


async def send(house: House, who: Tenant, method: str, path: str, caller: str = "account", **body: Any) -> Any:
    answer: httpx.Response = await house.call(method, path, who.headers[caller], **({"json": body} if body else {}))
    return answer


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


async def report(house: House, who: Tenant, hardware_id: str, at: datetime, watts: int = 230) -> int:
    """Record a power reading of a display as the MQTT intake does. Return the number of stored readings."""
    value = Measurement("electricity.consumption", "POWER", Decimal(watts), "W")
    message = MeterMessage(hardware_id=hardware_id, at=at, values=(value,))
    system = Principal(Role.SYSTEM, application_id=who.application_id)
    result = await house.gateway.runner.run(meter_messages.record_meter_messages, system, {"messages": [message]})
    return int(result.recorded)


async def report_state(house: House, who: Tenant, hardware_id: str, at: datetime) -> list[str]:
    """Record the network state of a display as the MQTT intake does. Return why it is refused."""
    message = MeterMessage(hardware_id=hardware_id, at=at, network_state=NetworkState(at=at))
    system = Principal(Role.SYSTEM, application_id=who.application_id)
    result = await house.gateway.runner.run(meter_messages.record_meter_messages, system, {"messages": [message]})
    return [refusal.reason for refusal in result.refusals]


async def last_state(house: House, who: Tenant, device_id: str) -> str | None:
    """Return when a device last reported its state, as its owner sees it."""
    query = "query ($id: ID!) { device(deviceId: $id) { networkState { at } status { lastPacketAt } } }"
    found = (await house.graphql(query, who.headers["account"], id=device_id))["data"]["device"]
    return found["networkState"] and str(found["networkState"]["at"])


async def move_resource(house: House, resource_id: str, to: Tenant, **more: Any) -> str:
    """Move a resource to a user by REST, and return the id of the new one."""
    path = f"/resource/{resource_id}/owner"
    answer = await send(house, house.one, "PUT", path, "application", userId=to.user_id, **more)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["resourceId"])


async def move_meter_point(house: House, mpxn: str, to: Tenant) -> dict[str, str]:
    """Move a meter point to a user by GraphQL, and return the id of the new resource by that of the old one."""
    document = """mutation ($mpxn: MeterPointNumber!, $userId: ID!) {
      moveMeterPoint(meterPointNumber: $mpxn, userId: $userId) {
          ... on MeterPointMove { resources { resourceId successorId } }
          ...Refused } }"""
    answer = await house.graphql(document, house.one.headers["application"], mpxn=mpxn, userId=to.user_id)
    assert not refusals(answer), answer
    moved = answer["data"]["moveMeterPoint"]["resources"]
    return {one["resourceId"]: one["successorId"] for one in moved}


async def add_resource(house: House, who: Tenant, mpxn: str, caller: str = "acting", **more: Any) -> httpx.Response:
    """Add a resource at a meter point for a user."""
    values = {"resourceTypeId": who.ids["resource_type"], "name": "electricity", "mpxn": mpxn, **more}
    answer: httpx.Response = await send(house, who, "POST", "/resource", caller, **values)
    return answer
