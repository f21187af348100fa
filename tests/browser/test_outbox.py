"""The outbox page of the demonstration in a real browser."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect
from sqlalchemy import delete, update

from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.mail_schemes import SCHEMES_HTML, ColorScheme, expect_schemes
from tests.browser.page_checks import accessibility_violations, violations_in_both_schemes
from tests.support.demonstration import demonstration
from tests.support.scopes import EVERYTHING
from tests.support.servers import serving
from wattgate.app.demo import seed
from wattgate.app.demo.logins import USERNAME
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.models import AlertRule, Delivery
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

pytestmark = pytest.mark.browser

ADD_TEMPLATE = """mutation ($kind: ID!, $html: String!) {
  createTemplateFor(alertTypeId: $kind, channelType: EMAIL, cultureCode: "en-GB",
    input: {name: "Weekly budget", htmlTemplate: $html, active: true}) { ... on Template { templateId } }
}"""

ADD_ALERT_TYPE = """mutation {
  createAlertType(input: {systemAlertTypeId: "BUDGET", name: "High consumption"}) { ... on AlertType { alertTypeId } }
}"""

SEND_ALERT = """mutation ($userId: ID!, $kind: String!) {
  sendAlert(input: {userId: $userId, alertTypeId: $kind, channels: [EMAIL], priority: HIGH,
    data: {name: "Ada <script>document.title = 'run'</script>", used: 80}}) { ... on Alert { alertId } }
}"""

SEND_TEST = """mutation ($address: String!, $subject: String!, $kind: ID!, $html: String!) {
  sendTestMail(address: $address, input: {alertTypeId: $kind, html: $html, subject: $subject}) {
      ... on SentTestMail { state } }
}"""

HTML = """<style>h1 { color: #0a5; font-family: sans-serif } p { font-family: sans-serif }</style>
<h1>80 % of your budget is used</h1>
<p>Dear {{ name }}, {{ used }} % of this month’s budget is used, and ten days are left.</p>
<script>parent.document.title = "run"</script>"""


@dataclass
class Outbox:
    """A demonstration with a mail template, and the user who receives the mails."""

    url: str
    user_id: str
    alert_type_id: str

    async def send(self) -> None:
        """Send an alert by mail."""
        await query_graphql(self.url, SEND_ALERT, userId=self.user_id, kind=self.alert_type_id)

    async def send_test(self, address: str, subject: str, html: str = "<p>Hello</p>") -> None:
        """Send a test mail."""
        await query_graphql(self.url, SEND_TEST, address=address, subject=subject, html=html, kind=self.alert_type_id)

    async def sent(self) -> list[dict[str, str]]:
        """Send a mail, wait until the outbox lists a mail, and return the list."""
        await self.send()
        async with httpx.AsyncClient(base_url=self.url) as client, asyncio.timeout(20):
            while True:
                mails = (await client.get("/outbox/mails")).json()
                if mails:
                    return list(mails)
                await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
async def outbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Outbox]:
    settings, _ = await demonstration(tmp_path_factory.mktemp("outbox"), timedelta(days=1))
    await silence_demonstration(settings)
    async with serving(create_app(settings)) as url:
        data = await query_graphql(url, "{ application { accounts { edges { node { userId username } } } } }")
        alert_type_id = (await query_graphql(url, ADD_ALERT_TYPE))["createAlertType"]["alertTypeId"]
        await query_graphql(url, ADD_TEMPLATE, kind=alert_type_id, html=HTML)
        accounts = [edge["node"] for edge in data["application"]["accounts"]["edges"]]
        (user_id,) = (account["userId"] for account in accounts if account["username"] == USERNAME)
        yield Outbox(url, user_id, alert_type_id)


async def silence_demonstration(settings: Settings) -> None:
    """Disable the rules of the demonstration and remove its waiting mails, so that all mails are those of the tests."""
    database = Database(settings.database_url)
    async with database.session(EVERYTHING) as session:
        await session.execute(update(AlertRule).values(enabled=False), execution_options=SCOPED_OPTION)
        await session.execute(delete(Delivery), execution_options=SCOPED_OPTION)
        await session.commit()
    await database.close()


@pytest.fixture(scope="module")
async def kept(browser: Browser, outbox: Outbox) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (1280, 800), base_url=outbox.url) as pages:
        yield pages


@pytest.fixture
async def page(kept: KeptPages) -> AsyncIterator[Page]:
    async with kept.page() as page:
        yield page


async def query_graphql(url: str, query: str, **variables: str) -> dict[str, Any]:
    """Run a GraphQL request with the application's credential and return its data."""
    credential = (seed.APPLICATION_USERNAME, seed.APPLICATION_SECRET)
    async with httpx.AsyncClient(base_url=url, auth=credential) as client:
        answer = (await client.post("/graphql", json={"query": query, "variables": variables})).json()
    assert "errors" not in answer, answer
    return dict(answer["data"])


async def test_outbox_shows_mail_as_it_would_be_sent(page: Page, outbox: Outbox) -> None:
    await page.goto("/outbox")
    await outbox.send()
    await expect(page.get_by_test_id("mail").first).to_be_visible()
    frame = page.frame_locator("#frame")
    await expect(frame.get_by_role("heading")).to_have_text("80 % of your budget is used")
    await expect(frame.get_by_text("Dear Ada <script>")).to_be_visible()
    assert await page.title() == "Outbox · wattgate"
    await page.get_by_role("tab", name="Text").click()
    await expect(page.locator("#text")).to_contain_text("80 % of this month’s budget")
    await page.keyboard.press("ArrowRight")
    await expect(page.locator("#headers")).to_contain_text("List-Unsubscribe-Post")
    await expect(page.locator("#headers")).to_contain_text(USERNAME)
    await page.keyboard.press("ArrowRight")
    await expect(page.locator("#source")).to_contain_text("multipart/alternative")
    for width in (390, 320):
        await page.set_viewport_size({"width": width, "height": 844})
        assert await page.evaluate("() => document.documentElement.scrollWidth") == width


async def test_mails_are_searched_and_filtered_by_kind_and_recipient(page: Page, outbox: Outbox) -> None:
    await outbox.sent()
    await outbox.send_test("tester@wattgate.example", "A quick test")
    await page.goto("/outbox")
    mails = page.get_by_test_id("mail")
    tests = mails.filter(has_text="[TEST] A quick test")
    await expect(tests).to_have_count(1)
    all_mails = await mails.count()
    await page.get_by_test_id("search").fill("QUICK tester@")
    await expect(mails).to_have_count(1)
    await expect(page.locator("#count")).to_have_text(f"1 of {all_mails} mails")
    await page.get_by_test_id("search").fill("nothing like it")
    await expect(page.get_by_text("No mail matches.")).to_be_visible()
    await page.get_by_test_id("search").fill("")
    await page.get_by_test_id("kind").select_option(label="Tests")
    await expect(mails).to_have_count(1)
    await page.get_by_test_id("kind").select_option(label="Alerts")
    await expect(mails).to_have_count(all_mails - 1)
    await page.get_by_test_id("kind").select_option(label="All kinds")
    await page.get_by_test_id("recipient").select_option(label="tester@wattgate.example")
    await expect(mails).to_have_count(1)
    await outbox.send()  # the next refresh keeps the filter
    await expect(page.locator("#count")).to_have_text(f"1 of {all_mails + 1} mails")


@pytest.mark.long("sizes of a mail; search, filters and mails stay in the short form")
async def test_mail_is_shown_at_widths_and_in_emulated_dark_mode(page: Page, outbox: Outbox) -> None:
    await outbox.sent()
    await page.goto("/outbox")
    frame = page.locator("#frame")
    heading = page.frame_locator("#frame").get_by_role("heading")
    await expect(heading).to_be_visible()
    for width in (320, 375, 600):
        await page.get_by_role("radio", name=f"{width} pixels").check(force=True)
        assert await frame.evaluate("(one) => one.getBoundingClientRect().width") == width
    await page.get_by_role("radio", name="Full width").check(force=True)
    assert await frame.evaluate("(one) => one.getBoundingClientRect().width") > 700
    body = page.frame_locator("#frame").locator("body")
    backgrounds = {"light": "rgba(0, 0, 0, 0)", "partial": "rgb(27, 27, 31)", "full": "rgba(0, 0, 0, 0)"}
    for dark, background in backgrounds.items():
        await page.get_by_test_id("dark").select_option(dark)
        await expect(frame).to_have_attribute("data-dark", dark)
        await expect(body).to_have_css("background-color", background)  # the frame loads its document again


async def test_clients_state_their_colour_scheme_whatever_that_of_the_browser_is(page: Page, outbox: Outbox) -> None:
    await outbox.sent()
    await outbox.send_test("scheme@wattgate.example", "Scheme", SCHEMES_HTML)
    await page.goto("/outbox")
    await page.get_by_test_id("mail").filter(has_text="[TEST] Scheme").click()
    hosts: tuple[ColorScheme, ...] = ("light", "dark")
    for host in hosts:
        await page.emulate_media(color_scheme=host)
        await expect_schemes(page, page.frame_locator("#frame").locator("i"))


async def test_hidden_frame_loads_no_mail(page: Page, outbox: Outbox) -> None:
    """Chromium can leave a frame blank that loads while it is hidden."""
    await outbox.sent()
    await outbox.send()
    await page.goto("/outbox")
    mails = page.get_by_test_id("mail")
    heading = page.frame_locator("#frame").get_by_role("heading")
    await expect(mails.nth(1)).to_be_visible()
    await expect(heading).to_be_visible()
    await page.evaluate("""() => {
      window.loads = 0;
      const observer = new MutationObserver((changes) => { window.loads += changes.length });
      observer.observe(document.querySelector("#frame"), { attributeFilter: ["srcdoc"] });
    }""")
    await page.get_by_role("tab", name="Text").click()
    for link in [await mails.nth(number).get_attribute("href") for number in (1, 0)]:
        async with page.expect_response("**/html"):
            await page.locator(f"a[href='{link}']").click()
        await expect(page.locator(f"a[href='{link}']")).to_have_attribute("aria-current", "true")
    assert await page.evaluate("() => window.loads") == 0
    await page.get_by_role("tab", name="HTML").click()
    await expect(heading).to_be_visible()


@pytest.mark.long("side path of the outbox; search, filters and mails stay in the short form")
async def test_times_are_written_in_the_preferred_language(browser: Browser, outbox: Outbox) -> None:
    await outbox.sent()
    page = await browser.new_page(base_url=outbox.url, locale="de-DE")
    await page.goto("/outbox")
    await expect(page.locator("#at")).to_have_text(re.compile(r"^\d{2}\.\d{2}\.\d{4}, \d{2}:\d{2}$"))
    await page.close()


@pytest.mark.long("side path of the outbox; search, filters and mails stay in the short form")
async def test_outbox_is_cleared_after_confirmation(page: Page, outbox: Outbox) -> None:
    await outbox.sent()
    async with httpx.AsyncClient(base_url=outbox.url) as client:
        refused = await client.delete("/outbox/mails", headers={"Sec-Fetch-Site": "cross-site"})
    assert refused.status_code == 403
    await page.goto("/outbox")
    await expect(page.get_by_test_id("mail").first).to_be_visible()
    assert await violations_in_both_schemes(page) == []
    await page.get_by_test_id("clear").click()
    await expect(page.get_by_role("dialog", name="Clear the outbox?")).to_contain_text("cannot be restored")
    assert await accessibility_violations(page) == []
    await page.get_by_test_id("cancel").click()
    await expect(page.get_by_test_id("mail").first).to_be_visible()
    await page.get_by_test_id("clear").click()
    await page.get_by_test_id("confirm").click()
    await expect(page.get_by_role("heading", name="No mail yet")).to_be_visible()
    await expect(page.get_by_test_id("mail")).to_have_count(0)
    await expect(page.locator("#mail")).to_be_hidden()
    await outbox.sent()
    await expect(page.get_by_test_id("mail")).to_have_count(1)


async def test_mail_html_has_strict_content_security_policy(outbox: Outbox) -> None:
    mails = await outbox.sent()
    async with httpx.AsyncClient(base_url=outbox.url) as client:
        response = await client.get(f"{mails[0]['path']}/html")
        policy = response.headers["content-security-policy"]
        assert policy.startswith("sandbox; default-src 'none'")
        assert "script-src" not in policy
        assert (await client.get("/outbox/mails/nobody/nothing")).status_code == 404


async def test_unsubscribe_link_asks_for_confirmation(page: Page, outbox: Outbox) -> None:
    mails = await outbox.sent()
    async with httpx.AsyncClient(base_url=outbox.url) as client:
        headers = dict((await client.get(mails[0]["path"])).json()["headers"])
    token = headers["List-Unsubscribe"].strip("<>").rpartition("/")[2]
    await page.goto(f"/unsubscribe/{token}")
    await page.get_by_role("button", name="Unsubscribe").click()
    await expect(page.get_by_role("heading")).to_have_text("You are unsubscribed")
    data = await query_graphql(outbox.url, "{ application { mailSuppressions { edges { node { cause } } } } }")
    assert [edge["node"]["cause"] for edge in data["application"]["mailSuppressions"]["edges"]] == ["UNSUBSCRIBED"]
    await query_graphql(
        outbox.url,
        ("mutation ($a: String!) { deleteMailSuppression(address: $a) { ... on MailSuppression { address } } }"),
        a=USERNAME,
    )
