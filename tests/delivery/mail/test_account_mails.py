"""The gateway's own mails on a real mail server: registration and reset of a password, their templates and bounds."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from sqlmodel import col
from strawberry import ID

from tests.support import people
from tests.support.asking import with_rows
from tests.support.house import PASSWORD, House, house
from tests.support.interfaces import GRAPHQL, INTERFACES, by_interface
from tests.support.servers import Databases
from tests.support.smtp import MailServer, ReceivedMail, mail_server
from wattgate.db.models import TemplateVersion
from wattgate.db.rows.rows import Rows
from wattgate.delivery.account_mail_texts import TEXTS, builtin_source
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.delivery.templates.language.contract import SYSTEM_VARIABLES, build_contract
from wattgate.delivery.templates.language.contract_values import sample_values
from wattgate.delivery.templates.renderer import TemplateRenderer
from wattgate.delivery.templates.scope import RenderScope
from wattgate.enums import Channel
from wattgate.operations.types.messages.alerts import NewTemplateText, TemplateChange

NEW_PASSWORD = "battery staple"
PUBLIC_URL = "https://gateway.example"


@dataclass
class Mailed:
    """A gateway that sends its mails to a mail server."""

    house: House
    smtp: MailServer

    async def ask(self, interface: str, operation: str, /, **variables: Any) -> Any:
        """Run an operation without credentials, and return its value."""
        variables["applicationId"] = self.house.one.application_id
        result = await by_interface(self.house, interface, operation, variables, {})
        assert result.code is None, result.body
        return result.value

    async def register(self, interface: str = GRAPHQL, **more: Any) -> str:
        """Register a new user, and return the username, which is the mail address."""
        username = f"{uuid4().hex}@example.org"
        person = {"name": "Ada", "username": username, "email": username, "password": PASSWORD}
        await self.ask(interface, "register", **person, **more)
        return username

    async def mails(self, address: str, count: int = 1) -> list[ReceivedMail]:
        """Wait until an address has got a number of mails, and return them."""
        async with asyncio.timeout(60):
            while True:
                found = [mail for mail in self.smtp.taken if mail.recipients == [address]]
                if len(found) >= count:
                    return found
                await asyncio.sleep(0.02)

    async def wait_without_secrets(self) -> None:
        """Wait until no mail holds a code, because the outcome of each delivery is recorded."""
        async with asyncio.timeout(60):
            while True:
                if not await people.waiting_secrets(self.house.one):
                    return
                await asyncio.sleep(0.02)


@asynccontextmanager
async def serve_with_mails(databases: Databases) -> AsyncIterator[Mailed]:
    """Serve a gateway on a new database that sends its mails to a new mail server."""
    async with mail_server() as smtp, databases() as url:
        settings: dict[str, Any] = {
            "smtp_url": f"smtp://127.0.0.1:{smtp.port}",
            "mail_from": "Energy <accounts@energy.example>",
            "public_url": PUBLIC_URL,
            "link_key": "k" * 40,
        }
        async with house(url, **settings) as opened:
            yield Mailed(opened, smtp)


@pytest.fixture(scope="module")
async def mailed(databases: Databases) -> AsyncIterator[Mailed]:
    async with serve_with_mails(databases) as opened:
        yield opened


def text_of(mail: ReceivedMail) -> str:
    body = mail.message.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def html_of(mail: ReceivedMail) -> str:
    body = mail.message.get_body(("html",))
    assert body is not None
    return str(body.get_content())


def code_of(mail: ReceivedMail) -> str:
    """Return the code of a mail, which is in a line of its own."""
    found = re.search(r"^([\w-]{43}|\d{6})$", text_of(mail), re.MULTILINE)
    assert found is not None, text_of(mail)
    return found[1]


def link_of(mail: ReceivedMail) -> str:
    found = re.search(r"^https://\S+$", text_of(mail), re.MULTILINE)
    assert found is not None, text_of(mail)
    return found[0]


@pytest.mark.parametrize("interface", INTERFACES)
async def test_register_verify_forget_reset_and_log_in(mailed: Mailed, interface: str) -> None:
    username = await mailed.register(interface)
    account = {"username": username, "password": PASSWORD}
    await mailed.ask(interface, "request_verification", **account)
    (mail,) = await mailed.mails(username)
    assert mail.message["Subject"] == "Confirm your registration"
    assert "List-Unsubscribe" not in mail.message
    verified = await mailed.ask(interface, "verify_user", **account, token=code_of(mail))
    assert verified["status"].lower() == "active"
    assert (await mailed.ask(interface, "authenticate", **account))["valid"] is True

    await mailed.ask(interface, "request_password_reset", username=username)
    *_, mail = await mailed.mails(username, 2)
    assert mail.message["Subject"] == "Set a new password"
    await mailed.ask(interface, "reset_password", username=username, token=code_of(mail), newPassword=NEW_PASSWORD)
    assert (await mailed.ask(interface, "authenticate", username=username, password=NEW_PASSWORD))["valid"] is True
    *_, notice = await mailed.mails(username, 3)
    assert notice.message["Subject"] == "The password of your account was changed"
    await mailed.wait_without_secrets()


async def test_link_has_the_code_in_the_fragment(mailed: Mailed) -> None:
    username = await mailed.register()
    await mailed.ask(GRAPHQL, "request_password_reset", username=username)
    pages = set()
    for mail in await mailed.mails(username, 2):
        link = urlsplit(link_of(mail))
        pages.add(f"{link.scheme}://{link.netloc}{link.path}")
        assert parse_qs(link.query) == {"application": [mailed.house.one.application_id]}
        assert parse_qs(link.fragment) == {"username": [username], "code": [code_of(mail)]}
        assert link_of(mail).replace("&", "&amp;") in html_of(mail)
    assert pages == {f"{PUBLIC_URL}/verify", f"{PUBLIC_URL}/reset"}


async def test_mail_is_in_the_culture_of_the_user(mailed: Mailed) -> None:
    (mail,) = await mailed.mails(await mailed.register(cultureCode="fr-ca"))
    assert mail.message["Subject"] == "Confirmez votre inscription"
    assert 'lang="fr"' in html_of(mail)


async def test_application_replaces_the_built_in_text(mailed: Mailed) -> None:
    html = "<p>Dear {{ recipient.name }}, your code of {{ application.name }} is {{ code }}.</p>"
    template = NewTemplateText(
        name="Welcome", subject="Welcome to {{ application.name }}", html_template=html, active=True
    )
    added = await add_template(mailed, "account.verify", template)
    (mail,) = await mailed.mails(await mailed.register())
    assert mail.message["Subject"] == "Welcome to one"
    assert re.search(r"Dear Ada, your code of one is \d{6}\.", text_of(mail))
    try:
        for broken in (
            "<p>{{ code }}</p><script>{{ code }}</script>",
            "<p>Welcome</p>",
        ):  # it cannot be rendered, as versions from before the check of publications; it hides the code
            await store_html(mailed, added, broken)
            (mail,) = await mailed.mails(await mailed.register())
            assert mail.message["Subject"] == "Confirm your registration"
    finally:
        await change_template(mailed, added, TemplateChange(active=False))


async def test_invitation_to_a_home_reveals_no_names_to_the_holder_of_its_address(mailed: Mailed) -> None:
    """Its recipient may be a stranger to the user who invites, also if the application has a template with names."""
    owner, address = mailed.house.one, f"{uuid4().hex}@example.org"
    document = """mutation ($homeId: ID!, $email: String!) { inviteHomeMember(homeId: $homeId, name: "<b>Eve</b>",
      email: $email) { ... on HomeInvitation { code } } }"""
    values = {"homeId": owner.ids["virtual_entity"], "email": address}
    await mailed.house.graphql(document, owner.headers["account"], **values)
    (mail,) = await mailed.mails(address)
    assert mail.message["Subject"] == "You are invited to see a home"
    assert "within 7 days" in text_of(mail)
    template = NewTemplateText(
        name="Invitation",
        subject="Invitation",
        html_template="<p>[{{ recipient.name }}{{ account.username }}{{ account.email }}] {{ code }}</p>",
        active=True,
    )
    added = await add_template(mailed, "account.home-invitation", template)
    try:
        await mailed.house.graphql(document, owner.headers["account"], **values)
        (_, own) = await mailed.mails(address, 2)
        assert "[]" in text_of(own)
        for sent in (mail, own):
            assert not {"Eve", owner.username} & set(re.split(r"[^\w@.]+", text_of(sent) + html_of(sent)))
    finally:
        await change_template(mailed, added, TemplateChange(active=False))


async def test_built_in_text_is_previewed_until_there_is_a_template(mailed: Mailed) -> None:
    preview = "query ($input: TemplateToPreview!) { previewTemplate(input: $input) { subject text html } }"
    headers = mailed.house.one.headers["application"]
    for culture, subject in (("en-GB", "Set a new password"), ("fr-FR", "Choisissez un nouveau mot de passe")):
        named = {"alertTypeId": "account.reset", "channelType": "EMAIL", "cultureCode": culture}
        shown = (await mailed.house.graphql(preview, headers, input=named))["data"]["previewTemplate"]
        assert shown["subject"] == subject
        assert "4711" in shown["text"]
    pushed = {"alertTypeId": "account.reset", "channelType": "PUSH"}
    assert "errors" in await mailed.house.graphql(preview, headers, input=pushed)


async def add_template(mailed: Mailed, short_code: str, template: NewTemplateText) -> str:
    arguments = {"channel_type": Channel.EMAIL, "culture_code": "en-GB", "input": template}
    added = await mailed.house.one.run("add_template_for", alert_type_id=ID(short_code), **arguments)
    return str(added.template_id)


async def store_html(mailed: Mailed, template_id: str, html: str) -> None:
    """Replace the HTML of all versions of a template."""

    async def replace(rows: Rows) -> None:
        assert await rows.update(TemplateVersion, col(TemplateVersion.template_id) == template_id, html_template=html)

    await with_rows(mailed.house.one, replace, write=True)


async def change_template(mailed: Mailed, template_id: str, change: TemplateChange) -> None:
    await mailed.house.one.run("update_template", template_id=ID(template_id), input=change)


async def test_unsubscribed_address_still_gets_its_code(mailed: Mailed) -> None:
    username = await mailed.register()
    await mailed.mails(username)
    await people.unsubscribe_address(mailed.house.one, username)
    await mailed.ask(GRAPHQL, "request_password_reset", username=username)
    *_, mail = await mailed.mails(username, 2)
    assert mail.message["Subject"] == "Set a new password"


async def test_built_in_texts_have_every_code_and_use_only_declared_variables() -> None:
    assert set(SYSTEM_VARIABLES) == set(ACCOUNT_MAIL_TYPES)
    renderer = TemplateRenderer()
    try:
        for language, texts in TEXTS.items():
            assert set(texts) == set(ACCOUNT_MAIL_TYPES)
            for short_code in ACCOUNT_MAIL_TYPES:
                contract = build_contract(short_code)
                data = sample_values(contract.variables)
                source = builtin_source(short_code, language)
                scope = RenderScope(contract, language, "UTC")
                assert await renderer.check(source, scope) == []
                for link in {data.get("link"), None}:
                    rendered = await renderer.render(source, {**data, "link": link}, scope)
                    assert rendered.subject == texts[short_code].subject
                    assert "Example Energy" in rendered.text
                    assert data.get("code", "") in rendered.text
                    assert data.get("code", "") in rendered.html
    finally:
        await renderer.close()
