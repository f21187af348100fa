"""GraphQL types from which the graph starts: the caller (`Viewer`) and the records of all users (`Application`)."""

from typing import Any

import strawberry

from wattgate.db import models
from wattgate.db.queries.content import reference_loader
from wattgate.db.rows.rows import Rows
from wattgate.operations.core.fields import edge
from wattgate.operations.core.pagination import connection_edge
from wattgate.operations.types.consent import (
    AccessRecord,
    ConsentReceipt,
    MeterPointConsent,
    MeterPointTenancy,
    build_consent,
    build_receipt,
)
from wattgate.operations.types.content.content import TermsConditionsUser
from wattgate.operations.types.content.flexibility import DfsEvent, DfsUser
from wattgate.operations.types.content.prompts import PromptUser, UserAction
from wattgate.operations.types.homes.resources import Device, Resource
from wattgate.operations.types.homes.virtual_entities import VirtualEntity
from wattgate.operations.types.identity.accounts import Account, user_edge
from wattgate.operations.types.identity.personal_data import AuditEntry
from wattgate.operations.types.messages.alert_rules import AlertRule
from wattgate.operations.types.messages.alerts import Alert
from wattgate.operations.types.messages.mail import MailSuppression
from wattgate.operations.types.messages.webhooks import Webhook, WebhookError
from wattgate.operations.types.users.user_records import UserRecords
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.node import Connection
from wattgate.principal import Permission
from wattgate.values import terms


@strawberry.type(
    description="Request budget of the caller, after the charge for this request, in units of cost. The headers "
    "RateLimit-Policy and RateLimit have `capacity` as `q`, `remaining` as `r`, and `resetSeconds` as `t`."
)
class Budget:
    policy: str = strawberry.field(description="Name of the budget, as in the headers.")
    capacity: int = strawberry.field(description="Cost that a full budget covers.")
    remaining: int = strawberry.field(description="Cost that the budget still covers.")
    refill_per_second: float = strawberry.field(description="Cost that comes back each second.")
    reset_seconds: int = strawberry.field(description="Time until the budget is full, in seconds.")


async def _budgets(rows: Rows, parents: list[Any]) -> list[Any]:
    """Return the budget of the caller for each parent; None if the caller has no limit."""
    balance = None if rows.read_budget is None else rows.read_budget()
    if balance is None:
        return [None for _ in parents]
    budget = Budget(
        policy=balance.policy,
        capacity=balance.limit,
        remaining=balance.remaining,
        refill_per_second=balance.limit / balance.window,
        reset_seconds=balance.reset,
    )
    return [budget for _ in parents]


def _budget_edge() -> Any:
    return edge(
        _budgets,
        needs=Permission.USER_READ,
        description="Request budget of the caller. Null if it is not limited.",
    )


def _records(model: Any, needs: Permission, description: str, **options: Any) -> Any:
    """Return the edge from the application to its records of a model."""
    return connection_edge(
        model,
        column="application_id",
        needs=needs,
        description=description,
        **options,
    )


@strawberry.type(
    description="User of the account that calls, or the user in the header `userId`. Its fields return the records of "
    "this user."
)
class Viewer(UserRecords):
    account_id: strawberry.ID | None = strawberry.field(
        description="ID of the calling account. Null for an application that acts for the user."
    )
    application_id: ids.ApplicationId
    user: Any = user_edge(
        "user_id", "User who is logged in, or the user in the header `userId`. Null if neither exists."
    )
    account: Account | None = edge(
        reference_loader(models.Account, "account_id"),
        needs=Permission.ACCOUNT_READ,
        description="The calling account. Null for an application that acts for the user.",
    )
    dfs_events: Connection[DfsEvent] = _records(
        models.DfsEvent, Permission.FLEXIBILITY_READ, "Demand flexibility events of the application."
    )
    budget: Budget | None = _budget_edge()


@strawberry.type(
    description="Records of all users of an application, including inactive ones. For administrators and applications."
)
class Application:
    application_id: strawberry.ID = strawberry.field(description="ID of the application.")
    name: str = strawberry.field(description="Name of the application.")
    culture_code: str = strawberry.field(description="Language and region of messages to users who have no own one.")
    created_at: terms.CreatedAt
    accounts: Connection[Account] = _records(models.Account, Permission.ACCOUNT_READ, "Accounts of all users.")
    virtual_entities: Connection[VirtualEntity] = _records(
        models.VirtualEntity, Permission.VIRTUAL_ENTITY_READ, "Virtual entities of all users."
    )
    resources: Connection[Resource] = _records(models.Resource, Permission.RESOURCE_READ, "Resources of all users.")
    devices: Connection[Device] = _records(models.Device, Permission.DEVICE_READ, "Devices of all users.")
    alerts: Connection[Alert] = _records(models.Alert, Permission.NOTIFICATION_READ, "Alerts to all users.")
    webhooks: Connection[Webhook] = _records(models.Webhook, Permission.WEBHOOK_READ, "Webhooks of the application.")
    webhook_errors: Connection[WebhookError] = _records(
        models.WebhookError, Permission.WEBHOOK_READ, "Failed webhooks of the application."
    )
    audit_log: Connection[AuditEntry] = _records(
        models.AuditEntry,
        Permission.AUDIT_READ,
        "Entries of the audit log.",
        first_argument=terms.FirstEntries,
    )
    access_log: Connection[AccessRecord] = _records(
        models.AccessRecord,
        Permission.CONSENT_READ,
        "Reads of the data of households, with their callers.",
        first_argument=terms.FirstEntries,
    )
    consent_receipts: Connection[ConsentReceipt] = _records(
        models.ConsentChange,
        Permission.CONSENT_READ,
        "Receipts of all grants, renewals and revocations of consents.",
        type_name="ConsentReceipt",
        build=build_receipt,
        first_argument=terms.FirstReceipts,
    )
    consents: Connection[MeterPointConsent] = _records(
        models.MeterPointConsent,
        Permission.CONSENT_READ,
        "Consents of all users.",
        build=build_consent,
    )
    tenancies: Connection[MeterPointTenancy] = _records(
        models.MeterPointTenancy,
        Permission.CONSENT_READ,
        "Meter points at which users live or have lived, with the times.",
        first_argument=terms.FirstTenancies,
    )
    alert_rules: Connection[AlertRule] = _records(
        models.AlertRule, Permission.NOTIFICATION_READ, "Alert rules of all users."
    )
    dfs_users: Connection[DfsUser] = _records(
        models.DfsUser, Permission.FLEXIBILITY_READ, "DFS enrolments of all users."
    )
    mail_suppressions: Connection[MailSuppression] = _records(
        models.MailSuppression,
        Permission.NOTIFICATION_SEND,
        "E-mail addresses that receive no more mail.",
    )
    user_actions: Connection[UserAction] = _records(
        models.UserAction, Permission.RESPONSE_READ, "Actions of all users in apps."
    )
    prompt_users: Connection[PromptUser] = _records(models.PromptUser, Permission.RESPONSE_READ, "Outcomes of prompts.")
    terms_conditions_users: Connection[TermsConditionsUser] = _records(
        models.TermsConditionsUser,
        Permission.RESPONSE_READ,
        "Answers of users to terms and conditions.",
    )
    dfs_events: Connection[DfsEvent] = _records(
        models.DfsEvent,
        Permission.FLEXIBILITY_READ,
        "Demand flexibility events.",
    )
    budget: Budget | None = _budget_edge()
