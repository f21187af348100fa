"""The outbox of the demonstration in a real browser: a mail is there as it would have been sent."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.demonstration import demonstration
from tests.support.servers import serving
from wattgate.app.demo import seed
from wattgate.app.server.factory import create_app

pytestmark = pytest.mark.browser

ADD = """mutation ($kind: ID!, $html: String!) {
  addTemplateFor(alertTypeId: $kind, channelType: EMAIL, cultureCode: "en-GB",
    input: {name: "Weekly budget", htmlTemplate: $html}) { templateId }
}"""

SEND = """mutation ($userId: ID!, $kind: String!) {
  sendAlert(input: {userId: $userId, alertTypeId: $kind, channels: [EMAIL], priority: HIGH,
    data: {name: "Ada <script>document.title = 'run'</script>", used: 80}}) { alertId }
}"""

HTML = """<style>h1 { color: #0a5; font-family: sans-serif } p { font-family: sans-serif }</style>
<h1>80 % of your budget is used</h1>
<p>Dear {{ name }}, {{ used }} % of this month’s budget is used, and ten days are left.</p>
<script>parent.document.title = "run"</script>"""


@dataclass
class Outbox:
    """A demonstration that has a template for mails, and whom they are sent to."""

    url: str
    user_id: str
    kind: str

    async def send(self) -> None:
        """Send an alert by mail."""
        await ask(self.url, SEND, userId=self.user_id, kind=self.kind)

    async def sent(self) -> list[dict[str, str]]:
        """Send one, and wait until the outbox lists it: all that it lists."""
        await self.send()
        async with httpx.AsyncClient(base_url=self.url) as client, asyncio.timeout(20):
            while True:
                listed = (await client.get("/outbox/mails")).json()
                if listed:
                    return list(listed)
                await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
async def outbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Outbox]:
    settings, _ = await demonstration(tmp_path_factory.mktemp("outbox"), timedelta(days=1))
    async with serving(create_app(settings)) as url:
        found = await ask(url, "{ accounts { userId username } alertTypes { alertTypeId } }")
        kind = found["alertTypes"][0]["alertTypeId"]
        await ask(url, ADD, kind=kind, html=HTML)
        (user_id,) = (one["userId"] for one in found["accounts"] if one["username"] == seed.USERNAME)
        yield Outbox(url, user_id, kind)


@pytest.fixture
async def page(browser: Browser, outbox: Outbox) -> AsyncIterator[Page]:
    context = await browser.new_context(base_url=outbox.url, viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    yield page
    await context.close()


async def ask(url: str, query: str, **variables: str) -> dict[str, Any]:
    """What the demonstration's application gets to know by GraphQL."""
    credential = (seed.APPLICATION_USERNAME, seed.APPLICATION_SECRET)
    async with httpx.AsyncClient(base_url=url, auth=credential) as client:
        told = (await client.post("/graphql", json={"query": query, "variables": variables})).json()
    assert "errors" not in told, told
    return dict(told["data"])


async def test_a_mail_appears_and_can_be_looked_at_as_it_would_have_been_sent(page: Page, outbox: Outbox) -> None:
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
    await expect(page.locator("#headers")).to_contain_text(seed.USERNAME)
    await page.keyboard.press("ArrowRight")
    await expect(page.locator("#source")).to_contain_text("multipart/alternative")
    await page.set_viewport_size({"width": 390, "height": 844})
    assert await page.evaluate("() => document.documentElement.scrollWidth") == 390


async def test_a_mails_html_runs_nothing_and_loads_nothing_unencrypted(outbox: Outbox) -> None:
    listed = await outbox.sent()
    async with httpx.AsyncClient(base_url=outbox.url) as client:
        answer = await client.get(f"{listed[0]['path']}/html")
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("sandbox; default-src 'none'")
        assert "script-src" not in policy
        assert (await client.get("/outbox/mails/nobody/nothing")).status_code == 404


async def test_the_link_of_a_mail_asks_before_it_unsubscribes(page: Page, outbox: Outbox) -> None:
    listed = await outbox.sent()
    async with httpx.AsyncClient(base_url=outbox.url) as client:
        headers = dict((await client.get(listed[0]["path"])).json()["headers"])
    token = headers["List-Unsubscribe"].strip("<>").rpartition("/")[2]
    await page.goto(f"/unsubscribe/{token}")
    await page.get_by_role("button", name="Unsubscribe").click()
    await expect(page.get_by_role("heading")).to_have_text("You are unsubscribed")
    found = await ask(outbox.url, "{ mailSuppressionConnection { edges { node { address cause } } } }")
    assert [edge["node"]["cause"] for edge in found["mailSuppressionConnection"]["edges"]] == ["UNSUBSCRIBED"]
    await ask(outbox.url, "mutation ($a: String!) { removeMailSuppression(address: $a) { address } }", a=seed.USERNAME)
