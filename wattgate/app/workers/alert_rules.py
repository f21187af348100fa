"""The worker that evaluates alert rules: as readings arrive, and as time passes."""

import logging
from collections.abc import Mapping

from wattgate.app.workers.background import Bell, go_round
from wattgate.errors import GatewayError
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import alert_rules
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.events import Event, WatchedRecorded
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

LONGEST_REST = 15.0
"""Seconds until rules are looked for that time alone makes due."""

SHORTEST_REST = 0.2
"""Seconds between two rounds at least: readings that come meanwhile are judged together."""

PAUSE_AFTER_TROUBLE = 5.0

AT_ONCE = 200
"""How many rules of an application that are due are taken up by one look."""

MAX_WOKEN = 10_000
"""How many fields are remembered to have new readings; the rules on further ones wait until they are due."""


class Rules:
    """Evaluates rules for as long as it runs. Several may: each evaluation has its rule to itself."""

    def __init__(self, runner: Runner, hub: Hub) -> None:
        self._runner = runner
        self._recorded: set[WatchedRecorded] = set()
        self.bell = Bell(hub, topics.watched_readings(), self._take)

    async def run(self) -> None:
        """Evaluate until cancelled."""
        with self.bell.listening():
            await go_round("alert rules", self._round, pause=SHORTEST_REST, pause_after_trouble=PAUSE_AFTER_TROUBLE)

    async def work_once(self) -> int:
        """Evaluate what readings have woken and what is due; how many alerts were sent."""
        recorded, self._recorded = self._recorded, set()
        places: dict[str, list[tuple[str, str]]] = {}
        for one in recorded:
            places.setdefault(one.application_id, []).append((one.resource_id, one.field))
        sent = 0
        for application_id, some in places.items():
            sent += await self._evaluate(application_id, alert_rules.woken_rules, {"places": some})
        for application_id in await self._runner.run(
            alert_rules.applications_with_due_rules, Principal(Role.SYSTEM), {}
        ):
            sent += await self._evaluate(application_id, alert_rules.due_rules, {"limit": AT_ONCE})
        return sent

    def _take(self, event: Event) -> None:
        """Readings were recorded for a resource that has rules."""
        if len(self._recorded) < MAX_WOKEN:
            self._recorded.add(event.payload)

    async def _round(self) -> None:
        self.bell.silence()
        await self.work_once()
        await self.bell.open()
        await self.bell.rung(LONGEST_REST)

    async def _evaluate(self, application_id: str, which: Operation, wanted: Mapping[str, object]) -> int:
        """Evaluate rules of an application, one by one. What fails waits for its next time."""
        system = Principal(Role.SYSTEM, application_id=application_id)
        sent = 0
        for rule_id in await self._runner.run(which, system, wanted):
            try:
                sent += await self._runner.run(alert_rules.evaluate_rule, system, {"rule_id": rule_id})
            except GatewayError as error:
                log.warning("alert rule %s was not evaluated: %s", rule_id, error.message)
        return sent
