"""Share the preview of a template by a signed link that expires, and charge its work to the address."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.delivery.signed_links import SharedPreview
from wattgate.delivery.templates.language.diagnostics import TemplateLimitExceeded
from wattgate.delivery.templates.report import Preview
from wattgate.errors import BadInput, Conflict, NotFound, NotSupported, Problem
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.messages.message_context import sample_context, template_source, too_expensive
from wattgate.operations.types.messages import template_previews as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import RENDER_WEIGHT, STATEMENT_WEIGHT, render_units
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.requests.client import AddressLimiter, AddressPolicy, Client
from wattgate.values.annotations import Described

DEFAULT_HOURS = 72
MAX_HOURS = 30 * 24
"""Maximum lifetime of a link. A link cannot be withdrawn for itself alone, so that none lives for long."""


@dataclass(frozen=True, slots=True)
class SharedTemplatePreviewResult:
    preview_url: str
    version: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SharedPreviewResult:
    """The template of a link, and its version rendered with sample data."""

    template: models.Template
    preview: Preview


@operation(
    OperationKind.MUTATION,
    returns=types.SharedTemplatePreview,
    needs=Permission.TEMPLATE_WRITE,
    audit=Audit.EVERY_CALL,
    rest=RestRoute("POST", "/template/{templateId}/share", Tag.TEMPLATES),
    raises=(NotSupported, Conflict),
)
async def share_template_preview(
    call: Call,
    *,
    template_id: ids.TemplateId,
    version: Annotated[int, Described("Number of the version that the link shows. Default: the newest one.")]
    | None = None,
    hours: Annotated[int, Described("Lifetime of the link in hours, from 1 to 720.")] = DEFAULT_HOURS,
) -> SharedTemplatePreviewResult:
    """Return a link to the preview of a version of a template. It works without a log-in until it expires.

    Without `version`, the link shows the newest one. The preview contains sample data only, never that of an alert.
    `hours` is the lifetime of the link, from 1 to 720. Archiving the template ends all its links.
    """
    if not 1 <= hours <= MAX_HOURS:
        problem = Problem(("hours",), f"is not from 1 to {MAX_HOURS}")
        raise BadInput(f"Invalid lifetime of {hours} hours. Give 1 to {MAX_HOURS} hours.", problems=[problem])
    links = call.outbound_policy.links
    if links is None:
        raise NotSupported(
            "This gateway creates no links. Its operator sets WATTGATE_PUBLIC_URL and WATTGATE_LINK_KEY."
        )
    template = await call.rows.get(models.Template, template_id)
    if template.archived_at is not None:
        raise Conflict("The template is archived and cannot be shared. Restore it first with restoreTemplate.")
    shared_version = await _find_version(call, template.template_id, version)
    expires_at = (call.rows.now + timedelta(hours=hours)).replace(microsecond=0)
    shared = SharedPreview(template.application_id, template.template_id, shared_version.version, expires_at)
    return SharedTemplatePreviewResult(links.shared_preview_url(shared), shared.version, expires_at)


@operation(
    OperationKind.QUERY,
    returns=SharedPreviewResult,
    needs=Permission.SYSTEM,
    weight=STATEMENT_WEIGHT + RENDER_WEIGHT,
    address_policy=AddressPolicy.SHARED_PREVIEW,
)
async def shared_preview(call: Call, *, template_id: str, version: int, expires_at: datetime) -> SharedPreviewResult:
    """Return the preview that a link shares, with sample data. Raise NotFound after its expiry."""
    template = await call.rows.get(models.Template, template_id)
    if template.archived_at is not None or expires_at <= call.rows.now:
        raise NotFound("The link to this preview has expired.")
    source = template_source(await _find_version(call, template_id, version))
    alert_type = await call.rows.get(models.AlertType, template.alert_type_id)
    scope = sample_context(alert_type, template.culture_code).scope(template.culture_code)
    try:
        return SharedPreviewResult(template, await call.templates.preview(source, None, scope))
    except TemplateLimitExceeded as error:
        raise too_expensive(error) from None


async def _find_version(call: Call, template_id: str, number: int | None) -> models.TemplateVersion:
    """Return a version by its number, or the newest one without a number."""
    where = [col(models.TemplateVersion.template_id) == template_id]
    if number is not None:
        where.append(col(models.TemplateVersion.version) == number)
    known = await call.rows.first(models.TemplateVersion, *where, order_by=[col(models.TemplateVersion.version).desc()])
    if known is None:
        raise NotFound(f"The template has no version {number}.")
    return known


UNITS_PER_ATTEMPT = 400
"""Units of measured work that one attempt pays for: 12 ms of a processor.

With the default of 120 attempts a minute, an address uses as much of a processor as a login: 2.4 %.
"""


class AddressCharge:
    """Charge the measured work of one operation to a client address, as further attempts of the operation's policy.

    The operation itself has charged one attempt already, and that one pays for the first units. See `WorkCharge`.
    """

    def __init__(self, limits: AddressLimiter, policy: AddressPolicy, client: Client) -> None:
        self._limits = limits
        self._policy = policy
        self._client = client
        self._units = 0

    async def add_units(self, units: int) -> None:
        """Charge units before their work begins. Raise RateLimited if earlier work has used up the attempts."""
        await self.check_work()
        await self.add_done(units)

    async def add_done(self, units: int) -> None:
        """Charge units of work that is done, also above the remaining attempts of the address."""
        charged = self._units // UNITS_PER_ATTEMPT
        self._units += units
        await self._limits.charge_done(self._policy, self._client, self._units // UNITS_PER_ATTEMPT - charged)

    async def check_work(self) -> None:
        """Raise RateLimited if earlier work has used more attempts than the address may use."""
        await self._limits.check(self._policy, self._client)

    async def add_work(self, seconds: float) -> None:
        """Charge the processor time of a rendering that is done, also above the remaining attempts of the address."""
        await self.add_done(render_units(seconds))

    async def refund(self, units: int) -> None:
        """Return nothing: shared previews hash no password."""
