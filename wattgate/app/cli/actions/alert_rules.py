"""Carry out the commands for the alert rules of a home."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import partial
from typing import Any

from wattgate.app.cli.actions.home_setup import page_base
from wattgate.app.cli.commands.alert_commands import AlertChannel, BudgetPeriod, Meter
from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.cli.record_lists import print_records, to_text
from wattgate.app.homes.home_selection import HomeChoice, find_home
from wattgate.app.homes.household_rules import RuleOptions, build_rule
from wattgate.app.homes.series import find_operation
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.app.workers.outbound import is_mail_outbox_enabled
from wattgate.db.models import AlertRule, VirtualEntity
from wattgate.db.queries.alert_rules import BackTest, RuleFiring, back_test, load_rules
from wattgate.db.queries.virtual_entities import resources as resources_of_homes
from wattgate.db.rows.rows import Rows
from wattgate.energy.meters.meter_messages import ELECTRICITY, EXPORT, GAS
from wattgate.enums import Channel, Period, RuleKind
from wattgate.errors import GatewayError
from wattgate.operations.alerts import alert_rules
from wattgate.operations.alerts.alerts import send_alert
from wattgate.operations.types.messages.alert_rules import AlertRuleChange
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.principal import Permission, Principal, Role

CLASSIFIERS = {Meter.ELECTRICITY: ELECTRICITY, Meter.GAS: GAS, Meter.EXPORT: EXPORT}
PERIODS = {BudgetPeriod.DAY: Period.P1D, BudgetPeriod.WEEK: Period.P1W, BudgetPeriod.MONTH: Period.P1M}

BACK_TEST_DAYS = 30
DEFAULT_CHANNELS = [AlertChannel.INBOX, AlertChannel.EMAIL]

SAMPLE_EXCESS = 1.1
"""The value of a test mail without a firing, as a multiple of the limit."""


class Change(Enum):
    """The change that a run has made to a rule. The value begins the line about the rule."""

    ADDED = "Added"
    TURNED_ON = "Turned on"
    NONE = "The rule exists already"


@dataclass(frozen=True, slots=True)
class AddedRule:
    """A rule, the change of this run, how often it would have fired, and whether a test mail was sent."""

    rule: AlertRule
    change: Change
    back_test: BackTest | None
    has_test_mail: bool


def alert_add(
    *,
    home: str,
    above: str | None,
    hours: int,
    power: str | None,
    budget: str | None,
    spend: str | None,
    period: BudgetPeriod,
    no_readings: int | None,
    meter: Meter,
    channel: list[AlertChannel] | None,
    test_mail: bool,
    application: str | None,
    user: str | None,
    as_json: bool,
) -> None:
    """Add an alert rule to a home."""
    settings = Settings()
    options = RuleOptions(
        above=above,
        power=power,
        budget=budget,
        spend=spend,
        no_readings=no_readings,
        hours=hours,
        period=PERIODS[period],
        classifier=CLASSIFIERS[meter],
        meter_name=meter.value.capitalize(),
        channels=tuple(Channel(one.value) for one in dict.fromkeys(channel or DEFAULT_CHANNELS)),
    )
    choice = HomeChoice(home, application, user)
    added = run_async(
        with_current_gateway(settings, partial(_add_rule, choice=choice, options=options, test_mail=test_mail))
    )
    mails = describe_mails(settings)
    if as_json:
        out.print_json(data=_to_json(added, mails))
    else:
        _print_rule(added, mails)


def alert_list(*, home: str, application: str | None, user: str | None, as_json: bool) -> None:
    """List the alert rules of the owner of a home."""
    rules = run_async(
        with_current_gateway(Settings(), partial(_list_rules, choice=HomeChoice(home, application, user)))
    )
    print_records(
        [
            {
                "name": rule.name,
                "enabled": rule.enabled,
                "channels": [str(channel) for channel in rule.channels],
                "firedAt": to_text(rule.fired_at),
                "ruleId": rule.rule_id,
            }
            for rule in rules
        ],
        len(rules),
        as_json=as_json,
    )


async def _list_rules(gateway: Components, *, choice: HomeChoice) -> list[AlertRule]:
    home = await find_home(gateway.runner, choice)
    return await _rules_of(gateway, _owner_of(home))


async def _rules_of(gateway: Components, owner: Principal) -> list[AlertRule]:
    rules: list[AlertRule] = await gateway.runner.run(find_operation("alert_rules"), owner, {})
    return [rule for rule in rules if rule.user_id == owner.user_id]


def _owner_of(home: VirtualEntity) -> Principal:
    return Principal(Role.SYSTEM, application_id=home.application_id, user_id=home.owner_id)


async def _add_rule(gateway: Components, *, choice: HomeChoice, options: RuleOptions, test_mail: bool) -> AddedRule:
    """Add a rule, unless the owner has one of its name about the home, which is turned on if it is off."""
    home = await find_home(gateway.runner, choice)
    owner, runner = _owner_of(home), gateway.runner
    (resources,) = await runner.read(owner, Permission.SYSTEM, partial(resources_of_homes, virtual_entities=[home]))
    alert_types = await runner.run(find_operation("alert_types"), owner, {})
    new_rule = build_rule(options, home.ve_id, resources, alert_types)
    rule = await _find_rule(gateway, owner, new_rule.name, {resource.resource_id for resource in resources})
    change = Change.NONE
    if rule is None:
        rule, change = await runner.run(alert_rules.add_alert_rule, owner, {"input": new_rule}), Change.ADDED
    elif not rule.enabled:
        turned_on = {"rule_id": rule.rule_id, "input": AlertRuleChange(enabled=True)}
        rule, change = await runner.run(alert_rules.update_alert_rule, owner, turned_on), Change.TURNED_ON
    tested = await runner.read(owner, Permission.SYSTEM, partial(_back_test, rule=rule))
    if test_mail:
        firing = _sample_firing(rule, tested)
        alert = await runner.read(owner, Permission.SYSTEM, partial(_sample_alert, rule=rule, firing=firing))
        await runner.run(send_alert, owner, {"input": alert})
    return AddedRule(rule, change, tested, test_mail)


async def _find_rule(
    gateway: Components, owner: Principal, name: str, resource_ids: Collection[str]
) -> AlertRule | None:
    rules = await _rules_of(gateway, owner)
    return next((rule for rule in rules if rule.name == name and rule.resource_id in resource_ids), None)


async def _back_test(rows: Rows, *, rule: AlertRule) -> BackTest | None:
    """Return how often the rule would have fired, or None if the readings are withheld."""
    (tested,) = await back_test(rows, [rule], days=BACK_TEST_DAYS)
    return None if isinstance(tested, GatewayError) else tested


def _sample_firing(rule: AlertRule, tested: BackTest | None) -> RuleFiring:
    """Return the newest listed firing of the back-test, or else one just above the limit at the time of the rule."""
    if tested is not None and tested.firings:
        return max(tested.firings, key=lambda firing: firing.at)
    if rule.kind is RuleKind.NO_DATA:
        return RuleFiring(rule.due_at, timedelta(minutes=rule.window_minutes).total_seconds())
    return RuleFiring(rule.due_at, round(float(rule.threshold or 0) * SAMPLE_EXCESS, 3))


async def _sample_alert(rows: Rows, *, rule: AlertRule, firing: RuleFiring) -> NewAlert:
    (loaded,) = await load_rules(rows, [rule])
    return await alert_rules.build_alert(rows, loaded, firing)


def describe_mails(settings: Settings) -> str:
    """Return the sentence that says where mails go, and what to set if they go nowhere."""
    if settings.smtp_url is not None:
        return "Mails are sent by the mail server of WATTGATE_SMTP_URL."
    if is_mail_outbox_enabled(settings):
        return f"No mail server is set. While the gateway runs, {page_base(settings)}/outbox shows the mails."
    return (
        "No mail server is set, so mails wait for up to five days. WATTGATE_SMTP_URL sends them, and "
        "WATTGATE_MAIL_OUTBOX=true shows them at /outbox."
    )


def _to_json(added: AddedRule, mails: str) -> dict[str, Any]:
    return {
        "ruleId": added.rule.rule_id,
        "name": added.rule.name,
        "created": added.change is Change.ADDED,
        "firingsInLastDays": None if added.back_test is None else added.back_test.count,
        "testMail": added.has_test_mail,
        "mails": mails,
    }


def _print_rule(added: AddedRule, mails: str) -> None:
    lines = [f"{added.change.value}: {added.rule.name} ({added.rule.rule_id})."]
    if added.back_test is not None:
        count = added.back_test.count
        lines.append(f"In the last {BACK_TEST_DAYS} days it would have fired {count} time{'' if count == 1 else 's'}.")
    if added.has_test_mail:
        lines.append("A test mail is queued. It looks like an alert of the rule.")
    for line in (*lines, mails):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
