"""Homes of new users at a gateway with a settable clock, and their display frames on every transport."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from graphql import GraphQLObjectType
from strawberry import ID

from tests.support import people
from tests.support.gateway_schema import SCHEMA
from tests.support.house import STORAGE, Tenant
from tests.support.interfaces import selection
from tests.support.socket import socket
from tests.support.timed import RECORD, Timed
from wattgate.operations.types.homes.resources import (
    NewResource,
    NewResourceType,
    NewStorageDefinition,
    NewStorageField,
)

ELECTRICITY, EXPORTED, GAS = "electricity.consumption", "electricity.export", "gas.consumption"
CARBON = "carbon.intensity"
CARBON_STORAGE = [
    NewStorageDefinition(
        type="timeseries",
        sampling="regular",
        start="2014-01-06T00:00:00+00:00",
        fields=[NewStorageField(field_name="INTENSITY", unit="gCO2/kWh", datatype="integer")],
    )
]
_SUBSCRIPTIONS = SCHEMA.get_type("Subscription")
assert isinstance(_SUBSCRIPTIONS, GraphQLObjectType)
WHOLE_FRAME = selection(_SUBSCRIPTIONS.fields["display"])
"""The selection of everything that a frame has."""

SUBSCRIPTION = f"subscription ($id: ID!) {{ display(homeId: $id) {WHOLE_FRAME} }}"
QUERY = f"query ($id: ID!) {{ home(homeId: $id) {{ display {WHOLE_FRAME} }} }}"
COMPILED_AT = 3
"""The gateway executes the first requests of a document with graphql-core, and compiles it for later ones."""


@dataclass
class DisplayHome:
    """A home of a user of its own. `resource_ids` is by classifier."""

    timed: Timed
    tenant: Tenant
    username: str
    ve_id: str
    resource_ids: dict[str, str]

    @property
    def headers(self) -> dict[str, str]:
        return {**self.tenant.headers["application"], "userId": self.tenant.user_id}

    async def record(self, classifier: str, *readings: tuple[datetime, Any], field: str | None = None) -> None:
        listed = [{"at": at.isoformat(), "value": value} for at, value in readings]
        series = [{"resourceId": self.resource_ids[classifier], "field": field, "readings": listed}]
        answer = await self.timed.house.graphql(RECORD, self.headers, series=series)
        assert "errors" not in answer, answer

    async def record_half_hours(self, classifier: str, start: datetime, values: Iterable[float]) -> None:
        """Record the energy of consecutive half hours in kWh."""
        half_hour = timedelta(minutes=30)
        await self.record(
            classifier, *((start + number * half_hour, f"{value:.3f}") for number, value in enumerate(values))
        )

    async def send_power(self, watts: float) -> None:
        """Record the electric power of the present moment."""
        await self.record(ELECTRICITY, (self.timed.clock.now, round(watts)), field="POWER")

    async def frame(self) -> Any:
        """Return the frame by a query."""
        answer = await self.timed.house.graphql(QUERY, self.headers, id=self.ve_id)
        assert "errors" not in answer, answer
        return answer["data"]["home"]["display"]

    async def frames_everywhere(self) -> list[Any]:
        """Return the frame by graphql-core, by the compiled plan, over a WebSocket and over server-sent events."""
        frames = [await self.frame() for _ in range(COMPILED_AT)]
        async with socket(self.timed.house.url) as client:
            await client.init(**self.headers)
            await client.subscribe(SUBSCRIPTION, id=self.ve_id)
            frames.append((await client.payload())["data"]["display"])
        body = {"query": SUBSCRIPTION, "variables": {"id": self.ve_id}}
        headers = {**self.headers, "Accept": "text/event-stream"}
        async with self.timed.house.http.stream("POST", "/graphql", json=body, headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    frames.append(json.loads(line.removeprefix("data: "))["data"]["display"])
                    break
        return frames


async def add_display_home(timed: Timed, *classifiers: str) -> DisplayHome:
    """Add a home with a resource of each classifier for a new user."""
    who = await people.active(timed.house.one)
    tenant = replace(timed.house.one, user_id=who["userId"])
    resource_ids = {}
    for classifier in classifiers:
        storage = CARBON_STORAGE if classifier == CARBON else STORAGE
        resource_type = NewResourceType(name=classifier, classifier=classifier, storage=storage, base_unit="kWh")
        type_id = (await tenant.run("add_resource_type", input=resource_type)).resource_type_id
        resource = NewResource(resource_type_id=ID(type_id), name=classifier)
        resource_ids[classifier] = str((await tenant.run("add_resource", input=resource)).resource_id)
    return DisplayHome(timed, tenant, who["username"], await tenant.add_home(*resource_ids.values()), resource_ids)
