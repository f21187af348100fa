"""Batch loaders of users and of what belongs to them: one result for each parent, with a fixed number of statements."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from sqlmodel import col

from wattgate.db.models import Account, Alert, AlertRule, DfsUser, PairedDisplay, User
from wattgate.db.queries.templates import application_culture
from wattgate.db.rows.rows import Rows

R = TypeVar("R", AlertRule, DfsUser, PairedDisplay)


class UserWithAccounts(msgspec.Struct, gc=False):
    """A user and its accounts, oldest first. `culture_code` is that of its messages."""

    user_id: str
    application_id: str
    applications: list[Account]
    status: str
    active: bool
    culture_code: str
    created_at: datetime
    updated_at: datetime


async def load_users(rows: Rows, user_ids: Collection[str]) -> dict[str, UserWithAccounts]:
    """Return the visible users with these ids, by id."""
    return await add_accounts(rows, (await rows.get_many(User, user_ids)).values())


async def add_accounts(rows: Rows, users: Collection[User]) -> dict[str, UserWithAccounts]:
    """Return users with their accounts, by id."""
    user_ids = {user.user_id for user in users}
    accounts = defaultdict[str, list[Account]](list)
    for account in await rows.all(Account, col(Account.user_id).in_(user_ids), order_by=[Account.created_at]):
        accounts[account.user_id].append(account)
    default = await application_culture(rows) if any(user.culture_code is None for user in users) else ""
    return {
        user.user_id: UserWithAccounts(
            user_id=user.user_id,
            application_id=user.application_id,
            applications=accounts[user.user_id],
            status=user.status,
            active=user.active,
            culture_code=user.culture_code or default,
            created_at=user.created_at,
            updated_at=user.updated_at,
        )
        for user in users
    }


def user_loader(column: str) -> Callable[[Rows, Sequence[Any]], Awaitable[list[UserWithAccounts | None]]]:
    """Return a loader of the user whose id is in a column of each parent; None if it is not visible."""

    async def owners(rows: Rows, parents: Sequence[Any]) -> list[UserWithAccounts | None]:
        found = await load_users(rows, {getattr(parent, column) for parent in parents} - {None})
        return [found.get(getattr(parent, column)) for parent in parents]

    return owners


async def unread_alerts(rows: Rows, users: Sequence[Any]) -> list[int]:
    """Return the number of unread alerts of each user."""
    of_users = col(Alert.user_id).in_({user.user_id for user in users})
    counts = await rows.count_by(Alert, "user_id", of_users, col(Alert.read_at).is_(None))
    return [counts.get(user.user_id, 0) for user in users]


async def alert_rules(rows: Rows, users: Sequence[Any]) -> list[list[AlertRule]]:
    """Return the alert rules of each user, oldest first."""
    rules = await rows.all(
        AlertRule,
        col(AlertRule.user_id).in_({user.user_id for user in users}),
        order_by=[AlertRule.created_at, AlertRule.rule_id],
    )
    return _by_user(rules, [user.user_id for user in users])


async def paired_displays(rows: Rows, users: Sequence[Any]) -> list[list[PairedDisplay]]:
    """Return the paired displays of each user, oldest first."""
    return await displays_of_users(rows, [user.user_id for user in users])


async def displays_of_users(rows: Rows, user_ids: Sequence[str]) -> list[list[PairedDisplay]]:
    """Return the paired displays of each user whose credential is valid, oldest first."""
    displays = await rows.all(
        PairedDisplay,
        col(PairedDisplay.user_id).in_(set(user_ids)),
        col(PairedDisplay.expires_at) > rows.now,
        order_by=[PairedDisplay.created_at, PairedDisplay.display_id],
    )
    return _by_user(displays, user_ids)


async def dfs_enrolments(rows: Rows, users: Sequence[Any]) -> list[list[DfsUser]]:
    """Return the active DFS enrolments of each user, oldest first."""
    enrolments = await rows.all(
        DfsUser,
        col(DfsUser.user_id).in_({user.user_id for user in users}),
        col(DfsUser.active).is_(True),
        order_by=[DfsUser.created_at],
    )
    return _by_user(enrolments, [user.user_id for user in users])


def _by_user(records: Iterable[R], user_ids: Sequence[str]) -> list[list[R]]:
    """Return the records of each user, in their order."""
    records_of = defaultdict[str, list[R]](list)
    for record in records:
        records_of[record.user_id].append(record)
    return [records_of[user_id] for user_id in user_ids]
