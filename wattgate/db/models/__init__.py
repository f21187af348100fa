"""All tables of the gateway."""

from wattgate.db.models.homes.consent import ConsentChange, MeterPointConsent
from wattgate.db.models.homes.devices import (
    CatchUp,
    Device,
    DeviceClaim,
    DeviceSensor,
    DeviceType,
    HardwareIds,
    Intake,
    TypeProtocol,
    TypeSensor,
)
from wattgate.db.models.homes.flexibility import DfsEvent, DfsParticipation, DfsUser
from wattgate.db.models.homes.meter_point_tenancies import MeterPointTenancy
from wattgate.db.models.homes.network import NetworkDevice, NetworkMeterPoint, NetworkReading, NetworkRegister
from wattgate.db.models.homes.resources import Reading, ReadingDay, ReadingHour, Resource, ResourceType
from wattgate.db.models.homes.tariffs import Tariff, TariffPrice
from wattgate.db.models.homes.virtual_entities import (
    VirtualEntity,
    VirtualEntityResource,
    VirtualEntityType,
    WantedResource,
)
from wattgate.db.models.identity.access_log import AccessRecord
from wattgate.db.models.identity.audit import AuditEntry, AuditHead
from wattgate.db.models.identity.directories import Directory, ExternalAccount
from wattgate.db.models.identity.identity import Account, LoginBackoff, LoginSource, Token, User
from wattgate.db.models.identity.oauth import AuthorizationCode, OAuthClient, RefreshToken
from wattgate.db.models.identity.paired_displays import DisplayPairing, PairedDisplay
from wattgate.db.models.identity.personal_data import DataExport, DataExportPart, Erasure
from wattgate.db.models.identity.second_factor import RecoveryCode, SecondFactor
from wattgate.db.models.identity.users import (
    AccountMail,
    AccountProfile,
    AccountSession,
    EmailChange,
    MobileAppToken,
    OneTimeCode,
)
from wattgate.db.models.messages.alert_rules import AlertRule
from wattgate.db.models.messages.alerts import (
    Alert,
    AlertType,
    Notification,
    NotificationLog,
    Template,
    TemplateVersion,
)
from wattgate.db.models.messages.content import (
    Content,
    Faq,
    LanguageContent,
    Prompt,
    PromptType,
    PromptUser,
    QuestionAndReply,
    SupportDetails,
    TermsConditions,
    TermsConditionsUser,
    UserAction,
    UserActionType,
)
from wattgate.db.models.messages.deliveries import Delivery
from wattgate.db.models.messages.mail import KeptMail, MailSuppression, TestMail
from wattgate.db.models.messages.webhooks import Webhook, WebhookEndpoint, WebhookError, WebhookEvent
from wattgate.db.models.secret_keys import SecretKey
from wattgate.db.models.stored_events import StoredEvent
from wattgate.db.models.tenancy import Application, ApplicationCredential, Tenanted
from wattgate.db.models.trusted_documents import TrustedDocument
from wattgate.energy.costs.tariffs import TariffBand, TariffBlock
from wattgate.energy.meters.network_state import NetworkState
from wattgate.energy.storage_fields import StorageDefinition, StorageField

__all__ = [
    "AccessRecord",
    "Account",
    "AccountMail",
    "AccountProfile",
    "AccountSession",
    "Alert",
    "AlertRule",
    "AlertType",
    "Application",
    "ApplicationCredential",
    "AuditEntry",
    "AuditHead",
    "AuthorizationCode",
    "CatchUp",
    "ConsentChange",
    "Content",
    "DataExport",
    "DataExportPart",
    "Delivery",
    "Device",
    "DeviceClaim",
    "DeviceSensor",
    "DeviceType",
    "DfsEvent",
    "DfsParticipation",
    "DfsUser",
    "Directory",
    "DisplayPairing",
    "EmailChange",
    "Erasure",
    "ExternalAccount",
    "Faq",
    "HardwareIds",
    "Intake",
    "KeptMail",
    "LanguageContent",
    "LoginBackoff",
    "LoginSource",
    "MailSuppression",
    "MeterPointConsent",
    "MeterPointTenancy",
    "MobileAppToken",
    "NetworkDevice",
    "NetworkMeterPoint",
    "NetworkReading",
    "NetworkRegister",
    "NetworkState",
    "Notification",
    "NotificationLog",
    "OAuthClient",
    "OneTimeCode",
    "PairedDisplay",
    "Prompt",
    "PromptType",
    "PromptUser",
    "QuestionAndReply",
    "Reading",
    "ReadingDay",
    "ReadingHour",
    "RecoveryCode",
    "RefreshToken",
    "Resource",
    "ResourceType",
    "SecondFactor",
    "SecretKey",
    "StorageDefinition",
    "StorageField",
    "StoredEvent",
    "SupportDetails",
    "Tariff",
    "TariffBand",
    "TariffBlock",
    "TariffPrice",
    "Template",
    "TemplateVersion",
    "Tenanted",
    "TermsConditions",
    "TermsConditionsUser",
    "TestMail",
    "Token",
    "TrustedDocument",
    "TypeProtocol",
    "TypeSensor",
    "User",
    "UserAction",
    "UserActionType",
    "VirtualEntity",
    "VirtualEntityResource",
    "VirtualEntityType",
    "WantedResource",
    "Webhook",
    "WebhookEndpoint",
    "WebhookError",
    "WebhookEvent",
]
