"""Purges of the maintenance: registrations that nobody verified, and old mails of the gateway itself."""

from datetime import timedelta

from sqlalchemy import exists
from sqlalchemy.orm import aliased
from sqlmodel import col

from wattgate.db import models
from wattgate.db.models.tenancy import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.db.rows.pages import Condition
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.enums import UserStatus
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.principal import Permission

REGISTRATIONS_PER_TRANSACTION = 100
MAILS_PER_TRANSACTION = 1_000

MAIL_RETENTION = timedelta(days=30)
"""Time for which the record of a mail of the gateway itself is kept. Its code is deleted when its delivery ends."""

ANSWERED_BY_USERS: tuple[type[Tenanted], ...] = (models.DisplayPairing,)
"""Models without an owner whose `user_id` is the user who has answered, or null."""

RECORDS_OF_REGISTRATIONS: tuple[type[Tenanted], ...] = (
    models.OneTimeCode,
    models.EmailChange,
    models.LoginSource,
    models.AccountMail,
    models.Delivery,
    models.Account,
    models.User,
)
"""The records that a registration itself creates, in the order of their deletion.

A user with any other record is kept, because an application has used the account for something.
"""


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_unverified_accounts(call: Call, *, older_than: timedelta) -> list[str]:
    """Return the applications with registrations that were not verified in time."""
    return await call.rows.application_ids_with(
        models.Account,
        col(models.Account.status) == UserStatus.UNVERIFIED,
        col(models.Account.created_at) < call.rows.now - older_than,
    )


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_unverified_accounts(call: Call, *, older_than: timedelta) -> int:
    """Delete the oldest REGISTRATIONS_PER_TRANSACTION registrations that were not verified in time.

    Return their number. Their usernames are free afterwards.
    """
    accounts = await call.rows.all(
        models.Account,
        col(models.Account.status) == UserStatus.UNVERIFIED,
        col(models.Account.created_at) < call.rows.now - older_than,
        *_has_only_a_registration(),
        order_by=[models.Account.created_at],
        limit=REGISTRATIONS_PER_TRANSACTION,
    )
    if accounts:
        user_ids = {account.user_id for account in accounts}
        for model in RECORDS_OF_REGISTRATIONS:
            await call.rows.delete(model, model_columns(model)[_owner(model)].in_(user_ids))
    return len(accounts)


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_old_account_mails(call: Call) -> list[str]:
    """Return the applications with mails of the gateway itself that are older than MAIL_RETENTION."""
    return await call.rows.application_ids_with(
        models.AccountMail, col(models.AccountMail.created_at) < call.rows.now - MAIL_RETENTION
    )


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_account_mails(call: Call) -> int:
    """Delete up to MAILS_PER_TRANSACTION old mails of the gateway itself with their deliveries. Return their number."""
    old = await call.rows.all(
        models.AccountMail,
        col(models.AccountMail.created_at) < call.rows.now - MAIL_RETENTION,
        order_by=[models.AccountMail.created_at],
        limit=MAILS_PER_TRANSACTION,
    )
    if old:
        ids = [mail.account_mail_id for mail in old]
        await call.rows.delete(models.Delivery, col(models.Delivery.target_id).in_(ids))
        await call.rows.delete(models.AccountMail, col(models.AccountMail.account_mail_id).in_(ids))
    return len(old)


def _has_only_a_registration() -> list[Condition]:
    """Return the conditions that the user of an account has no records but those of registrations."""
    other_models = set(_owned_models()) - set(RECORDS_OF_REGISTRATIONS)
    account_user = col(models.Account.user_id)
    others = [~exists().where(model_columns(model)[_owner(model)] == account_user) for model in other_models]
    other = aliased(models.Account)
    is_verified = exists().where(col(other.user_id) == account_user, col(other.status) != UserStatus.UNVERIFIED)
    return [*others, ~is_verified]


def _owned_models() -> list[type[Tenanted]]:
    return [model for model in Tenanted.__subclasses__() if model.owner is not None or model in ANSWERED_BY_USERS]


def _owner(model: type[Tenanted]) -> str:
    return model.owner or "user_id"
