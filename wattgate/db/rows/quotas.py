"""Quotas: how many records of each kind one user, one application or one parent record may have.

`QUOTAS` and `NOT_COUNTED` name every model of tenants. `Rows.add` checks the quota of each new record. Records above a
quota stay readable. Operations of the system itself, such as commands of the operator, have no quotas.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Protocol

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from wattgate.db import models
from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.db.unfinished_records import UnfinishedRecords
from wattgate.errors import QuotaExceeded

DEFAULT_APPLICATION_RECORDS = 1_000_000
"""Default maximum of each kind of record that grows with the users of an application."""

MAX_PAIRED_DISPLAYS = 50
"""Maximum paired displays of a user."""

RECOUNT_PARTS = 16
"""An application is counted again when it has added this part of the free rest of its quota.

Up to this many processes can therefore count separately without exceeding it.
"""

MAX_RULES = 100
"""Maximum alert rules of a user."""

MAX_ENDPOINTS = 50
"""Maximum webhook endpoints of an application."""

MAX_PROFILES = 100
"""Maximum profiles of an account."""

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
        models.MeterPointTenancy: Quota("tenancies", per_user=5_000, per_parent=("mpxn", 1_000)),
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
        models.AlertRule: Quota("alert rules", per_user=MAX_RULES),
        models.WebhookEndpoint: Quota("webhook endpoints", per_application=MAX_ENDPOINTS),
        models.AccountProfile: Quota("profiles", per_parent=("account_id", MAX_PROFILES)),
    }
)

_EACH_ATTEMPT = "It belongs to a delivery, and maintenance deletes it after its retention time."

NOT_COUNTED: Mapping[type[Tenanted], str] = MappingProxyType(
    {
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
        models.Alert: "An alert costs 300 units. It is a message, and refusing it would lose it.",
        models.Notification: "An alert has at most one for each channel.",
        models.NotificationLog: "A notification has a few for each attempt, and attempts are limited.",
        models.Delivery: "It belongs to a notification or a webhook, whose number is limited by their cost.",
        models.Webhook: _EACH_ATTEMPT,
        models.WebhookError: _EACH_ATTEMPT,
        models.WebhookEvent: "Maintenance deletes it after its retention time.",
        models.KeptMail: "Its operation keeps the newest mails only.",
        models.TestMail: "Its operation keeps the newest test mails only.",
        models.MailSuppression: "An application has one for each address that rejected mail.",
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
    """How many records an application may add before it is counted again, and how many it has added."""

    uncounted: int = 0
    added: int = 0


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit of a quota that a record is subject to: the records with the value in the column, or all of them."""

    maximum: int
    column: str | None = None
    value: str | None = None


class QuotaChecker:
    """Checks the quotas of new records. `application_records` is that of kinds that grow with users; 0 means no limit.

    The records of a user are counted for each new one. An application may have many more, so that they are counted
    again only after a part of the free rest is used. Records of other transactions of the process that are not
    committed yet count as well, in the order in which they came.
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
        self.unfinished = UnfinishedRecords()

    async def check(self, counts: Counts, record: Tenanted, session: Session | None = None) -> None:
        """Raise QuotaExceeded if there is no room for a new record.

        `session` is the one that adds it, if others of the process can add records at the same time.
        """
        model = type(record)
        quota = self._quotas.get(model)
        if quota is None:
            return
        with ExitStack() as announced:
            for limit in self._limits(quota, record):
                before = _nobody
                if session is not None:
                    announcement = session, (counts.application_id, model, limit.column, limit.value)
                    number = self.unfinished.announce(*announcement)
                    announced.callback(self.unfinished.withdraw, *announcement, number)
                    before = partial(self.unfinished.before, *announcement, number)
                if not await self._has_room(counts, model, limit, before):
                    raise _exceeded(model, quota, limit)
            announced.pop_all()  # until the transaction ends

    def _limits(self, quota: Quota, record: Tenanted) -> Iterator[_Limit]:
        """Yield the limits of a record."""
        columns = [quota.per_parent] if quota.per_parent is not None else []
        if quota.per_user is not None and record.owner is not None:
            columns.insert(0, (record.owner, quota.per_user))
        for column, maximum in columns:
            if (value := getattr(record, column)) is not None:
                yield _Limit(maximum, column, value)
        if of_application := self._application_records if quota.grows_with_users else quota.per_application:
            yield _Limit(of_application)

    async def _has_room(self, counts: Counts, model: type[Tenanted], limit: _Limit, before: Callable[[], int]) -> bool:
        if limit.column is not None:
            where = model_columns(model)[limit.column] == limit.value
            return await _count(counts, model, limit.maximum, before, where) < limit.maximum
        known = self._count_of(counts.application_id, model)
        if known.uncounted <= 0:
            added = known.added
            free = limit.maximum - await _count(counts, model, limit.maximum, before)
            if free <= 0:
                return False
            known.uncounted = free // RECOUNT_PARTS - (known.added - added)  # others have added while this one counted
        known.uncounted -= 1
        known.added += 1
        return True

    def _count_of(self, application_id: str, model: type[Tenanted]) -> _ApplicationCount:
        key = application_id, model
        known = self._counts.setdefault(key, _ApplicationCount())
        while len(self._counts) > MAX_COUNTS:
            self._counts.popitem(last=False)
        return known


def _nobody() -> int:
    return 0


async def _count(
    counts: Counts, model: type[Tenanted], limit: int, before: Callable[[], int], *where: ColumnElement[bool]
) -> int:
    """Return the number of records, with those of other transactions that came before and are not committed yet.

    A transaction that ends in the middle is in the number of those that came before, and may be in the count as well.
    So the records are counted again if one has ended and they would exceed the limit.
    """
    while True:
        unfinished = before()
        counted = await counts.count_in_application(model, *where, limit=limit)
        if counted >= limit or counted + unfinished < limit or before() == unfinished:
            return counted + unfinished


_ADVICE = "Change an existing record instead, or remove one"


def _exceeded(model: type[Tenanted], quota: Quota, limit: _Limit) -> QuotaExceeded:
    if limit.column is None:
        action = "Ask the operator to raise WATTGATE_APPLICATION_RECORDS" if quota.grows_with_users else _ADVICE
        return QuotaExceeded(f"The application has {limit.maximum:,} {quota.noun}, which is its quota. {action}.")
    owner = "user" if limit.column == model.owner else limit.column.removesuffix("_id").replace("_", " ")
    return QuotaExceeded(
        f"The {owner} has {limit.maximum:,} {quota.noun}, which is the quota for each {owner}. {_ADVICE}."
    )
