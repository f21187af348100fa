"""Carry out the commands that list applications, users and homes. They read, so they need no operations."""

from functools import partial
from typing import Any

from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.reading_context import with_current_reader
from wattgate.app.cli.record_lists import print_records, run_in_application, to_text
from wattgate.app.homes.applications import ListedHome, list_accounts, list_homes
from wattgate.app.settings import Settings


def app_list(*, as_json: bool) -> None:
    """List the applications, with the usernames of their Basic credentials."""
    applications = run_async(with_current_reader(Settings(), lambda reader: reader.list_applications()))
    records = [
        {
            "name": application.name,
            "applicationId": application.application_id,
            "usernames": list(application.usernames),
            "createdAt": to_text(application.created_at),
        }
        for application in applications
    ]
    print_records(records, len(records), as_json=as_json)


def user_list(*, application: str | None, search: str | None, limit: int, as_json: bool) -> None:
    """List the accounts of the users of an application."""
    accounts = run_in_application(application, partial(list_accounts, limit=limit + 1, search=search))
    records = [
        {
            "username": account.username,
            "name": account.name,
            "email": account.email or None,
            "status": account.status,
            "administrator": account.administrator,
            "templateEditor": account.template_editor,
            "userId": account.user_id,
            "accountId": account.account_id,
        }
        for account in accounts
    ]
    print_records(records, limit, as_json=as_json)


def home_list(*, application: str | None, limit: int, as_json: bool) -> None:
    """List the homes of an application, with their owners and resources."""
    homes = run_in_application(application, partial(list_homes, limit=limit + 1))
    print_records([home_record(listed) for listed in homes], limit, as_json=as_json)


def home_record(listed: ListedHome) -> dict[str, Any]:
    """Return a home as a record of a list."""
    home = listed.home
    return {
        "name": home.name,
        "user": listed.username,
        "timeZone": home.time_zone,
        "veId": home.ve_id,
        "resources": [resource.classifier for resource in listed.resources],
    }
