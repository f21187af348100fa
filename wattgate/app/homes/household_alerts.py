"""The records that each household has from the first minute: alert types with mails for each kind of rule, and terms.

`wattgate home create` and the demonstration add them by the same function.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

from wattgate.app.homes.records import Note, find_or_add
from wattgate.app.homes.series import find_operation
from wattgate.db.models import AlertType, Template, TermsConditions
from wattgate.db.queries.templates import application_culture
from wattgate.delivery.rule_mail_texts import LANGUAGES, MAILS, rule_mail
from wattgate.enums import Channel, RuleKind
from wattgate.operations.core.runner import Runner
from wattgate.operations.flexibility import DFS_REFERENCE
from wattgate.operations.types.content.content import NewTermsConditions
from wattgate.operations.types.messages.alert_rules import NewAlertRule
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.types.messages.alerts import NewTemplate
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission, Principal

ALERT_TYPES: Mapping[RuleKind, NewAlertType] = MappingProxyType(
    {
        RuleKind.THRESHOLD: NewAlertType(
            system_alert_type_id="CM01",
            name="High consumption",
            description="A rule measured more or less than its limit",
            rule_kind=RuleKind.THRESHOLD,
        ),
        RuleKind.NO_DATA: NewAlertType(
            system_alert_type_id="ND01",
            name="No readings",
            description="No reading has arrived for the time of a rule",
            rule_kind=RuleKind.NO_DATA,
        ),
        RuleKind.PACE: NewAlertType(
            system_alert_type_id="BP01",
            name="Budget",
            description="The use of a period will exceed the budget of a rule",
            rule_kind=RuleKind.PACE,
        ),
    }
)
"""The alert types of a household. `Rules` of the display offers a kind of rule if it has an alert type."""

CODES = frozenset(new_type.system_alert_type_id for new_type in ALERT_TYPES.values())

HOURS_OF_DAY, MINUTES_OF_HOUR = 24, 60


async def ensure_alert_types(runner: Runner, system: Principal, display_url: str, note: Note) -> dict[RuleKind, str]:
    """Add the alert types of a household that are missing, with their mails. Return the ID of each.

    An application that has alert types of its own for rules keeps them alone, so that its users are offered nothing
    else. Changed and archived records stay as they are.
    """
    present: list[AlertType] = await runner.run(find_operation("alert_types"), system, {})
    own = {kind.rule_kind: kind.alert_type_id for kind in present if kind.rule_kind and kind.active}
    if any(kind.rule_kind and kind.system_alert_type_id not in CODES for kind in present):
        return own
    culture = await runner.read(system, Permission.SYSTEM, application_culture)
    ids = dict[RuleKind, str]()
    for kind, new_type in ALERT_TYPES.items():
        key = "system_alert_type_id"
        stored, created = await find_or_add(runner, system, "alert_types", "add_alert_type", new_type, key)
        note("alert type", stored.name, stored.alert_type_id, created)
        ids[kind] = stored.alert_type_id
    await _ensure_templates(runner, system, ids, culture, display_url, note)
    return ids


async def _ensure_templates(
    runner: Runner, system: Principal, ids: Mapping[RuleKind, str], culture: str, display_url: str, note: Note
) -> None:
    """Add the mails of the alert types, unless there is one in the language, which an editor may have archived."""
    stored: list[Template] = await runner.run(find_operation("templates"), system, {"include_archived": True})
    present = {
        (template.alert_type_id, _language(template.culture_code)): template
        for template in stored
        if template.channel_type == Channel.EMAIL.value
    }
    for kind, alert_type_id in ids.items():
        for language in LANGUAGES:
            template, created = present.get((alert_type_id, language)), False
            if template is None:
                new = build_template(kind, alert_type_id, language, culture, display_url)
                template, created = await runner.run(find_operation("add_template"), system, {"input": new}), True
            note("template", f"{template.name} ({template.culture_code})", template.template_id, created)


def build_template(
    kind: RuleKind, alert_type_id: str, language: str, application_culture: str, display_url: str
) -> NewTemplate:
    """Return the mail of a kind of rule in a language as a template.

    Messages fall back to the language without a region, and then to the culture of the application. So the template in
    the language of the application has its culture, and the others have no region.
    """
    source = rule_mail(kind, language, display_url)
    return NewTemplate(
        alert_type_id=Id(alert_type_id),
        name=MAILS[language].texts[kind].name,
        channel_type=Channel.EMAIL,
        culture_code=application_culture if _language(application_culture) == language else language,
        subject=source.subject,
        preheader=source.preheader,
        html_template=source.html,
        active=True,
    )


def _language(culture: str) -> str:
    return culture.partition("-")[0].lower()


def build_day_rule(limit: Decimal, alert_type_id: str, resource_id: str, *, enabled: bool = True) -> NewAlertRule:
    """Return the rule about electricity above a limit in kWh in 24 hours. It goes to the inbox and by mail."""
    return NewAlertRule(
        name=f"Electricity above {limit} kWh in {HOURS_OF_DAY} hours",
        kind=RuleKind.THRESHOLD,
        window_minutes=HOURS_OF_DAY * MINUTES_OF_HOUR,
        threshold=limit,
        alert_type_id=Id(alert_type_id),
        channels=[Channel.INBOX, Channel.EMAIL],
        resource_id=Id(resource_id),
        enabled=enabled,
    )


# The terms that the users of a household app accept.

APP_REFERENCE, VERSION = "app", "1.0.0"

_VALID_FROM = datetime(2024, 4, 1, tzinfo=UTC)

TERMS = (
    NewTermsConditions(
        reference=APP_REFERENCE,
        version=VERSION,
        valid_from=_VALID_FROM,
        title="Terms of the app",
        data=Json({"text": "The app shows the readings of meter points that you have consented to."}),
    ),
    NewTermsConditions(
        reference=DFS_REFERENCE,
        version=VERSION,
        valid_from=_VALID_FROM,
        title="Terms of flexibility events",
        data=Json({"text": "You are paid for electricity that you do not use during an event that you joined."}),
    ),
)
"""The terms of the app, and those of the demand flexibility service."""


async def ensure_terms(runner: Runner, system: Principal, note: Note) -> list[TermsConditions]:
    """Add the terms that are missing, and return them. An application with other terms keeps its own alone."""
    terms = list[TermsConditions]()
    present: list[TermsConditions] = await runner.run(find_operation("all_terms_conditions"), system, {})
    if {stored.reference for stored in present} - {new.reference for new in TERMS}:
        return terms
    for new in TERMS:
        listing, adding = "all_terms_conditions", "add_terms_conditions"
        stored, created = await find_or_add(runner, system, listing, adding, new, "reference")
        note("terms", stored.title or stored.reference, stored.tc_id, created)
        terms.append(stored)
    return terms
