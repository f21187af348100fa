"""A rule of the demonstration with the alert that it raises, and an alert for the editor of templates."""

from datetime import datetime, timedelta
from decimal import Decimal

from wattgate.app.homes.household_alerts import ALERT_TYPES, build_day_rule
from wattgate.app.homes.records import ensure_record
from wattgate.clock import format_iso
from wattgate.delivery.templates.language.contract import RULE_VARIABLES
from wattgate.delivery.templates.language.contract_values import sample_values
from wattgate.enums import Channel, RuleKind
from wattgate.operations.alerts import alert_rules
from wattgate.operations.alerts import alerts as resolvers
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Principal

RULE_LIMIT = Decimal(5)
"""The limit of the rule in kWh, which the simulated home exceeds on each day of the year."""

RULE_NAME = build_day_rule(RULE_LIMIT, "", "").name

RULE_AGE = timedelta(days=1)
"""How long before the start of the demonstration the rule exists, so that it evaluates the readings since then."""

MAX_RULES = 100
"""Maximum rules that a start of the demonstration evaluates."""


async def add_alert_rule(runner: Runner, owner: Principal, alert_type_id: str, resource_id: str, now: datetime) -> None:
    """Add the rule of a user about a resource, as if the user had added it a day ago.

    A rule that the user has removed is not added again: then its alert exists.
    """
    sent = await runner.run(resolvers.user_alerts, owner, {})
    if any(isinstance(alert.data, dict) and alert.data.get("rule") == RULE_NAME for alert in sent):
        return
    new_rule = build_day_rule(RULE_LIMIT, alert_type_id, resource_id)
    earlier = runner.with_clock(lambda: now - RULE_AGE)
    await ensure_record(earlier, owner, "alert_rules", "add_alert_rule", new_rule, "name")


async def evaluate_rules(runner: Runner, system: Principal) -> None:
    """Evaluate the rules that are due, as the workers of a gateway do. They send their alerts."""
    for rule_id in await runner.run(alert_rules.due_rules, system, {"limit": MAX_RULES}):
        await runner.run(alert_rules.evaluate_rule, system, {"rule_id": rule_id})


async def add_sample_alert(runner: Runner, owner: Principal, now: datetime) -> None:
    """Send a user an alert with the data of the rule, unless the user has an alert.

    A template editor previews templates with it, and sees no alerts of other users.
    """
    if not await runner.run(resolvers.user_alerts, owner, {}):
        await send_alert(runner, owner, now)


async def send_alert(runner: Runner, owner: Principal, now: datetime) -> None:
    """Send a user an alert with sample data to the inbox."""
    data = {
        **sample_values(RULE_VARIABLES[RuleKind.THRESHOLD]),
        "rule": RULE_NAME,
        "value": 8.412,
        "threshold": f"{RULE_LIMIT}",
        "at": format_iso(now),
    }
    new_alert = types.NewAlert(
        user_id=Id(str(owner.user_id)),
        alert_type_id=ALERT_TYPES[RuleKind.THRESHOLD].system_alert_type_id,
        channels=[Channel.INBOX],
        data=Json(data),
    )
    await runner.run(resolvers.send_alert, owner, {"input": new_alert})
