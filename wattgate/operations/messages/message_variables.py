"""Base variables of messages: what templates know of the account, the home and the alert."""

from datetime import datetime
from typing import Any

from wattgate.clock import format_iso
from wattgate.db.models import Account, VirtualEntity
from wattgate.delivery.mail_addresses import extract_addresses


def mail_address(account: Account) -> str | None:
    """Return the address that mails to an account go to, or None if it has none."""
    return next(iter(extract_addresses([account.email or (account.username if account.mails_username else "")])), None)


def recipient_values(account: Account | None, culture: str) -> dict[str, Any]:
    """Return the variables `recipient` and `account`. Both are empty without an account."""
    if account is None:
        return {
            "recipient": {"name": "", "culture": culture},
            "account": {"username": None, "email": None},
        }
    return {
        "recipient": {"name": account.name or account.username, "culture": culture},
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
    return {"id": alert_id, "code": code, "name": name, "at": format_iso(at)}
