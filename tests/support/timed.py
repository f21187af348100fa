"""A served gateway with a settable clock, and helpers to record readings through GraphQL."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from strawberry import ID

from tests.support.house import House
from tests.support.refusals import refusals
from wattgate.operations.types.homes import resources as resource_types

NOW = datetime(2026, 6, 1, 12, 10, tzinfo=UTC)
RECORD = (
    "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
    " ... on Recorded { recorded } ...Refused } }"
)


class Clock:
    """A clock that advances only when a test sets `now`."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Timed:
    """A served gateway and its clock. Requests use application credentials for a user, because they never expire."""

    house: House
    clock: Clock

    @property
    def headers(self) -> dict[str, str]:
        return self.house.one.headers["acting"]

    def pass_time(self, span: timedelta) -> None:
        self.clock.now += span

    async def ask(self, query: str, **variables: Any) -> Any:
        """Send a GraphQL request and return its data. Fail if there are errors."""
        return await self.ask_as("acting", query, **variables)

    async def ask_as(self, who: str, query: str, **variables: Any) -> Any:
        """Send a GraphQL request with other credentials, see `ask`."""
        answer = await self.house.graphql(query, self.house.one.headers[who], **variables)
        assert not refusals(answer), answer
        return answer["data"]

    async def record(self, resource_id: str, *readings: tuple[Any, ...], field: str | None = None) -> Any:
        """Record readings (instant, value, and optionally quality) and return the whole response."""
        converted = [dict(zip(("at", "value", "quality"), reading, strict=False)) for reading in readings]
        for reading in converted:
            reading["at"] = reading["at"].isoformat()
        series = [{"resourceId": resource_id, "field": field, "readings": converted}]
        return await self.house.graphql(RECORD, self.headers, series=series)

    async def add_type(self, storage: list[Any], retention_days: int | None = None) -> str:
        resource_type = resource_types.NewResourceType(
            name="any", classifier="any", storage=storage, retention_days=retention_days
        )
        return str((await self.house.one.run("add_resource_type", input=resource_type)).resource_type_id)

    async def add_resources(self, type_id: str, count: int) -> list[str]:
        resource = resource_types.NewResource(resource_type_id=ID(type_id), name="any")
        return [str((await self.house.one.run("add_resource", input=resource)).resource_id) for _ in range(count)]


def half_hours(start: datetime, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return readings of consecutive half hours, starting at `start`."""
    return [(start + n * timedelta(minutes=30), value) for n, value in enumerate(values)]
