"""The alert type of the demonstration, its templates, and a rule with the alert that it raises."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from wattgate.app.demo.records import ensure_record
from wattgate.clock import format_iso
from wattgate.delivery.templates.language.contract import RULE_VARIABLES
from wattgate.delivery.templates.language.contract_values import sample_values
from wattgate.enums import Channel, RuleKind
from wattgate.operations.alerts import alert_rules
from wattgate.operations.alerts import alerts as resolvers
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.messages import alert_rules as rule_types
from wattgate.operations.types.messages import alerts as types
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Principal

ALERT_TYPE = "CM01"
"""The `systemAlertTypeId` of the demonstration's alert type."""

RULE_NAME = "Electricity above 5 kWh in 24 hours"
RULE_LIMIT, RULE_WINDOW_MINUTES = Decimal(5), 24 * 60
"""The limit of the rule in kWh, which the simulated home exceeds on each day of the year, and its window."""

RULE_AGE = timedelta(days=1)
"""How long before the start of the demonstration the rule exists, so that it evaluates the readings since then."""

MAX_RULES = 100
"""Maximum rules that a start of the demonstration evaluates."""


async def add_alert_type(runner: Runner, system: Principal) -> str:
    """Add the alert type and its mail templates, if they are missing. Return the ID of the type."""
    new_type = NewAlertType(
        name="High consumption",
        system_alert_type_id=ALERT_TYPE,
        description="More energy than usual",
        rule_kind=RuleKind.THRESHOLD,
    )
    key = "system_alert_type_id"
    alert_type = await ensure_record(runner, system, "alert_types", "add_alert_type", new_type, key)
    for template in TEMPLATES:
        new_template = types.NewTemplate(
            alert_type_id=alert_type.alert_type_id,
            name=template.name,
            channel_type=Channel.EMAIL,
            culture_code=template.culture_code,
            subject=template.subject,
            preheader=template.preheader,
            html_template=template.html,
            active=True,
        )
        await ensure_record(runner, system, "templates", "add_template", new_template, "name", "culture_code")
    return str(alert_type.alert_type_id)


async def add_alert_rule(runner: Runner, owner: Principal, alert_type_id: str, resource_id: str, now: datetime) -> None:
    """Add the rule of a user about a resource, as if the user had added it a day ago.

    A rule that the user has removed is not added again: then its alert exists.
    """
    sent = await runner.run(resolvers.user_alerts, owner, {})
    if any(isinstance(alert.data, dict) and alert.data.get("rule") == RULE_NAME for alert in sent):
        return
    new_rule = rule_types.NewAlertRule(
        name=RULE_NAME,
        kind=RuleKind.THRESHOLD,
        window_minutes=RULE_WINDOW_MINUTES,
        threshold=RULE_LIMIT,
        alert_type_id=Id(alert_type_id),
        channels=[Channel.INBOX, Channel.EMAIL],
        resource_id=Id(resource_id),
    )
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
        user_id=Id(str(owner.user_id)), alert_type_id=ALERT_TYPE, channels=[Channel.INBOX], data=Json(data)
    )
    await runner.run(resolvers.send_alert, owner, {"input": new_alert})


@dataclass(frozen=True, slots=True)
class DemoTemplate:
    name: str
    culture_code: str
    subject: str
    preheader: str
    html: str


_PAGE = """\
<!doctype html>
<html lang="{language}">
  <head>
    <meta charset="utf-8">
    <title>{title}</title>
    <style>
      body {{ margin: 0; padding: 24px 12px; background-color: #f4f1ea; font-family: Arial, sans-serif; }}
      .sheet {{ max-width: 528px; margin: 0 auto; background-color: #ffffff; }}
      .top {{ padding: 20px 28px; background-color: #1a2133; color: #ffffff; font-size: 18px; font-weight: bold; }}
      .body {{ padding: 28px; color: #1a2133; font-size: 16px; line-height: 24px; }}
      h1 {{ margin: 0 0 12px; font-size: 26px; line-height: 32px; }}
      .value {{ margin: 20px 0; padding: 20px; background-color: #fdf0df; color: #a34f00; text-align: center; }}
      .value strong {{ font-size: 40px; line-height: 48px; }}
      .button {{ padding: 12px 22px; background-color: #a34f00; color: #ffffff; text-decoration: none; }}
      .foot {{ padding: 18px 28px; background-color: #ebe5d9; color: #595f70; font-size: 13px; line-height: 20px; }}
    </style>
  </head>
  <body>
    <div class="sheet">
      <div class="top">wattgate</div>
      <div class="body">
        <h1>{title}</h1>
        <p>{greeting}</p>
        <div class="value"><strong>{{{{ value | quantity: unit }}}}</strong><br>{{{{ rule }}}}</div>
        <p>{advice}</p>
        <p style="margin: 28px 0 12px"><a class="button" href="https://wattgate.example/display">{link}</a></p>
      </div>
      <div class="foot">
        {foot}
      {{% if recipient.unsubscribeUrl %}}<br><a href="{{{{ recipient.unsubscribeUrl }}}}">{unsubscribe}</a>{{% endif %}}
      {{% if recipient.preferencesUrl %}}<br><a href="{{{{ recipient.preferencesUrl }}}}">{preferences}</a>{{% endif %}}
      </div>
    </div>
  </body>
</html>
"""

TEMPLATES = (
    DemoTemplate(
        "High consumption",
        "en-GB",
        '{{ home.name | default: "Your home" }} has used {{ value | quantity: unit }}',
        "That is more than the limit of your rule, {{ threshold | quantity: unit }}.",
        _PAGE.format(
            language="en-GB",
            title="More energy than usual",
            greeting="Hello {{ recipient.name }}, your home has used more than {{ threshold | quantity: unit }}. "
            "The rule was evaluated on {{ at | at }}.",
            advice="Is a heater or the oven on for long? If so, all is well.",
            link="See it live",
            foot="You receive this mail because of your rule “{{ alert.reason }}”.",
            unsubscribe="Stop these mails",
            preferences="Choose your alerts",
        ),
    ),
    DemoTemplate(
        "Forte consommation",
        "fr-FR",
        "{{ home.name | default: 'Votre logement' }} a consommé {{ value | quantity: unit }}",
        "C'est plus que la limite de votre règle, {{ threshold | quantity: unit }}.",
        _PAGE.format(
            language="fr-FR",
            title="Plus d'énergie que d'habitude",
            greeting="Bonjour {{ recipient.name }}, votre logement a dépassé {{ threshold | quantity: unit }}. "
            "La règle a été évaluée le {{ at | at }}.",
            advice="Le four ou un chauffage reste allumé longtemps ? Alors tout va bien.",
            link="Voir en direct",
            foot="Vous recevez ce message en raison de votre règle « {{ alert.reason }} ».",
            unsubscribe="Ne plus recevoir ces messages",
            preferences="Choisir vos alertes",
        ),
    ),
)
"""A template in the application's default culture, and a French one."""
