"""The worker that evaluates alert rules: when readings arrive, and when a rule is due."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from wattgate.app.workers.background import WakeSignal, run_forever
from wattgate.errors import Conflict, GatewayError, NotFound, Unavailable
from wattgate.operations.alerts import alert_rules
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

MAX_CONFLICTS = 3
"""Maximum evaluations of a rule that may end because another worker changes the same records. One more is a failure."""


class AlertRuleWorker:
    """Evaluate alert rules until cancelled. Several workers may run, because an evaluation locks its rule."""

    def __init__(self, runner: Runner, hub: Hub) -> None:
        self._runner = runner
        self._pending: dict[str, dict[tuple[str, str], int]] = {}
        """The instant of the first new reading, by application and by resource id and field."""
        self._pending_count = 0
        self.wake_signal = WakeSignal(hub, topics.rule_readings(), self._on_recorded)

    async def run(self) -> None:
        """Evaluate until cancelled."""
        with self.wake_signal.subscribed():
            await run_forever(
                "alert rules", self._run_iteration, pause=MIN_PAUSE_SECONDS, pause_after_error=ERROR_PAUSE_SECONDS
            )

    async def evaluate_pending(self) -> int:
        """Evaluate the rules of fields with new readings, and the due rules. Return the number of alerts sent.

        Due rules are evaluated in turns, a batch of each application, until none is due.
        """
        sent = await self._evaluate_recorded()
        has_more = True
        while has_more and not self._pending:
            has_more = False
            for application_id in await self._runner.run(
                alert_rules.applications_with_due_rules, Principal(Role.SYSTEM), {}
            ):
                due = await self._runner.run(
                    alert_rules.due_rules, _system(application_id), {"limit": MAX_RULES_PER_BATCH}
                )
                has_more |= len(due) == MAX_RULES_PER_BATCH
                for rule_id in due:
                    sent += await self.evaluate(application_id, {"rule_id": rule_id})
        return sent

    async def evaluate(self, application_id: str, arguments: Mapping[str, Any]) -> int:
        """Evaluate a rule and return the number of alerts. A rule that fails is postponed, each time for longer."""
        system, rule_id = _system(application_id), arguments["rule_id"]
        try:
            return await self._evaluate_despite_conflicts(system, arguments)
        except NotFound:  # it was removed in the meantime
            return 0
        except Unavailable:  # no fault of the rule
            raise
        except GatewayError as error:
            problem = error.message
            log.warning("Alert rule %s could not be evaluated: %s", rule_id, problem)
        except Exception:  # supervisor: the rule is postponed, and the others are evaluated
            problem = "an unexpected error has occurred"
            log.exception("Alert rule %s could not be evaluated", rule_id)
        await self._runner.run(alert_rules.postpone_failed_rule, system, {"rule_id": rule_id, "problem": problem})
        return 0

    async def _evaluate_recorded(self) -> int:
        """Evaluate the rules of fields with new readings. Fields that an error leaves over are evaluated next time."""
        pending, self._pending, self._pending_count = self._pending, {}, 0
        sent = 0
        try:
            while pending:
                application_id, oldest_by_field = next(iter(pending.items()))
                rules = await self._runner.run(
                    alert_rules.rules_for_recorded_fields, _system(application_id), {"oldest_by_field": oldest_by_field}
                )
                for rule_id, oldest in rules.items():
                    sent += await self.evaluate(application_id, {"rule_id": rule_id, "late_from": oldest})
                del pending[application_id]
        finally:
            for application_id, oldest_by_field in pending.items():
                for field, oldest in oldest_by_field.items():
                    self._remember(application_id, field, oldest)
        return sent

    def _on_recorded(self, event: Event) -> None:
        """Remember a field with new readings whose resource has rules."""
        reading: RuleReadingRecorded = event.payload
        self._remember(reading.application_id, (reading.resource_id, reading.field), reading.oldest)

    def _remember(self, application_id: str, field: tuple[str, str], oldest: int) -> None:
        fields = self._pending.get(application_id, {})
        if field not in fields:
            if self._pending_count >= MAX_PENDING_FIELDS:
                return
            self._pending_count += 1
            self._pending[application_id] = fields
        fields[field] = min(oldest, fields.get(field, oldest))

    async def _run_iteration(self) -> None:
        self.wake_signal.clear()
        await self.evaluate_pending()
        await self.wake_signal.wait_subscribed()
        await self.wake_signal.wait(MAX_IDLE_SECONDS)

    async def _evaluate_despite_conflicts(self, system: Principal, arguments: Mapping[str, Any]) -> int:
        """Evaluate a rule, again if another worker has changed the same records meanwhile. That is no failure of it."""
        for _ in range(MAX_CONFLICTS):
            with suppress(Conflict):
                return cast(int, await self._runner.run(alert_rules.evaluate_rule, system, arguments))
        return cast(int, await self._runner.run(alert_rules.evaluate_rule, system, arguments))


def _system(application_id: str) -> Principal:
    return Principal(Role.SYSTEM, application_id=application_id)
