"""The context of a message: what templates know of its recipient, account, home and alert, besides the alert's data."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import col

from wattgate.clock import format_iso
from wattgate.db.models import Account, Alert, AlertType, TemplateVersion, User, VirtualEntity
from wattgate.db.queries.alerts import contract_of
from wattgate.db.queries.templates import user_culture
from wattgate.db.rows.rows import Rows
from wattgate.delivery.mail_addresses import extract_addresses
from wattgate.delivery.outbound_policy import DEFAULT_OUTBOUND_POLICY, OutboundPolicy
from wattgate.delivery.templates.language.contract import UNSUBSCRIBE_URL, Contract, build_contract
from wattgate.delivery.templates.language.contract_values import sample_values
from wattgate.delivery.templates.language.cultures import message_culture
from wattgate.delivery.templates.language.diagnostics import TemplateLimitExceeded
from wattgate.delivery.templates.rendering import TemplateSource
from wattgate.delivery.templates.scope import RenderScope
from wattgate.enums import UserStatus
from wattgate.errors import BadInput, Problem

PREFERENCES_PATH = "/display"
"""The page of the gateway whose tab *Rules* has the alerts of a user."""


@dataclass(frozen=True, slots=True)
class MessageContext:
    """The contract of a message, its base variables, and the culture of its recipient."""

    contract: Contract
    base: Mapping[str, Any]
    culture: str

    def scope(self, template_culture: str | None, *, can_unsubscribe: bool = False) -> RenderScope:
        """Return what a rendering needs, for a template in this culture."""
        culture = message_culture(self.culture, template_culture)
        return RenderScope(self.contract, culture, self.base["home"]["timeZone"], can_unsubscribe)

    def without_unsubscribing(self) -> "MessageContext":
        """Return the context of a message that is no mail, so that no link can stop it."""
        recipient = {**self.base["recipient"], "unsubscribeUrl": None}
        contract = self.contract.with_samples({UNSUBSCRIBE_URL: ""})
        return MessageContext(contract, {**self.base, "recipient": recipient}, self.culture)

    def merge(self, data: Any) -> dict[str, Any]:
        """Return the data of an alert with the base variables.

        If the variables are undeclared, members of the data replace base variables of the same name, as they did before
        there were any.
        """
        own = data if isinstance(data, Mapping) else {}
        return {**own, **self.base} if self.contract.declared else merge_groups(self.base, own)


def merge_groups(base: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data with the members of base variables that it lacks. Objects of the same name are joined."""
    merged = {**base, **data}
    for name, group in base.items():
        if isinstance(data.get(name), Mapping):
            merged[name] = {**group, **data[name]}
    return merged


async def load_context(
    rows: Rows, alert: Alert, alert_type: AlertType, policy: OutboundPolicy, culture: str | None = None
) -> MessageContext:
    """Return the context of an alert's messages. A culture replaces that of the alert and of its recipient."""
    user = await rows.get(User, alert.user_id)
    culture = culture or alert.culture_code or await user_culture(rows, user)
    account, home = await _find_account(rows, user.user_id), await _find_home(rows, alert)
    base = {
        **recipient_values(account, culture, policy),
        "home": home_values(home),
        "alert": {
            **alert_values(alert_type.system_alert_type_id, alert_type.name, alert.alert_id, alert.created_at),
            "reason": _reason(alert, alert_type),
        },
    }
    return MessageContext(contract_of(alert_type), base, culture)


def sample_context(
    alert_type: AlertType | None, culture: str, policy: OutboundPolicy = DEFAULT_OUTBOUND_POLICY
) -> MessageContext:
    """Return a context with the samples of the base variables, for a preview without an alert.

    Its links are those of the gateway, if the policy has some, because a test mail has them.
    """
    contract = build_contract("") if alert_type is None else contract_of(alert_type)
    links = {f"recipient.{name}": link for name, link in _links(policy).items() if link is not None}
    contract = contract.with_samples({"recipient.culture": culture, **links})
    return MessageContext(contract, sample_values(contract.base), culture)


def _reason(alert: Alert, alert_type: AlertType) -> str:
    """Return why a user gets an alert: the name of its rule, or else the description of its type."""
    rule = alert.data.get("rule") if alert_type.rule_kind and isinstance(alert.data, Mapping) else None
    return str(rule or alert_type.description or alert_type.name)


def _links(policy: OutboundPolicy) -> dict[str, str | None]:
    """Return the links of mails by the names of their variables."""
    base_url = policy.public_url
    return {
        "unsubscribeUrl": policy.links.unsubscribe_url_of_content() if policy.links else None,
        "preferencesUrl": f"{base_url.rstrip('/')}{PREFERENCES_PATH}" if base_url else None,
    }


async def _find_account(rows: Rows, user_id: str) -> Account | None:
    """Return the user's oldest active account, or else the oldest one."""
    accounts = await rows.all(Account, col(Account.user_id) == user_id, order_by=[Account.created_at])
    active = (account for account in accounts if account.active and account.status == UserStatus.ACTIVE)
    return next(active, accounts[0] if accounts else None)


async def _find_home(rows: Rows, alert: Alert) -> VirtualEntity | None:
    """Return the home of an alert, or else the oldest active home of its user."""
    if alert.ve_id is not None:
        return (await rows.get_many(VirtualEntity, [alert.ve_id])).get(alert.ve_id)
    is_own = col(VirtualEntity.owner_id) == alert.user_id
    oldest_first = [VirtualEntity.created_at, VirtualEntity.ve_id]
    return await rows.first(VirtualEntity, is_own, col(VirtualEntity.active).is_(True), order_by=oldest_first)


# Base variables of messages: what templates know of the account, the home and the alert.


def mail_address(account: Account) -> str | None:
    """Return the address that mails to an account go to, or None if it has none."""
    return next(iter(extract_addresses([account.email or (account.username if account.mails_username else "")])), None)


def recipient_values(
    account: Account | None, culture: str, policy: OutboundPolicy = DEFAULT_OUTBOUND_POLICY
) -> dict[str, Any]:
    """Return the variables `recipient` and `account`. Without an account, both are empty but for the links."""
    recipient = {"name": "", "culture": culture, **_links(policy)}
    if account is None:
        return {
            "recipient": recipient,
            "account": {"username": None, "email": None},
        }
    return {
        "recipient": {**recipient, "name": account.name or account.username},
        "account": {"username": account.username, "email": mail_address(account)},
    }


def home_values(home: VirtualEntity | None) -> dict[str, Any]:
    """Return the members of the variable `home`. Without a home, only the time zone has a value."""
    if home is None:
        return {**dict.fromkeys(("name", "address", "city", "postcode")), "timeZone": "UTC"}
    return {
        "name": home.name,
        "address": home.location,
        "city": home.city,
        "postcode": home.postal_code,
        "timeZone": home.time_zone or "UTC",
    }


def alert_values(code: str, name: str, alert_id: str, at: datetime) -> dict[str, Any]:
    """Return the members of the variable `alert`. `code` and `name` are those of its alert type."""
    return {"id": alert_id, "code": code, "name": name, "reason": name, "at": format_iso(at)}


# Template sources for the renderer, built from stored template versions.


def template_source(version: TemplateVersion) -> TemplateSource:
    """Return the sources of a version as the renderer takes them."""
    return TemplateSource(version.html_template, version.subject, version.preheader, version.text)


def too_expensive(error: TemplateLimitExceeded) -> BadInput:
    """Return the error for a template that was stopped at a limit of time or memory."""
    problems = [Problem(("input",), str(finding)) for finding in error.findings]
    return BadInput(f"The template was stopped at a limit: {error.findings[0].message}.", problems=problems)
