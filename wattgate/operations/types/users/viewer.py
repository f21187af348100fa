"""GraphQL types from which the graph starts: the caller (`Viewer`) and the records of all users (`Application`)."""

from typing import Any

import strawberry

from wattgate.db import models
from wattgate.db.queries import alerts as alert_queries
from wattgate.db.queries import virtual_entities as home_queries
from wattgate.db.queries.content import reference_loader, terms_in_force
from wattgate.db.rows.rows import Rows
from wattgate.operations.core.fields import edge
from wattgate.operations.core.pagination import Connection, connection_edge
from wattgate.operations.types.consent import (
    AccessRecord,
    ConsentReceipt,
    MeterPointConsent,
    MeterPointTenancy,
    build_consent,
    build_receipt,
)
from wattgate.operations.types.content.content import (
    Content,
    ContentFilter,
    SupportDetails,
    SupportDetailsFilter,
    TermsConditions,
    TermsConditionsFilter,
    TermsConditionsUser,
)
from wattgate.operations.types.content.flexibility import DfsEvent, DfsUser
from wattgate.operations.types.content.prompts import (
    Prompt,
    PromptFilter,
    PromptType,
    PromptUser,
    UserAction,
    UserActionType,
)
from wattgate.operations.types.homes.resources import (
    Device,
    DeviceFilter,
    Resource,
    ResourceFilter,
    ResourceType,
    ResourceTypeFilter,
)
from wattgate.operations.types.homes.virtual_entities import SharedHome, VirtualEntity, VirtualEntityType
from wattgate.operations.types.identity.accounts import Account, AccountFilter, user_edge
from wattgate.operations.types.identity.directories import Directory
from wattgate.operations.types.identity.personal_data import AuditEntry
from wattgate.operations.types.messages.alert_rules import AlertRule
from wattgate.operations.types.messages.alerts import Alert, AlertFilter, AlertType, Template, TemplateFilter
from wattgate.operations.types.messages.mail import MailSuppression
from wattgate.operations.types.messages.webhooks import Webhook, WebhookEndpoint, WebhookError
from wattgate.operations.types.meters.devices import DeviceType
from wattgate.operations.types.users.user_records import UserRecords
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import DEFAULT_LIST_SIZE, ListSize
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
    shared_homes: list[SharedHome] = edge(
        home_queries.shared_homes,
        needs=Permission.SHARED_HOME_READ,
        sizes=[ListSize(1)],
        description="Homes of others that the user may read, oldest access first. There are at most 50.",
    )
    dfs_events: Connection[DfsEvent] = _records(
        models.DfsEvent, Permission.FLEXIBILITY_READ, "Demand flexibility events of the application."
    )
    budget: Budget | None = _budget_edge()


@strawberry.type(
    description="Records of an application that the caller may see, including inactive ones: of all users for "
    "administrators and applications, otherwise the shared ones and those of the acting user."
)
class Application:
    application_id: strawberry.ID = strawberry.field(description="ID of the application.")
    name: str = strawberry.field(description="Name of the application.")
    culture_code: str = strawberry.field(description="Language and region of messages to users who have no own one.")
    created_at: terms.CreatedAt
    accounts: Connection[Account] = _records(
        models.Account, Permission.ACCOUNT_READ, "Accounts of all users.", filter_type=AccountFilter
    )
    virtual_entities: Connection[VirtualEntity] = _records(
        models.VirtualEntity, Permission.VIRTUAL_ENTITY_READ, "Virtual entities of all users."
    )
    resources: Connection[Resource] = _records(
        models.Resource, Permission.RESOURCE_READ, "Resources of all users.", filter_type=ResourceFilter
    )
    devices: Connection[Device] = _records(
        models.Device, Permission.DEVICE_READ, "Devices of all users.", filter_type=DeviceFilter
    )
    alerts: Connection[Alert] = _records(
        models.Alert, Permission.NOTIFICATION_READ, "Alerts to all users.", filter_type=AlertFilter
    )
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
    directories: Connection[Directory] = _records(
        models.Directory, Permission.DIRECTORY_MANAGE, "External directories."
    )
    alert_types: list[AlertType] = edge(
        alert_queries.alert_types,
        needs=Permission.ALERT_READ,
        sizes=[ListSize(DEFAULT_LIST_SIZE)],
        description="Alert types, by name.",
    )
    templates: Connection[Template] = _records(
        models.Template, Permission.TEMPLATE_READ, "Templates, including archived ones.", filter_type=TemplateFilter
    )
    webhook_endpoints: Connection[WebhookEndpoint] = _records(
        models.WebhookEndpoint, Permission.WEBHOOK_MANAGE, "Webhook endpoints."
    )
    contents: Connection[Content] = _records(
        models.Content, Permission.CONTENT_READ, "Content objects.", filter_type=ContentFilter
    )
    terms_conditions: Connection[TermsConditions] = _records(
        models.TermsConditions,
        Permission.CONTENT_READ,
        "All versions of terms and conditions.",
        filter_type=TermsConditionsFilter,
    )
    terms_conditions_in_force: list[TermsConditions] = edge(
        terms_in_force,
        needs=Permission.CONTENT_READ,
        sizes=[ListSize(DEFAULT_LIST_SIZE)],
        description="Terms and conditions in force: the newest effective version of each reference.",
    )
    support_details: Connection[SupportDetails] = _records(
        models.SupportDetails, Permission.CONTENT_READ, "Support details.", filter_type=SupportDetailsFilter
    )
    prompt_types: Connection[PromptType] = _records(models.PromptType, Permission.CONTENT_READ, "Prompt types.")
    prompts: Connection[Prompt] = _records(models.Prompt, Permission.CONTENT_READ, "Prompts.", filter_type=PromptFilter)
    user_action_types: Connection[UserActionType] = _records(
        models.UserActionType, Permission.CONTENT_READ, "Types of actions in apps."
    )
    virtual_entity_types: Connection[VirtualEntityType] = _records(
        models.VirtualEntityType, Permission.VIRTUAL_ENTITY_TYPE_READ, "Virtual entity types."
    )
    device_types: Connection[DeviceType] = _records(models.DeviceType, Permission.DEVICE_TYPE_READ, "Device types.")
    resource_types: Connection[ResourceType] = _records(
        models.ResourceType, Permission.RESOURCE_TYPE_READ, "Resource types.", filter_type=ResourceTypeFilter
    )
    budget: Budget | None = _budget_edge()
