"""Meters: they send each reading until a gateway has acknowledged it, and then the next one."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.faults.history import Ledger

FIELD = "POWER"
API = "/api/v0-1"
TIMEOUT_SECONDS = 60
"""Maximum wait of a test for an event. It is much longer than needed."""

PROXY_FAILURES = (502, 503, 504)
"""Responses of a proxy that reaches no gateway. The responses of a gateway are JSON."""

NEXT_MS = timedelta(milliseconds=1)


class Meters:
    """Send rounds of readings of all resources of a ledger through several gateways in turn.

    The resources are spread over the meters. Each meter sends one call in a round; a meter with several resources sends
    columns. A call that fails or gets Retry-After is repeated at the next gateway until it is acknowledged. Only then
    does the meter send the next readings.
    """

    def __init__(
        self, urls: Sequence[str], headers: Mapping[str, str], ledger: Ledger, *, meters: int, pace: float
    ) -> None:
        self._urls = urls
        self._headers = headers
        self._ledger = ledger
        self._pace = pace
        self._groups = [group for group in (ledger.resource_ids[n::meters] for n in range(meters)) if group]
        self._rounds = [0] * len(self._groups)
        self._changed = asyncio.Condition()
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self.burst = 1
        """Readings of each resource in a call. Of columns, displays receive only the newest reading."""

        self.failed_calls = 0
        """The number of calls without a response or with Retry-After."""

        self.problems: list[str] = []
        """Unexpected responses."""

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._send_all(number)) for number in range(len(self._groups))]

    async def wait_for_rounds(self, rounds: int) -> None:
        """Wait until this many more rounds of every meter are acknowledged."""
        targets = [done + rounds for done in self._rounds]
        async with asyncio.timeout(TIMEOUT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: all(map(int.__ge__, self._rounds, targets)))

    async def wait_for_failure(self) -> None:
        """Wait until another call fails."""
        before = self.failed_calls
        async with asyncio.timeout(TIMEOUT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self.failed_calls > before)

    async def finish(self) -> None:
        """Stop sending, and wait until all sent readings are acknowledged."""
        self._stopping = True
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await asyncio.gather(*self._tasks)

    async def cancel(self) -> None:
        """Stop immediately."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _send_all(self, number: int) -> None:
        turn, last = number, _whole_ms(datetime.now(UTC))
        async with httpx.AsyncClient(headers=self._headers, timeout=TIMEOUT_SECONDS) as http:
            while not self._stopping:
                first = max(_whole_ms(datetime.now(UTC)), last + NEXT_MS)
                instants = [first + n * NEXT_MS for n in range(self.burst)]
                last = instants[-1]
                turn = await self._send(http, turn, self._groups[number], instants)
                self._rounds[number] += 1
                await self._notify()
                await asyncio.sleep(self._pace)

    async def _send(
        self, http: httpx.AsyncClient, turn: int, resource_ids: Sequence[str], instants: Sequence[datetime]
    ) -> int:
        """Send readings until they are acknowledged. Return the turn of the gateway that did so."""
        numbers = {resource_id: [self._ledger.add(resource_id, at) for at in instants] for resource_id in resource_ids}
        sent = [(resource_id, number) for resource_id, its_numbers in numbers.items() for number in its_numbers]
        path, body = _build_call(numbers, instants)
        while True:
            turn += 1
            for resource_id, sent_number in sent:
                self._ledger.attempt(resource_id, sent_number)
            wait = await self._call_once(http, self._urls[turn % len(self._urls)] + path, body, len(sent))
            if wait is None:
                break
            self.failed_calls += 1
            await self._notify()
            await asyncio.sleep(wait)
        for resource_id, sent_number in sent:
            self._ledger.acknowledge(resource_id, sent_number)
        return turn

    async def _call_once(self, http: httpx.AsyncClient, url: str, body: Any, count: int) -> float | None:
        """Send a call. Return None if it is acknowledged, else the seconds until the next attempt."""
        try:
            response = await http.post(url, json=body)
        except httpx.TransportError:
            return random.uniform(0.02, 0.1)
        if response.status_code == 200 and response.json()["recorded"] == count:
            return None
        if response.status_code == 503 and "Retry-After" in response.headers:
            return float(response.headers["Retry-After"])
        if response.status_code in PROXY_FAILURES and "json" not in response.headers.get("Content-Type", ""):
            return random.uniform(0.02, 0.1)
        self.problems.append(f"a meter received status {response.status_code}: {response.text[:200]}")
        return self._pace


def _build_call(numbers: Mapping[str, Sequence[int]], instants: Sequence[datetime]) -> tuple[str, Any]:
    """Return the path and the body of a call with these readings."""
    at = [instant.isoformat() for instant in instants]
    if len(numbers) > 1:
        columns = [
            {"resourceId": resource_id, "field": FIELD, "at": at, "value": values}
            for resource_id, values in numbers.items()
        ]
        return f"{API}/readings", {"series": columns}
    ((resource_id, values),) = numbers.items()
    readings = [{"at": instant, "value": value} for instant, value in zip(at, values, strict=True)]
    return f"{API}/resource/{resource_id}/readings", {"field": FIELD, "readings": readings}


def _whole_ms(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
