"""The edges from a user to the records of the user, which `User` and `Viewer` have."""

from typing import Any

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import users as queries
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
from wattgate.operations.types.content.content import TermsConditionsUser
from wattgate.operations.types.content.flexibility import DfsParticipation, DfsUser
from wattgate.operations.types.content.prompts import PromptUser, UserAction
from wattgate.operations.types.homes.paired_displays import PairedDisplay
from wattgate.operations.types.homes.resources import Device, DeviceFilter, Resource, ResourceFilter
from wattgate.operations.types.homes.virtual_entities import VirtualEntity
from wattgate.operations.types.identity.accounts import Account, AccountFilter
from wattgate.operations.types.messages.alert_rules import AlertRule
from wattgate.operations.types.messages.alerts import Alert, AlertFilter
from wattgate.operations.types.messages.webhooks import Webhook, WebhookError
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import ListSize
from wattgate.principal import Permission
from wattgate.values import terms


def _records(model: Any, needs: Permission, description: str, *, column: str = "user_id", **options: Any) -> Any:
    """Return the edge from a user to its records of a model: those with the user's ID in a column."""
    return connection_edge(model, column=column, parent="user_id", needs=needs, description=description, **options)


@strawberry.type
class UserRecords:
    """The records of the user with the attribute `user_id`, also for callers who may see those of all users."""

    user_id: ids.UserId
    accounts: Connection[Account] = _records(
        models.Account, Permission.ACCOUNT_READ, "Accounts with which the user logs in.", filter_type=AccountFilter
    )
    homes: Connection[VirtualEntity] = _records(
        models.VirtualEntity,
        Permission.VIRTUAL_ENTITY_READ,
        "Active virtual entities of the user: the homes.",
        column="owner_id",
        where=[col(models.VirtualEntity.active).is_(True)],
    )
    devices: Connection[Device] = _records(
        models.Device,
        Permission.DEVICE_READ,
        "Active devices of the user.",
        column="owner_id",
        where=[col(models.Device.active).is_(True)],
        filter_type=DeviceFilter,
    )
    resources: Connection[Resource] = _records(
        models.Resource,
        Permission.RESOURCE_READ,
        "Active resources of the user.",
        column="owner_id",
        where=[col(models.Resource.active).is_(True)],
        filter_type=ResourceFilter,
    )
    alerts: Connection[Alert] = _records(
        models.Alert,
        Permission.NOTIFICATION_READ,
        "Alerts to the user. `last: 10` returns the ten newest ones.",
        filter_type=AlertFilter,
    )
    unread_alerts: int = edge(
        queries.unread_alerts,
        needs=Permission.NOTIFICATION_READ,
        description="Number of alerts that the user has not marked as read.",
    )
    alert_rules: list[AlertRule] = edge(
        queries.alert_rules,
        needs=Permission.NOTIFICATION_READ,
        sizes=[ListSize(10)],
        description="Alert rules of the user, oldest first. A user has at most 100.",
    )
    paired_displays: list[PairedDisplay] = edge(
        queries.paired_displays,
        needs=Permission.PAIRED_DISPLAY_READ,
        sizes=[ListSize(3)],
        description="Paired displays of the user, oldest first. A user has at most 50.",
    )
    consents: Connection[MeterPointConsent] = _records(
        models.MeterPointConsent,
        Permission.CONSENT_READ,
        "Consents of the user to the use of the data of meter points.",
        build=build_consent,
    )
    consent_receipts: Connection[ConsentReceipt] = _records(
        models.ConsentChange,
        Permission.CONSENT_READ,
        "Receipts of all grants, renewals and revocations of the user's consents.",
        type_name="ConsentReceipt",
        build=build_receipt,
        first_argument=terms.FirstReceipts,
    )
    tenancies: Connection[MeterPointTenancy] = _records(
        models.MeterPointTenancy,
        Permission.CONSENT_READ,
        "Meter points at which the user lives or has lived, with the times.",
        first_argument=terms.FirstTenancies,
    )
    access_log: Connection[AccessRecord] = _records(
        models.AccessRecord,
        Permission.CONSENT_READ,
        "Reads of the data of the user's household, with their callers.",
        first_argument=terms.FirstEntries,
    )
    webhooks: Connection[Webhook] = _records(
        models.Webhook, Permission.WEBHOOK_READ, "Webhooks about events of the user."
    )
    webhook_errors: Connection[WebhookError] = _records(
        models.WebhookError, Permission.WEBHOOK_READ, "Failed webhooks about events of the user."
    )
    user_actions: Connection[UserAction] = _records(
        models.UserAction, Permission.RESPONSE_READ, "Actions of the user in apps."
    )
    prompt_users: Connection[PromptUser] = _records(
        models.PromptUser, Permission.RESPONSE_READ, "Outcomes of prompts that the user has seen."
    )
    terms_conditions_users: Connection[TermsConditionsUser] = _records(
        models.TermsConditionsUser,
        Permission.RESPONSE_READ,
        "Answers of the user to terms and conditions.",
    )
    dfs_enrolments: list[DfsUser] = edge(
        queries.dfs_enrolments,
        needs=Permission.FLEXIBILITY_READ,
        sizes=[ListSize(2)],
        description="Active DFS enrolments of the user, one for each meter point, oldest first.",
    )
    dfs_participations: Connection[DfsParticipation] = _records(
        models.DfsParticipation,
        Permission.FLEXIBILITY_READ,
        "Participations of the user in demand flexibility events.",
    )
