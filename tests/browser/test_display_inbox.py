"""The dialog behind the bell of the home display in a real browser: the inbox, the alert rules and the daily budget."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.controlled_homes import ControlledHomes, controlled_homes
from tests.browser.displays import READINGS_TIMEOUT_MS, open_display
from tests.browser.kept_pages import KeptPages
from tests.browser.page_checks import accessibility_violations
from tests.browser.test_pairing import PHONE, Devices, pair
from wattgate.app.demo.alerts import send_alert
from wattgate.app.demo.logins import USERNAME
from wattgate.app.demo.seed import list_owners
from wattgate.clock import utc_now

pytestmark = pytest.mark.browser

GRAPHQL = re.compile(r"/graphql$")
DEMO_RULE = "Electricity above 5 kWh in 24 hours"


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlledHomes]:
    async with controlled_homes(tmp_path_factory.mktemp("inbox")) as homes:
        yield homes


@pytest.fixture(scope="module")
async def kept(browser: Browser, homes: ControlledHomes) -> AsyncIterator[KeptPages]:
    async with homes.kept_pages(browser) as pages:
        yield pages


@pytest.fixture
async def page(homes: ControlledHomes, kept: KeptPages) -> AsyncIterator[Page]:
    async with homes.lent_page(kept) as page:
        yield page


async def add_alert(homes: ControlledHomes) -> None:
    await send_alert(homes.runner, (await list_owners(homes.runner))[USERNAME], utc_now())


async def query_graphql(page: Page, query: str) -> dict[str, Any]:
    """Send a GraphQL operation with the token of the page, and return its data."""
    token = await page.evaluate("() => JSON.parse(localStorage.getItem('wattgate.session')).token")
    response = await page.request.post("/graphql", headers={"token": token}, data={"query": query})
    return dict((await response.json())["data"])


async def open_dialog(page: Page, tab: str) -> Locator:
    """Open the dialog at a tab, and return its panel."""
    await page.get_by_test_id("alerts").click()
    await page.get_by_role("tab", name=tab).click()
    return page.get_by_role("tabpanel", name=tab)


@pytest.mark.long("several states of the inbox; the inbox itself stays in the short form")
async def test_bell_opens_the_inbox_and_new_alerts_appear_in_it(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    await query_graphql(page, "mutation { markAlertsRead { ... on MarkedAlerts { marked } } }")
    bell, items = page.get_by_test_id("alerts"), page.locator(".alert-item")
    await expect(bell).to_have_accessible_name("Alerts, rules and budget: 0 unread alerts")
    await bell.click()
    await expect(page.get_by_role("tab", name="Alerts")).to_be_focused()
    await expect(page.get_by_test_id("inbox-summary")).to_have_text("All read")
    known = await items.count()
    for _ in range(2):
        await add_alert(homes)
    await expect(items).to_have_count(known + 2)
    await expect(bell).to_have_text(re.compile(r"^\s*2\s*$"))
    newest = items.first
    await expect(newest).to_contain_text(DEMO_RULE)
    await expect(newest).to_contain_text("8.41 kWh. The limit is 5 kWh.")
    await newest.get_by_role("button", name="Mark as read").click()
    await expect(page.get_by_test_id("inbox-summary")).to_have_text("1 unread")
    await expect(page.get_by_test_id("inbox-list")).to_be_focused()
    await expect(bell).to_have_text(re.compile(r"^\s*1\s*$"))
    await page.get_by_role("button", name="Mark all as read").click()
    await expect(page.locator(".alert-item.unread")).to_have_count(0)
    await expect(bell).to_have_accessible_name("Alerts, rules and budget: 0 unread alerts")
    assert (await query_graphql(page, "{ viewer { unreadAlerts } }"))["viewer"]["unreadAlerts"] == 0
    await page.keyboard.press("Escape")
    await expect(bell).to_be_focused()


@pytest.mark.long("sizes and side paths of the inbox; new alerts and rules stay in the short form")
async def test_older_alerts_are_read_on_demand(page: Page, homes: ControlledHomes) -> None:
    for _ in range(31):
        await add_alert(homes)
    await open_display(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.post_data or ""))
    await page.get_by_test_id("alerts").click()
    items = page.locator(".alert-item")
    await expect(items).to_have_count(30)
    await expect(page.get_by_role("tabpanel", name="Rules")).to_be_hidden()
    await page.get_by_role("button", name="Show older alerts").click()
    await expect(page.get_by_role("button", name="Show older alerts")).to_be_hidden()
    assert await items.count() > 30
    assert len([body for body in requests if "query Inbox" in body]) == 2
    assert len([body for body in requests if "query Settings" in body]) == 1


async def test_rules_are_added_changed_and_removed(page: Page) -> None:
    rules_query = "{ viewer { alertRules { name kind threshold enabled channels } } }"
    await open_display(page)
    panel = await open_dialog(page, "Rules")
    rule = panel.locator(".rule-item").filter(has_text="3.5 kW")
    await expect(panel.locator(".rule-item").filter(has_text=DEMO_RULE)).to_have_count(1)
    await panel.get_by_role("button", name="Add the rule").click()
    await expect(panel.locator(".form-problem")).to_have_text(
        "Enter a number above 0, without separators of thousands."
    )
    await panel.get_by_label("Alert me if").select_option(label="Electricity consumption: power is above a limit")
    await panel.locator('[name="amount"]').fill("3,5")
    await panel.get_by_label("my phone").check()
    await panel.get_by_role("button", name="Add the rule").click()
    await expect(rule).to_have_count(1)
    await expect(rule).to_contain_text("Electricity consumption above 3.5 kW for 10 min")
    stored = (await query_graphql(page, rules_query))["viewer"]["alertRules"][-1]
    assert (stored["kind"], float(stored["threshold"]), stored["enabled"]) == ("THRESHOLD", 3500.0, True)
    assert stored["channels"] == ["inbox", "push"]
    await rule.get_by_label("On").uncheck()
    await expect(rule).to_have_class(re.compile("off"))
    await rule.get_by_label("Limit in kW").fill("4")
    await rule.get_by_role("button", name="Save").click()
    await expect(rule).to_contain_text("above 4 kW for 10 min")
    stored = (await query_graphql(page, rules_query))["viewer"]["alertRules"][-1]
    assert (float(stored["threshold"]), stored["enabled"]) == (4000.0, False)
    await rule.get_by_role("button", name="Remove").click()
    await expect(rule).to_have_count(1)
    await rule.get_by_role("button", name="Remove this rule?").click()
    await expect(rule).to_have_count(0)
    assert len((await query_graphql(page, rules_query))["viewer"]["alertRules"]) == 1
    await page.get_by_role("tab", name="Tenancy").click()  # no other test of the short form opens the dialog
    own = page.get_by_role("tabpanel", name="Tenancy").locator(".tenancy-item")
    await expect(own.first).to_contain_text("You live here. Nobody is known to have lived here before.")
    mpxns = "{ viewer { tenancies(last: 100) { edges { node { meterPointNumber } } } } }"
    edges = (await query_graphql(page, mpxns))["viewer"]["tenancies"]["edges"]
    await expect(own.get_by_role("heading")).to_have_text(
        [f"Meter point {edge['node']['meterPointNumber']}" for edge in reversed(edges)]
    )


@pytest.mark.long("sizes and side paths of the inbox; new alerts and rules stay in the short form")
async def test_focus_and_typed_limits_outlast_changes_of_the_lists(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    panel = await open_dialog(page, "Rules")
    rules = panel.locator(".rule-item")
    await panel.get_by_label("Alert me if").select_option(label="Electricity consumption: power is above a limit")
    for amount in ("6", "7"):
        await panel.locator('[name="amount"]').fill(amount)
        await panel.get_by_role("button", name="Add the rule").click()
        await expect(rules.filter(has_text=f"above {amount} kW")).to_have_count(1)
    six, seven = (rules.filter(has_text=f"consumption above {amount} kW") for amount in "67")
    await seven.get_by_label("Limit in kW").fill("8.5")
    await six.get_by_label("On").focus()
    await page.keyboard.press("Space")
    await expect(six).to_have_class(re.compile("off"))
    await expect(six.get_by_label("On")).to_be_focused()
    await expect(seven.get_by_label("Limit in kW")).to_have_value("8.5")
    six_by_id = panel.locator(f'[data-rule="{await six.get_attribute("data-rule")}"]')
    await six_by_id.get_by_label("Limit in kW").fill("6,50")
    await page.keyboard.press("Enter")
    await expect(six_by_id.get_by_label("Limit in kW")).to_have_value("6.5")
    await expect(six_by_id.get_by_label("Limit in kW")).to_be_focused()
    await expect(seven.get_by_label("Limit in kW")).to_have_value("8.5")
    for rule in (six_by_id, seven):
        await rule.get_by_role("button", name="Remove").focus()
        await page.keyboard.press("Enter")
        await expect(rule.get_by_role("button", name="Remove this rule?")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(rule).to_have_count(0)
        await expect(panel.locator(".rule-list")).to_be_focused()
    await page.get_by_role("tab", name="Alerts").click()
    newest = await page.locator(".alert-item").first.get_attribute("data-alert")
    await add_alert(homes)
    await expect(page.locator(".alert-item").first).not_to_have_attribute("data-alert", newest or "")
    marked = await page.locator(".alert-item.unread").first.get_attribute("data-alert")
    await page.locator(f'[data-alert="{marked}"]').get_by_role("button").focus()
    await add_alert(homes)
    await expect(page.locator(".alert-item").first).not_to_have_attribute("data-alert", marked or "")
    await expect(page.locator(f'[data-alert="{marked}"]').get_by_role("button")).to_be_focused()


@pytest.mark.long("sizes and side paths of the inbox; new alerts and rules stay in the short form")
async def test_budget_changes_the_level_of_the_display(page: Page) -> None:
    await open_display(page)
    explanation = page.get_by_test_id("explanation")
    await expect(explanation).not_to_contain_text("budget")
    panel = await open_dialog(page, "Budget")
    budget, save = panel.get_by_label("Daily budget"), panel.get_by_role("button", name="Save")
    notice = page.get_by_test_id("budget-notice")
    await budget.fill("much")
    await save.click()
    await expect(notice).to_have_text("Enter an amount above 0, without separators of thousands, or leave it empty.")
    await budget.fill("4,25")
    await save.click()
    await expect(notice).to_have_text("Saved.")
    await expect(budget).to_have_value("4.25")
    await expect(explanation).to_contain_text("Compared with your budget", timeout=READINGS_TIMEOUT_MS)
    data = await query_graphql(page, "{ viewer { homes { edges { node { name attributes } } } } }")
    attributes = data["viewer"]["homes"]["edges"][0]["node"]["attributes"]
    assert attributes["display"] == {"dailyBudget": "4.25"}
    assert "address" in attributes  # other attributes are kept
    await budget.fill("")
    await save.click()
    await expect(explanation).not_to_contain_text("budget", timeout=READINGS_TIMEOUT_MS)


@pytest.mark.long("sizes and side paths of the inbox; new alerts and rules stay in the short form")
async def test_failed_action_is_reported_and_nothing_is_lost(page: Page) -> None:
    await open_display(page)
    panel = await open_dialog(page, "Rules")
    await expect(panel.locator(".rule-item")).to_have_count(1)
    await page.route(GRAPHQL, lambda route: route.abort())
    await panel.locator('[name="amount"]').fill("2")
    await panel.get_by_role("button", name="Add the rule").click()
    await expect(panel.get_by_role("status")).to_have_text("This did not work. Try again in a moment.")
    await expect(panel.locator('[name="amount"]')).to_have_value("2")
    await page.keyboard.press("Escape")
    await page.get_by_test_id("alerts").click()
    inbox = page.get_by_role("tabpanel", name="Alerts")
    await expect(inbox.get_by_role("status")).to_have_text("The alerts cannot be read. Trying again soon.")
    await page.unroute(GRAPHQL)
    await page.keyboard.press("Escape")
    await page.get_by_test_id("alerts").click()
    await expect(inbox.get_by_role("status")).to_have_text("")


@pytest.mark.long("sizes and side paths of the inbox; new alerts and rules stay in the short form")
async def test_dialog_fits_small_screens_and_is_accessible(page: Page, homes: ControlledHomes) -> None:
    await add_alert(homes)
    await open_display(page)
    await page.get_by_test_id("alerts").click()
    await expect(page.locator(".alert-item").first).to_be_visible()
    for tab in ("Alerts", "Rules", "Budget", "Tenancy"):
        await page.keyboard.press("ArrowRight") if tab != "Alerts" else None
        await expect(page.get_by_role("tab", name=tab)).to_be_focused()
        panel = page.get_by_role("tabpanel", name=tab)
        await expect(panel).to_be_visible()
        assert await accessibility_violations(page) == []
        for width, height in ((320, 240), (390, 844), (800, 480), (1280, 800)):
            await page.set_viewport_size({"width": width, "height": height})
            await expect(page.get_by_test_id("household")).to_be_in_viewport(ratio=1)
            overflow = await panel.evaluate("(panel) => panel.scrollWidth - panel.clientWidth")
            assert overflow == 0, f"{tab} at {width} by {height}"
            small = await page.get_by_test_id("household").evaluate(
                """(dialog) => [...dialog.querySelectorAll("button, select, input[type=text], label.check")]
                    .filter((one) => one.checkVisibility())
                    .filter((one) => one.getBoundingClientRect().height < 43.5).map((one) => one.outerHTML)"""
            )
            assert small == []


@pytest.mark.long("sizes and side paths of the inbox; new alerts and rules stay in the short form")
async def test_paired_display_shows_prices_and_dates_but_no_inbox(browser: Browser, homes: ControlledHomes) -> None:
    devices = Devices(browser, homes.url, [])
    async with devices.open((1280, 800)) as screen, devices.open(PHONE, has_touch=True, is_mobile=True) as phone:
        await pair(screen, phone, "Kitchen")
        await expect(screen.locator(".bar")).to_have_count(8, timeout=READINGS_TIMEOUT_MS)
        await expect(screen.get_by_test_id("prices")).to_be_visible()
        await screen.get_by_test_id("earlier").click()
        await expect(screen.locator(".readout-name")).not_to_have_text("Last 8 days")
        await expect(screen.get_by_test_id("alerts")).to_be_hidden()
        await expect(screen.get_by_test_id("household")).to_be_hidden()
    assert devices.violations == []
