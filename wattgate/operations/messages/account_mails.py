"""The gateway's own mails to the holders of accounts: enqueue them, and render them when they are sent.

A code waits in an encrypted column and nowhere else: in no event, log or notification. It is deleted when the delivery
ends, or when the code is withdrawn.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace
from sqlalchemy import literal
from sqlmodel import col, select

from wattgate.clock import format_iso
from wattgate.db.identity.login_backoff import NO_ACCOUNT
from wattgate.db.models import Account, AccountMail, AlertType, Delivery, MeterPointTenancy, Template, User
from wattgate.db.queries import templates as queries
from wattgate.db.queries.tenancies import find_home_at
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mail_texts import builtin_language, builtin_source
from wattgate.delivery.account_mails import (
    ACCOUNT_MAIL_TYPES,
    CONFIRM_EMAIL,
    HOME_INVITATION,
    TENANCY_ENDED,
    code_link,
)
from wattgate.delivery.channels.channel import MessageContent, PermanentFailure
from wattgate.delivery.templates.language.contract import build_contract
from wattgate.delivery.templates.language.cultures import message_culture
from wattgate.delivery.templates.language.diagnostics import TemplateError
from wattgate.delivery.templates.rendering import RenderedTemplate
from wattgate.delivery.templates.scope import RenderScope
from wattgate.enums import DeliveryKind, UserStatus
from wattgate.operations.core.operation import Call
from wattgate.operations.messages import outbox
from wattgate.operations.messages.mail_bounds import BOUND_WINDOW, exceeded_bound
from wattgate.operations.messages.message_context import (
    alert_values,
    home_values,
    mail_address,
    recipient_values,
    template_source,
)

log = logging.getLogger(__name__)

ADDRESS_ENDED = "user.address.ended"
"""Failure code of a mail to an address that no active account of the user has any more."""

TENANCY_CONTINUES = "tenancy.continues"
"""Failure code of a mail about the end of a tenancy to a user who has moved in again."""

MAX_NOTICES = 5
"""Maximum notices of one kind to an account in BOUND_WINDOW.

Mails with codes do not count: otherwise strangers could request codes until the holder gets no notice of a change.
"""


_WITH_CODE = [name for name, type_ in ACCOUNT_MAIL_TYPES.items() if type_.has_code]
_PROVE_ADDRESS = [name for name, type_ in ACCOUNT_MAIL_TYPES.items() if type_.proves_address]


async def enqueue_account_mail(
    call: Call,
    short_code: str,
    account: Account | None,
    address: str | None,
    *,
    code: str | None = None,
    expires_at: datetime | None = None,
    tenancy_id: str | None = None,
) -> None:
    """Enqueue a mail to an address of an account. Above a bound, store it as SUPPRESSED with the reason.

    Without an account or an address, execute the same statements and store nothing, so that the time of a transaction
    does not reveal which usernames exist.
    """
    has_recipient = account is not None and address is not None
    mail = AccountMail(
        user_id=account.user_id if account and has_recipient else NO_ACCOUNT,
        account_id=account.account_id if account and has_recipient else NO_ACCOUNT,
        name=short_code,
        tenancy_id=tenancy_id,
        expires_at=expires_at,
        created_at=call.rows.now,
    )
    reason = await _suppression_reason(call, mail, address or "")
    if code is not None and reason is None:
        call.rows.encrypt(mail, "secret", code)
    await call.rows.add_for(Account, mail)
    delivery = outbox.new_delivery(
        DeliveryKind.ACCOUNT_MAIL,
        mail.account_mail_id,
        now=call.rows.now,
        user_id=mail.user_id,
        address=address or "",
        suppressed_reason=reason,
    )
    await call.rows.add_for(AccountMail, delivery, parent_id=mail.account_mail_id)
    outbox.announce(call, DeliveryKind.ACCOUNT_MAIL)


async def enqueue_tenancy_notices(call: Call, rows: Rows, tenancy_id: str, user_id: str) -> None:
    """Enqueue a mail about the end of a tenancy to each address of the active accounts of its user.

    `rows` are those of the application, because an act of another user ends the tenancy.
    """
    call = replace(call, rows=rows)
    accounts = await rows.all(
        Account,
        col(Account.user_id) == user_id,
        col(Account.active).is_(True),
        col(Account.status) == UserStatus.ACTIVE,
        order_by=[Account.created_at, Account.account_id],
    )
    by_address = {address: account for account in reversed(accounts) if (address := mail_address(account))}
    for address, account in by_address.items():
        await enqueue_account_mail(call, TENANCY_ENDED, account, address, tenancy_id=tenancy_id)


async def withdraw_codes(rows: Rows, account_id: str, *short_codes: str) -> None:
    """Delete the codes of an account that wait in mails of some kinds, or of all kinds. Those mails are not sent."""
    kinds = (col(AccountMail.name).in_(short_codes),) if short_codes else ()
    is_waiting = col(AccountMail.account_id) == account_id, col(AccountMail.secret).is_not(None)
    await rows.update(AccountMail, *is_waiting, *kinds, secret=None)


async def reason_not_to_send(rows: Rows, mail: AccountMail, address: str) -> PermanentFailure | None:
    """Return why a mail must not be sent to an address: it is no longer true, or the address is. None otherwise.

    A notice for security goes to the holder of the address of its time, also after somebody else has closed the account
    or changed its address.
    """
    kind = ACCOUNT_MAIL_TYPES[mail.name]
    if mail.expires_at is not None and mail.expires_at <= rows.now:
        return PermanentFailure("code.expired", "the code in the mail has expired")
    if kind.has_code and mail.secret is None:
        return PermanentFailure("code.withdrawn", "the code in the mail was used or replaced")
    if kind.for_security and not kind.has_code:
        return None
    account = await rows.get(Account, mail.account_id)
    is_present = mail.name in (CONFIRM_EMAIL, HOME_INVITATION) or address == mail_address(account)
    if account.status == UserStatus.INACTIVE or not is_present:
        return PermanentFailure(ADDRESS_ENDED, "the account is closed, or has another address now")
    if mail.tenancy_id is not None and await _has_moved_in_again(rows, mail.tenancy_id):
        return PermanentFailure(TENANCY_CONTINUES, "the user lives at the meter point again")
    return None


async def render_account_mail(call: Call, mail: AccountMail) -> MessageContent:
    """Return the content of a mail: from the application's template for the culture of the user, or the built-in one.

    The mail is more important than its form: if a template cannot be rendered, or does not show the code, the built-in
    one is used.
    """
    account = await call.rows.get(Account, mail.account_id)
    culture = await queries.user_culture(call.rows, await call.rows.get(User, mail.user_id))
    code = None if mail.secret is None else call.rows.decrypt(AccountMail, mail, "secret")
    data = await _build_data(call, mail, account, culture, code)
    rendered = await _render_own(call, mail.name, culture, data)
    if rendered is None or not _shows(rendered, code):
        scope = _scope(mail.name, culture, builtin_language(culture), data)
        rendered = await call.templates.render(builtin_source(mail.name, culture), data, scope)
    return MessageContent(rendered.subject or ACCOUNT_MAIL_TYPES[mail.name].name, rendered.text, rendered.html)


async def _suppression_reason(call: Call, mail: AccountMail, address: str) -> str | None:
    """Return which bound the mail would exceed, or None."""
    if ACCOUNT_MAIL_TYPES[mail.name].has_code:
        return await _exceeded_bound_of_codes(call, mail, address)
    sent = await call.rows.count_in_application(
        AccountMail,
        col(AccountMail.account_id) == mail.account_id,
        col(AccountMail.name) == mail.name,
        col(AccountMail.created_at) > call.rows.now - BOUND_WINDOW,
    )
    window_minutes = BOUND_WINDOW // timedelta(minutes=1)
    return f"more than {MAX_NOTICES} such notices in {window_minutes} minutes" if sent >= MAX_NOTICES else None


async def _exceeded_bound_of_codes(call: Call, mail: AccountMail, address: str) -> str | None:
    """Return as `exceeded_bound` does for a mail with a code.

    Mails to addresses that somebody has entered have counts of their own: otherwise strangers could register with an
    address until its holder gets no code for a new password.
    """
    proves_address = ACCOUNT_MAIL_TYPES[mail.name].proves_address
    name = col(AccountMail.name)
    of_group = select(AccountMail.account_mail_id).where(
        name.in_(_WITH_CODE),
        name.in_(_PROVE_ADDRESS) == literal(proves_address),  # the same statement for each mail
    )
    is_counted = col(Delivery.target_id).in_(of_group)
    group = ":entered" if proves_address else ":known"
    return await exceeded_bound(call, DeliveryKind.ACCOUNT_MAIL, mail.user_id, address, group, is_counted)


async def _build_data(
    call: Call, mail: AccountMail, account: Account, culture: str, code: str | None
) -> dict[str, Any]:
    """Return the variables of a mail. `delivery.templates.language.contract` declares them."""
    application = await call.rows.application()
    kind, base_url = ACCOUNT_MAIL_TYPES[mail.name], call.outbound_policy.public_url
    data: dict[str, Any] = {
        # the recipient of an invitation is a stranger to the account that invites
        **recipient_values(None if mail.name == HOME_INVITATION else account, culture),
        "home": home_values(None),
        **await _tenancy_values(call.rows, mail),
        "alert": alert_values(mail.name, kind.name, mail.account_mail_id, mail.created_at),
        "application": {"name": application.name if application else ""},
    }
    if code is not None and mail.expires_at is not None:
        data |= {"code": code, "minutes": (mail.expires_at - mail.created_at) // timedelta(minutes=1)}
        if kind.page is not None:
            link = code_link(base_url, kind.page, mail.application_id, account.username, code) if base_url else None
            data["link"] = link
    return data


async def _has_moved_in_again(rows: Rows, tenancy_id: str) -> bool:
    """Return whether the user of a tenancy lives at its meter point now."""
    tenancy, model = await rows.get(MeterPointTenancy, tenancy_id), MeterPointTenancy
    is_own = col(model.user_id) == tenancy.user_id, col(model.mpxn) == tenancy.mpxn
    return await rows.count(model, *is_own, col(model.ended_at).is_(None), limit=1) > 0


async def _tenancy_values(rows: Rows, mail: AccountMail) -> dict[str, Any]:
    """Return the variables about the tenancy of a mail, and the home that the user has there."""
    if mail.tenancy_id is None:
        return {}
    tenancy = await rows.get(MeterPointTenancy, mail.tenancy_id)
    home = await find_home_at(rows, tenancy.user_id, tenancy.mpxn)
    ended_at = None if tenancy.ended_at is None else format_iso(tenancy.ended_at)
    return {"home": home_values(home), "meterPoint": tenancy.mpxn, "endedAt": ended_at}


async def _render_own(call: Call, short_code: str, culture: str, data: dict[str, Any]) -> RenderedTemplate | None:
    """Return the mail as the application's template has it. None without a template, or if it cannot be rendered."""
    template = await _find_template(call.rows, short_code, culture)
    if template is None:
        return None
    (version,) = await queries.current_versions(call.rows, [template])
    try:
        scope = _scope(short_code, culture, template.culture_code, data)
        return await call.templates.render(template_source(version), data, scope)
    except TemplateError:
        # the findings are not logged, because they may quote the data
        log.warning(
            "Template %s of %s cannot be rendered. The mail uses the built-in text. Preview the template to see why.",
            template.template_id,
            short_code,
        )
        return None


def _scope(short_code: str, culture: str, template_culture: str, data: dict[str, Any]) -> RenderScope:
    """Return the scope of a rendering, for a template in a culture. Times are in the zone of the home of the data."""
    zone = data["home"]["timeZone"]
    return RenderScope(build_contract(short_code), message_culture(culture, template_culture), zone)


async def _find_template(rows: Rows, short_code: str, culture: str) -> Template | None:
    alert_type = await rows.first(AlertType, col(AlertType.system_alert_type_id) == short_code)
    if alert_type is None:
        return None
    return (await queries.choose_template(rows, alert_type.alert_type_id, DeliveryKind.EMAIL.value, culture)).template


def _shows(rendered: RenderedTemplate, code: str | None) -> bool:
    """Return whether both forms of a mail contain its code, which is also a part of the link."""
    return code is None or (code in rendered.text and code in rendered.html)
