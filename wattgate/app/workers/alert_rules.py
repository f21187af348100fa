"""The worker that evaluates alert rules: when readings arrive, and when a rule is due."""

import logging
from collections.abc import Mapping

from wattgate.app.workers.background import WakeSignal, run_forever
from wattgate.errors import GatewayError
from wattgate.operations.alerts import alert_rules
from wattgate.operations.core.operation import Operation
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.events import Event, RuleReadingRecorded
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

MAX_IDLE_SECONDS = 15.0
"""Maximum seconds between two searches for rules that are due without a new reading."""

MIN_PAUSE_SECONDS = 0.2
"""Minimum seconds between two iterations. Readings that arrive in this time are evaluated together."""

ERROR_PAUSE_SECONDS = 5.0

MAX_RULES_PER_BATCH = 200
"""Maximum number of due rules of an application in one iteration."""

MAX_PENDING_FIELDS = 10_000
"""Maximum number of fields with new readings to remember. Rules of further fields wait until they are due."""


class AlertRuleWorker:
    """Evaluate alert rules until cancelled. Several workers may run, because an evaluation locks its rule."""

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
        """Evaluate the rules of fields with new readings, and the due rules. Return the number of alerts sent."""
        recorded, self._pending_fields = self._pending_fields, set()
        fields_by_application: dict[str, list[tuple[str, str]]] = {}
        for reading in recorded:
            fields_by_application.setdefault(reading.application_id, []).append((reading.resource_id, reading.field))
        sent = 0
        for application_id, fields in fields_by_application.items():
            sent += await self._evaluate(
                application_id, alert_rules.rules_for_recorded_fields, {"recorded_fields": fields}
            )
        for application_id in await self._runner.run(
            alert_rules.applications_with_due_rules, Principal(Role.SYSTEM), {}
        ):
            sent += await self._evaluate(application_id, alert_rules.due_rules, {"limit": MAX_RULES_PER_BATCH})
        return sent

    def _on_recorded(self, event: Event) -> None:
        """Remember a field with new readings whose resource has rules."""
        if len(self._pending_fields) < MAX_PENDING_FIELDS:
            self._pending_fields.add(event.payload)

    async def _run_iteration(self) -> None:
        self.wake_signal.clear()
        await self.evaluate_pending()
        await self.wake_signal.wait_subscribed()
        await self.wake_signal.wait(MAX_IDLE_SECONDS)

    async def _evaluate(self, application_id: str, operation: Operation, arguments: Mapping[str, object]) -> int:
        """Evaluate rules of an application one by one. A rule that fails is evaluated again when it is next due."""
        system = Principal(Role.SYSTEM, application_id=application_id)
        sent = 0
        for rule_id in await self._runner.run(operation, system, arguments):
            try:
                sent += await self._runner.run(alert_rules.evaluate_rule, system, {"rule_id": rule_id})
            except GatewayError as error:
                log.warning("Alert rule %s could not be evaluated: %s", rule_id, error.message)
        return sent
