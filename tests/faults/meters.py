"""Meters: they send one reading of each of their resources after the other, until a gateway has acknowledged it."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.faults.history import Ledger

FIELD = "POWER"
API = "/api/v0-1"
SLACK_SECONDS = 60
"""How long a test waits for what must happen; far longer than it takes."""

NEXT_MS = timedelta(milliseconds=1)


class Meters:
    """Sends rounds of readings of all resources of a ledger through several gateways in turn.

    The resources are spread over so many meters, each of which sends a call a round: one that has several resources
    sends columns. A call that fails, or is told to come back, is made again, at the other gateway, until it is
    acknowledged; only then do the next readings of its resources follow.
    """

    def __init__(
        self, urls: Sequence[str], headers: Mapping[str, str], ledger: Ledger, *, meters: int, pace: float
    ) -> None:
        self._urls = urls
        self._headers = headers
        self._ledger = ledger
        self._pace = pace
        self._groups = [one for one in (ledger.resource_ids[n::meters] for n in range(meters)) if one]
        self._rounds = [0] * len(self._groups)
        self._moved = asyncio.Condition()
        self._stopping = False
        self._work: list[asyncio.Task[None]] = []
        self.burst = 1
        """How many readings of each resource a call has. Of columns only the newest is told to displays."""

        self.refused = 0
        """How many calls had no answer, or were told to come back."""

        self.wrong: list[str] = []
        """Answers that no meter should get."""

    def start(self) -> None:
        self._work = [asyncio.create_task(self._send_all(number)) for number in range(len(self._groups))]

    async def more(self, rounds: int) -> None:
        """Wait until every meter has had so many more rounds acknowledged."""
        wanted = [done + rounds for done in self._rounds]
        async with asyncio.timeout(SLACK_SECONDS), self._moved:
            await self._moved.wait_for(lambda: all(map(int.__ge__, self._rounds, wanted)))

    async def no_answer(self) -> None:
        """Wait until another call has no answer, or is told to come back."""
        before = self.refused
        async with asyncio.timeout(SLACK_SECONDS), self._moved:
            await self._moved.wait_for(lambda: self.refused > before)

    async def finish(self) -> None:
        """Send no more, and wait until all that was sent is acknowledged."""
        self._stopping = True
        async with asyncio.timeout(SLACK_SECONDS):
            await asyncio.gather(*self._work)

    async def cancel(self) -> None:
        """End at once, whatever is under way."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def _send_all(self, number: int) -> None:
        turn, last = number, datetime.now(UTC)
        async with httpx.AsyncClient(headers=self._headers, timeout=SLACK_SECONDS) as http:
            while not self._stopping:
                first = max(_whole_ms(datetime.now(UTC)), last + NEXT_MS)
                instants = [first + n * NEXT_MS for n in range(self.burst)]
                last = instants[-1]
                turn = await self._send(http, turn, self._groups[number], instants)
                self._rounds[number] += 1
                await self._tell()
                await asyncio.sleep(self._pace)

    async def _send(
        self, http: httpx.AsyncClient, turn: int, resource_ids: Sequence[str], instants: Sequence[datetime]
    ) -> int:
        """Send readings until they are acknowledged; the turn of the gateway that did."""
        numbers = {one: [self._ledger.add(one, at) for at in instants] for one in resource_ids}
        sent = [(one, number) for one, some in numbers.items() for number in some]
        path, body = _call(numbers, instants)
        while True:
            turn += 1
            for one in sent:
                self._ledger.attempt(*one)
            wait = await self._once(http, self._urls[turn % len(self._urls)] + path, body, len(sent))
            if wait is None:
                break
            self.refused += 1
            await self._tell()
            await asyncio.sleep(wait)
        for one in sent:
            self._ledger.acknowledge(*one)
        return turn

    async def _once(self, http: httpx.AsyncClient, url: str, body: Any, count: int) -> float | None:
        """Make a call: None where all of it is acknowledged, else after how many seconds it may be made again."""
        try:
            answer = await http.post(url, json=body)
        except httpx.TransportError:
            return random.uniform(0.02, 0.1)
        if answer.status_code == 200 and answer.json()["recorded"] == count:
            return None
        if answer.status_code == 503 and "Retry-After" in answer.headers:
            return float(answer.headers["Retry-After"])
        self.wrong.append(f"a meter was answered {answer.status_code}: {answer.text[:200]}")
        return self._pace


def _call(numbers: Mapping[str, Sequence[int]], instants: Sequence[datetime]) -> tuple[str, Any]:
    """The path and the body of a call with these readings."""
    at = [one.isoformat() for one in instants]
    if len(numbers) > 1:
        columns = [{"resourceId": one, "field": FIELD, "at": at, "value": some} for one, some in numbers.items()]
        return f"{API}/readings", {"series": columns}
    ((resource_id, values),) = numbers.items()
    readings = [{"at": instant, "value": value} for instant, value in zip(at, values, strict=True)]
    return f"{API}/resource/{resource_id}/readings", {"field": FIELD, "readings": readings}


def _whole_ms(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
