"""The edges from a user to the records of the user, which `User` and `Viewer` have."""

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import users as queries
from wattgate.graphql.core.connection import Connection
from wattgate.graphql.core.cost_weights import ListSize
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.pagination import connection_edge
from wattgate.graphql.services.consent_results import build_consent, build_receipt
from wattgate.graphql.types.access_log import AccessRecord
from wattgate.graphql.types.accounts import Account
from wattgate.graphql.types.alert_rules import AlertRule
from wattgate.graphql.types.alerts import Alert
from wattgate.graphql.types.consent import ConsentReceipt, MeterPointConsent
from wattgate.graphql.types.content import TermsConditionsUser
from wattgate.graphql.types.flexibility import DfsParticipation, DfsUser
from wattgate.graphql.types.paired_displays import PairedDisplay
from wattgate.graphql.types.prompts import PromptUser, UserAction
from wattgate.graphql.types.resources import Device, Resource
from wattgate.graphql.types.virtual_entities import VirtualEntity
from wattgate.graphql.types.webhooks import Webhook, WebhookError
from wattgate.principal import Permission


@strawberry.type
class UserRecords:
    """The records of the user with the attribute `user_id`, also for callers who may see those of all users."""

    user_id: strawberry.ID
    accounts: Connection[Account] = connection_edge(
        "Account",
        models.Account,
        column="user_id",
        parent="user_id",
        needs=Permission.ACCOUNT_READ,
        description="Accounts with which the user logs in.",
    )
    homes: Connection[VirtualEntity] = connection_edge(
        "VirtualEntity",
        models.VirtualEntity,
        column="owner_id",
        parent="user_id",
        where=[col(models.VirtualEntity.active).is_(True)],
        needs=Permission.VIRTUAL_ENTITY_READ,
        description="Active virtual entities of the user: the homes.",
    )
    devices: Connection[Device] = connection_edge(
        "Device",
        models.Device,
        column="owner_id",
        parent="user_id",
        where=[col(models.Device.active).is_(True)],
        needs=Permission.DEVICE_READ,
        description="Active devices of the user.",
    )
    resources: Connection[Resource] = connection_edge(
        "Resource",
        models.Resource,
        column="owner_id",
        parent="user_id",
        where=[col(models.Resource.active).is_(True)],
        needs=Permission.RESOURCE_READ,
        description="Active resources of the user.",
    )
    alerts: Connection[Alert] = connection_edge(
        "Alert",
        models.Alert,
        column="user_id",
        parent="user_id",
        needs=Permission.NOTIFICATION_READ,
        description="Alerts to the user. `last: 10` returns the ten newest ones.",
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
    consents: Connection[MeterPointConsent] = connection_edge(
        "MeterPointConsent",
        models.MeterPointConsent,
        column="user_id",
        parent="user_id",
        build=build_consent,
        needs=Permission.CONSENT_READ,
        description="Consents of the user to the use of the data of meter points.",
    )
    consent_receipts: Connection[ConsentReceipt] = connection_edge(
        "ConsentReceipt",
        models.ConsentChange,
        column="user_id",
        parent="user_id",
        build=build_receipt,
        needs=Permission.CONSENT_READ,
        description="Receipts of all grants, renewals and revocations of the user's consents.",
    )
    access_log: Connection[AccessRecord] = connection_edge(
        "AccessRecord",
        models.AccessRecord,
        column="user_id",
        parent="user_id",
        needs=Permission.CONSENT_READ,
        description="Reads of the data of the user's household, with their callers.",
    )
    webhooks: Connection[Webhook] = connection_edge(
        "Webhook",
        models.Webhook,
        column="user_id",
        parent="user_id",
        needs=Permission.WEBHOOK_READ,
        description="Webhooks about events of the user.",
    )
    webhook_errors: Connection[WebhookError] = connection_edge(
        "WebhookError",
        models.WebhookError,
        column="user_id",
        parent="user_id",
        needs=Permission.WEBHOOK_READ,
        description="Failed webhooks about events of the user.",
    )
    user_actions: Connection[UserAction] = connection_edge(
        "UserAction",
        models.UserAction,
        column="user_id",
        parent="user_id",
        needs=Permission.RESPONSE_READ,
        description="Actions of the user in apps.",
    )
    prompt_users: Connection[PromptUser] = connection_edge(
        "PromptUser",
        models.PromptUser,
        column="user_id",
        parent="user_id",
        needs=Permission.RESPONSE_READ,
        description="Outcomes of prompts that the user has seen.",
    )
    terms_conditions_users: Connection[TermsConditionsUser] = connection_edge(
        "TermsConditionsUser",
        models.TermsConditionsUser,
        column="user_id",
        parent="user_id",
        needs=Permission.RESPONSE_READ,
        description="Answers of the user to terms and conditions.",
    )
    dfs_enrolments: list[DfsUser] = edge(
        queries.dfs_enrolments,
        needs=Permission.FLEXIBILITY_READ,
        sizes=[ListSize(2)],
        description="Active DFS enrolments of the user, one for each meter point, oldest first.",
    )
    dfs_participations: Connection[DfsParticipation] = connection_edge(
        "DfsParticipation",
        models.DfsParticipation,
        column="user_id",
        parent="user_id",
        needs=Permission.FLEXIBILITY_READ,
        description="Participations of the user in demand flexibility events.",
    )
