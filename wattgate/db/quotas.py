"""Quotas: how many records of each kind one user, one application or one parent record may have.

`QUOTAS` and `NOT_COUNTED` name every model of tenants. `Rows.add` checks the quota of each new record. Records above a
quota stay readable. Operations of the system itself, such as commands of the operator, have no quotas.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from sqlalchemy import ColumnElement

from wattgate.db import models
from wattgate.db.lookups import model_columns
from wattgate.db.models import Tenanted
from wattgate.errors import QuotaExceeded

DEFAULT_APPLICATION_RECORDS = 1_000_000
"""Default maximum of each kind of record that grows with the users of an application."""

MAX_PAIRED_DISPLAYS = 50
"""Maximum paired displays of a user."""

RECOUNT_PARTS = 16
"""An application is counted again when it has added this part of the free rest of its quota.

Up to this many processes can therefore count separately without exceeding it.
"""

MAX_COUNTS = 10_000
"""Maximum number of counts in memory. Above it, the oldest is dropped and counted again when it is needed."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The maximum number of records of a model. None means no limit.

    `per_parent` is a column that refers to another record, and the limit for each of those. `grows_with_users` is true
    if the setting WATTGATE_APPLICATION_RECORDS limits the records of an application.
    """

    noun: str
    per_user: int | None = None
    per_application: int | None = None
    per_parent: tuple[str, int] | None = None
    grows_with_users: bool = False


QUOTAS: Mapping[type[Tenanted], Quota] = MappingProxyType(
    {
        models.User: Quota("users", grows_with_users=True),
        models.Account: Quota("accounts", per_user=50, grows_with_users=True),
        models.VirtualEntity: Quota("virtual entities", per_user=500, grows_with_users=True),
        models.Resource: Quota("resources", per_user=2_000, grows_with_users=True),
        models.Device: Quota("devices", per_user=1_000, grows_with_users=True),
        models.DeviceClaim: Quota("claim codes of devices", grows_with_users=True),
        models.DeviceSensor: Quota("sensors of devices", per_parent=("device_id", 200)),
        models.PairedDisplay: Quota("paired displays", per_user=MAX_PAIRED_DISPLAYS),
        models.CatchUp: Quota("catch-ups", per_user=10_000),
        models.Tariff: Quota("tariffs of resources", per_parent=("resource_id", 2_000)),
        models.UserAction: Quota("user actions", per_user=1_000),
        models.MeterPointConsent: Quota("consents", per_user=2_000),
        models.DfsUser: Quota("flexibility enrolments", per_user=1_000),
        models.PromptUser: Quota("states of prompts", per_user=5_000),
        models.TermsConditionsUser: Quota("acceptances of terms", per_user=5_000),
        models.AlertType: Quota("alert types", per_application=1_000),
        models.Template: Quota("templates", per_application=5_000),
        models.TemplateVersion: Quota("versions of templates", per_parent=("template_id", 1_000)),
        models.Content: Quota("contents", per_application=10_000),
        models.LanguageContent: Quota("contents in a language", per_application=50_000),
        models.Faq: Quota("FAQs", per_application=5_000),
        models.Prompt: Quota("prompts", per_application=10_000),
        models.PromptType: Quota("prompt types", per_application=1_000),
        models.SupportDetails: Quota("support details", per_application=1_000),
        models.TermsConditions: Quota("terms and conditions", per_application=1_000),
        models.UserActionType: Quota("user action types", per_application=1_000),
        models.DeviceType: Quota("device types", per_application=1_000),
        models.ResourceType: Quota("resource types", per_application=1_000),
        models.VirtualEntityType: Quota("virtual entity types", per_application=1_000),
        models.DfsEvent: Quota("flexibility events", per_application=50_000),
        models.Directory: Quota("directories", per_application=50),
        models.OAuthClient: Quota("OAuth clients", per_application=1_000),
        models.TrustedDocument: Quota("trusted documents", per_application=20_000),
    }
)

_EACH_ATTEMPT = "It belongs to a delivery, and maintenance deletes it after its retention time."

NOT_COUNTED: Mapping[type[Tenanted], str] = MappingProxyType(
    {
        models.AccountProfile: "Its operation limits an account to 100 profiles.",
        models.AccountSession: "An account has one.",
        models.ExternalAccount: "An account has at most one.",
        models.SecondFactor: "An account has at most one.",
        models.RecoveryCode: "An account has ten.",
        models.MobileAppToken: "Its operation replaces the oldest token of an account.",
        models.OneTimeCode: "Its operation limits the open codes of an account.",
        models.Token: "A log-in deletes expired tokens, and ends the oldest above the maximum of an account.",
        models.DisplayPairing: "Its operation limits those of an application, and maintenance deletes old ones.",
        models.RefreshToken: "The token endpoint deletes expired tokens, and costs 1,000 units.",
        models.AuthorizationCode: "The token endpoint deletes expired codes.",
        models.AlertRule: "Its operation limits a user to 100 rules.",
        models.Alert: "An alert costs 300 units. It is a message, and refusing it would lose it.",
        models.Notification: "An alert has at most one for each channel.",
        models.NotificationLog: "A notification has a few for each attempt, and attempts are limited.",
        models.Delivery: "It belongs to a notification or a webhook, whose number is limited by their cost.",
        models.Webhook: _EACH_ATTEMPT,
        models.WebhookError: _EACH_ATTEMPT,
        models.WebhookEvent: "Maintenance deletes it after its retention time.",
        models.WebhookEndpoint: "Its operation limits an application to 50 endpoints.",
        models.KeptMail: "Its operation keeps the newest mails only.",
        models.TestMail: "Its operation keeps the newest test mails only.",
        models.MailSuppression: "An application has one for each address that rejected mail.",
        models.MeterPointTenancy: "A user has one for each meter point of resources and consents, which have quotas.",
        models.ConsentChange: "It is the legal record of consents; refusing it would refuse a withdrawal.",
        models.AccessRecord: "It has one row for each reader, resource, operation and hour, and a retention time.",
        models.DfsParticipation: "A user has one for each event and meter point, which have quotas.",
        models.VirtualEntityResource: "A virtual entity has one for each resource, which have quotas.",
        models.AuditEntry: "It is the record of administrative acts; refusing it would refuse the act.",
        models.EmailChange: "Its operation limits an account to 10 changes in 24 hours.",
        models.AccountMail: "The mails to an address and to a user are limited.",
        models.LoginBackoff: "An application has at most 100,000. The oldest are forgotten.",
        models.LoginSource: "An account has at most 20 devices and 10 addresses.",
        models.Intake: "An application has one for each configured intake.",
        models.Erasure: "A user has one.",
        models.DataExport: "A user has one.",
        models.DataExportPart: "The size of an archive is limited.",
    }
)
"""Models without a quota, with the reason."""


class Counts(Protocol):
    """Counts of the records of one application, for all of its users."""

    application_id: str

    async def count_in_application(self, model: type[Tenanted], *where: ColumnElement[bool], limit: int) -> int:
        """Return the number of records that meet the conditions. Stop at the limit."""


@dataclass(slots=True)
class _ApplicationCount:
    """The records of an application when they were counted, and those that this process has added since."""

    counted: int
    recount_after: int
    added: int = 0


class QuotaChecker:
    """Checks the quotas of new records. `application_records` is that of kinds that grow with users; 0 means no limit.

    The records of a user are counted for each new one. An application may have many more, so that they are counted
    again only after a part of the free rest is used.
    """

    def __init__(
        self,
        application_records: int = DEFAULT_APPLICATION_RECORDS,
        *,
        quotas: Mapping[type[Tenanted], Quota] = QUOTAS,
    ) -> None:
        self._application_records = application_records
        self._quotas = quotas
        self._counts: OrderedDict[tuple[str, type[Tenanted]], _ApplicationCount] = OrderedDict()

    async def check(self, counts: Counts, record: Tenanted) -> None:
        """Raise QuotaExceeded if there is no room for a new record."""
        model = type(record)
        quota = self._quotas.get(model)
        if quota is None:
            return
        if quota.per_user is not None and model.owner is not None:
            await _check_column(counts, model, quota, model.owner, quota.per_user, record)
        if quota.per_parent is not None:
            await _check_column(counts, model, quota, *quota.per_parent, record)
        limit = self._application_records if quota.grows_with_users else quota.per_application
        if limit:
            await self._check_application(counts, model, quota, limit)

    async def _check_application(self, counts: Counts, model: type[Tenanted], quota: Quota, limit: int) -> None:
        key = counts.application_id, model
        known = self._counts.get(key)
        if known is None or known.added >= known.recount_after:
            counted = await counts.count_in_application(model, limit=limit)
            known = self._counts[key] = _ApplicationCount(counted, (limit - counted) // RECOUNT_PARTS)
            self._counts.move_to_end(key)
            while len(self._counts) > MAX_COUNTS:
                self._counts.popitem(last=False)
        if known.counted + known.added >= limit:
            action = "Ask the operator to raise WATTGATE_APPLICATION_RECORDS" if quota.grows_with_users else _ADVICE
            raise QuotaExceeded(f"The application has {limit:,} {quota.noun}, which is its quota. {action}.")
        known.added += 1


_ADVICE = "Change an existing record instead, or remove one"


async def _check_column(
    counts: Counts, model: type[Tenanted], quota: Quota, column: str, limit: int, record: Tenanted
) -> None:
    value = getattr(record, column)
    if value is None:
        return
    if await counts.count_in_application(model, model_columns(model)[column] == value, limit=limit) < limit:
        return
    owner = "user" if column == model.owner else column.removesuffix("_id").replace("_", " ")
    raise QuotaExceeded(f"The {owner} has {limit:,} {quota.noun}, which is the quota for each {owner}. {_ADVICE}.")
