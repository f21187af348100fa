"""Calls of tests about moves: requests of a user by REST, refusals, and messages of displays."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx

from tests.support.house import House, Tenant
from wattgate.energy.meter_messages import Measurement, MeterMessage
from wattgate.graphql.resolvers import meter_messages
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
