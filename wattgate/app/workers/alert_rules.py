"""The worker that evaluates alert rules: as readings arrive, and as time passes."""

import logging
from collections.abc import Mapping

from wattgate.app.workers.background import WakeSignal, run_forever
from wattgate.errors import GatewayError
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import alert_rules
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.events import Event, RuleReadingRecorded
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

MAX_IDLE_SECONDS = 15.0
"""Seconds until rules are looked for that time alone makes due."""

MIN_PAUSE_SECONDS = 0.2
"""Seconds between two rounds at least: readings that come meanwhile are judged together."""

ERROR_PAUSE_SECONDS = 5.0

MAX_RULES_PER_BATCH = 200
"""How many rules of an application that are due are taken up by one look."""

MAX_PENDING_FIELDS = 10_000
"""How many fields are remembered to have new readings; the rules on further ones wait until they are due."""


class AlertRuleWorker:
    """Evaluates rules for as long as it runs. Several may: each evaluation has its rule to itself."""

    def __init__(self, runner: Runner, hub: Hub) -> None:
        self._runner = runner
        self._pending_fields: set[RuleReadingRecorded] = set()
        self.wake_signal = WakeSignal(hub, topics.rule_readings(), self._on_recorded)

    async def run(self) -> None:
        """Evaluate until cancelled."""
        with self.wake_signal.subscribed():
            await run_forever(
                "alert rules", self._run_iteration, pause=MIN_PAUSE_SECONDS, pause_after_error=ERROR_PAUSE_SECONDS
            )

    async def evaluate_pending(self) -> int:
        """Evaluate what readings have woken and what is due; how many alerts were sent."""
        recorded, self._pending_fields = self._pending_fields, set()
        places: dict[str, list[tuple[str, str]]] = {}
        for one in recorded:
            places.setdefault(one.application_id, []).append((one.resource_id, one.field))
        sent = 0
        for application_id, some in places.items():
            sent += await self._evaluate(
                application_id, alert_rules.rules_for_recorded_fields, {"recorded_fields": some}
            )
        for application_id in await self._runner.run(
            alert_rules.applications_with_due_rules, Principal(Role.SYSTEM), {}
        ):
            sent += await self._evaluate(application_id, alert_rules.due_rules, {"limit": MAX_RULES_PER_BATCH})
        return sent

    def _on_recorded(self, event: Event) -> None:
        """Readings were recorded for a resource that has rules."""
        if len(self._pending_fields) < MAX_PENDING_FIELDS:
            self._pending_fields.add(event.payload)

    async def _run_iteration(self) -> None:
        self.wake_signal.clear()
        await self.evaluate_pending()
        await self.wake_signal.wait_subscribed()
        await self.wake_signal.wait(MAX_IDLE_SECONDS)

    async def _evaluate(self, application_id: str, operation: Operation, arguments: Mapping[str, object]) -> int:
        """Evaluate rules of an application, one by one. What fails waits for its next time."""
        system = Principal(Role.SYSTEM, application_id=application_id)
        sent = 0
        for rule_id in await self._runner.run(operation, system, arguments):
            try:
                sent += await self._runner.run(alert_rules.evaluate_rule, system, {"rule_id": rule_id})
            except GatewayError as error:
                log.warning("alert rule %s was not evaluated: %s", rule_id, error.message)
        return sent
