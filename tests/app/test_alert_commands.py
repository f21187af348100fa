"""`wattgate alert add` and `alert list`: rules of an own home, and what they say about their mails."""

import json
from typing import Any

import pytest

from tests.app.test_home_commands import FLAT, HOME, MPRN, command, create, listed, refused
from tests.app.test_household_alerts import run
from tests.support.cli import Command
from wattgate.enums import Channel, Function, Period, RuleKind
from wattgate.operations.types.messages.alert_types import AlertTypeChange

pytestmark = pytest.mark.alternate_databases("the operations have tests on both")

__all__ = ["command"]


def add(command: Command, *words: str, **settings: str) -> dict[str, Any]:
    outcome = command("alert", "add", "--home", HOME, *words, "--json", **settings)
    assert outcome.status == 0, outcome.error
    return dict(json.loads(outcome.out))


def names(command: Command) -> dict[str, bool]:
    return {rule["name"]: rule["enabled"] for rule in listed(command, "alert", "list", "--home", HOME)}


CONDITIONS: dict[str, tuple[Any, ...]] = {
    "--above 8.5 --hours 12": ("Electricity above 8.5 kWh in 12 hours", RuleKind.THRESHOLD, "ENERGY", "8.5", 720),
    "--power 2.5": ("Electricity above 2.5 kW", RuleKind.THRESHOLD, "POWER", "2500", 10),
    "--budget 90 --period week --meter gas": ("Gas budget of 90 kWh a week", RuleKind.PACE, "ENERGY", "90", 48 * 60),
    "--spend 60": ("Electricity budget of £60 a month", RuleKind.PACE, "COST", "6000", 168 * 60),
    "--no-readings 48": ("Electricity: no reading for 48 hours", RuleKind.NO_DATA, "ENERGY", "None", 2880),
}
"""The options of `alert add`, and the name, the kind, the field, the threshold and the window of the rule."""


def test_condition_becomes_a_rule_that_mails(command: Command, subtests: pytest.Subtests) -> None:
    setup = create(command, **FLAT, gas=MPRN, live=True)
    for options, expected in CONDITIONS.items():
        with subtests.test(options):
            words = options.split()
            added = add(command, *words)
            assert (added["created"], added["name"], added["firingsInLastDays"]) == (True, expected[0], 0)
            rules = {rule.rule_id: rule for rule in run(setup["applicationId"], "alert_rules")}
            rule = rules[added["ruleId"]]
            threshold = "None" if rule.threshold is None else f"{rule.threshold.normalize():f}"
            assert (rule.name, rule.kind, rule.field, threshold, rule.window_minutes) == expected
            assert (rule.ve_id, list(rule.channels)) == (setup["veId"], [Channel.INBOX, Channel.EMAIL])
            if expected[2] == "POWER":
                assert (rule.function, rule.hysteresis) == (Function.AVG, 250)
            if rule.kind is RuleKind.PACE:
                assert rule.period is (Period.P1W if "week" in words else Period.P1M)
            assert add(command, *words) == {**added, "created": False}


def test_rule_that_is_prepared_is_turned_on(command: Command) -> None:
    create(command, **FLAT)
    prepared = "Electricity above 15 kWh in 24 hours"
    assert names(command) == {prepared: False}
    shown = command("alert", "add", "--home", HOME, "--above", "15")
    assert shown.out.startswith(f"Turned on: {prepared}")
    assert names(command) == {prepared: True}
    assert command("alert", "add", "--home", HOME, "--above", "15").out.startswith("The rule exists already")


def test_mistake_is_named_by_its_option(command: Command, subtests: pytest.Subtests) -> None:
    create(command, **FLAT)
    for options, text in (
        ("", "Name exactly one condition: --above, --power, --budget, --spend, --no-readings"),
        ("--above 1 --spend 2", "Name exactly one condition"),
        ("--above 1,5", "--above: '1,5' is not a decimal number"),
        ("--above -1", "--above: -1 is not more than 0"),
        ("--power 2", "--power: the home stores no live power"),
        ("--budget 2 --meter gas", "--meter: the home has no gas.consumption"),
    ):
        with subtests.test(options):
            refused(command("alert", "add", "--home", HOME, *options.split()), text)
            assert len(names(command)) == 1


def test_application_without_an_alert_type_for_the_kind_names_the_remedy(command: Command) -> None:
    setup = create(command, **FLAT)
    for kind in run(setup["applicationId"], "alert_types"):
        if kind.rule_kind is RuleKind.PACE:
            change = {"alert_type_id": kind.alert_type_id, "input": AlertTypeChange(active=False)}
            run(setup["applicationId"], "update_alert_type", **change)
    refused(command("alert", "add", "--home", HOME, "--spend", "60"), "no alert type for rules of kind PACE")


def test_test_mail_is_an_alert_of_the_rule_and_waits_for_a_mail_server(command: Command) -> None:
    setup = create(command, **FLAT)
    added = add(command, "--above", "8", "--test-mail")
    assert "WATTGATE_MAIL_OUTBOX=true shows them at /outbox" in added["mails"]
    (user_id,) = [record["id"] for record in setup["records"] if record["kind"] == "user"]
    (alert,) = run(setup["applicationId"], "user_alerts", user_id=user_id)
    assert alert.data["rule"] == added["name"]
    assert alert.data["value"] == 8.8
    assert alert.ve_id == setup["veId"]


def test_where_mails_go_follows_the_settings(command: Command) -> None:
    create(command, **FLAT)
    assert "/outbox shows the mails" in add(command, "--above", "1", MAIL_OUTBOX="true", PORT="8123")["mails"]
    mail = {"SMTP_URL": "smtp://mail.example", "MAIL_FROM": "a@b.example", "LINK_KEY": "k" * 32}
    sent = add(command, "--above", "2", **mail, PUBLIC_URL="https://energy.example")["mails"]
    assert "mail server of WATTGATE_SMTP_URL" in sent


def test_page_of_mails_is_refused_where_others_reach_it(command: Command, subtests: pytest.Subtests) -> None:
    create(command)
    settings: dict[str, str]
    for settings, text in (
        ({"HOST": "0.0.0.0"}, "needs a WATTGATE_HOST of this machine"),
        ({"HOST": "energy.example"}, "needs a WATTGATE_HOST of this machine"),
        ({"TRUSTED_PROXIES": '["10.0.0.0/8"]'}, "cannot be used with WATTGATE_TRUSTED_PROXIES"),
        ({"HOST": "::1"}, None),
        ({"HOST": "localhost"}, None),
    ):
        with subtests.test(str(settings)):
            outcome = command("alert", "list", "--home", HOME, MAIL_OUTBOX="true", **settings)
            assert outcome.status == (0 if text is None else 2), outcome.error
            assert (text or "") in outcome.error
