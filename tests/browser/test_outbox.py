"""The outbox of the demonstration in a real browser: a mail is there as it would have been sent."""

from collections.abc import AsyncIterator

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from wattgate.app.demo import seed

pytestmark = pytest.mark.browser

SEND = """mutation ($userId: ID!, $kind: ID!, $alertTypeId: String!, $name: String!, $html: String!) {
  addTemplateFor(alertTypeId: $kind, channelType: EMAIL, cultureCode: "en-GB",
    input: {name: $name, htmlTemplate: $html}) { templateId }
  sendAlert(input: {userId: $userId, alertTypeId: $alertTypeId, channels: [EMAIL], priority: HIGH,
    data: {name: "Ada <script>document.title = 'run'</script>", used: 80}}) { alertId }
}"""

HTML = """<style>h1 { color: #0a5; font-family: sans-serif } p { font-family: sans-serif }</style>
<h1>80 % of your budget is used</h1>
<p>Dear {{ name }}, {{ used }} % of this month’s budget is used, and ten days are left.</p>
<script>parent.document.title = "run"</script>"""


@pytest.fixture
async def page(browser: Browser, demo_url: str) -> AsyncIterator[Page]:
    context = await browser.new_context(base_url=demo_url, viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    yield page
    await context.close()


async def ask(demo_url: str, query: str, **variables: object) -> dict[str, object]:
    """What the demonstration's application gets to know by GraphQL."""
    credential = (seed.APPLICATION_USERNAME, seed.APPLICATION_SECRET)
    async with httpx.AsyncClient(base_url=demo_url, auth=credential) as client:
        told = (await client.post("/graphql", json={"query": query, "variables": variables})).json()
    assert "errors" not in told, told
    found: dict[str, object] = told["data"]
    return found


async def test_a_mail_appears_and_can_be_looked_at_as_it_would_have_been_sent(page: Page, demo_url: str) -> None:
    await page.goto("/outbox")
    found = await ask(demo_url, "{ accounts { userId username } alertTypes { alertTypeId } }")
    users = [one["userId"] for one in found["accounts"] if one["username"] == seed.USERNAME]  # type: ignore[attr-defined]
    kind = found["alertTypes"][0]["alertTypeId"]  # type: ignore[index]
    await ask(demo_url, SEND, userId=users[0], kind=kind, alertTypeId=kind, name="Weekly budget", html=HTML)
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


async def test_a_mails_html_runs_nothing_and_loads_nothing_unencrypted(page: Page, demo_url: str) -> None:
    async with httpx.AsyncClient(base_url=demo_url) as client:
        listed = (await client.get("/outbox/mails")).json()
        assert listed
        answer = await client.get(f"{listed[0]['path']}/html")
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("sandbox; default-src 'none'")
        assert "script-src" not in policy
        assert (await client.get("/outbox/mails/nobody/nothing")).status_code == 404


async def test_the_link_of_a_mail_asks_before_it_unsubscribes(page: Page, demo_url: str) -> None:
    async with httpx.AsyncClient(base_url=demo_url) as client:
        listed = (await client.get("/outbox/mails")).json()
        headers = dict((await client.get(listed[0]["path"])).json()["headers"])
    token = headers["List-Unsubscribe"].strip("<>").rpartition("/")[2]
    await page.goto(f"/unsubscribe/{token}")
    await page.get_by_role("button", name="Unsubscribe").click()
    await expect(page.get_by_role("heading")).to_have_text("You are unsubscribed")
    found = await ask(demo_url, "{ mailSuppressionConnection { edges { node { address cause } } } }")
    assert [edge["node"]["cause"] for edge in found["mailSuppressionConnection"]["edges"]] == ["UNSUBSCRIBED"]  # type: ignore[index]
    await ask(demo_url, "mutation ($a: String!) { removeMailSuppression(address: $a) { address } }", a=seed.USERNAME)
