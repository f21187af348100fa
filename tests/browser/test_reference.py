"""The REST reference page in a real browser: its operations, its search, its links, and its bad inputs."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.page_checks import WHOLE, small_targets, violations_in_both_schemes

pytestmark = pytest.mark.browser

DOCS_PATH = "/api/v0-1/docs"
DOCUMENT_PATH = "/api/v0-1/openapi.json"
READINGS = "GET /resource/{resourceId}/readings"


@pytest.fixture(scope="module")
async def kept(browser: Browser, demo_url: str) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (1280, 800), base_url=demo_url) as pages:
        yield pages


@pytest.fixture
async def context(kept: KeptPages) -> AsyncIterator[BrowserContext]:
    async with kept.page() as page:
        yield page.context


@pytest.fixture(scope="module")
async def ids(browser: Browser, demo_url: str) -> dict[str, str]:
    """The ids of all operations by method and path."""
    async with httpx.AsyncClient(base_url=demo_url) as client:
        paths: dict[str, Any] = (await client.get(DOCUMENT_PATH)).json()["paths"]
    return {
        f"{method.upper()} {path}": operation["operationId"]
        for path, item in paths.items()
        for method, operation in item.items()
    }


async def test_every_operation_has_card_and_page_fits_narrow_screens(page: Page, ids: dict[str, str]) -> None:
    await page.goto(DOCS_PATH)
    cards = page.get_by_test_id("operation")
    await expect(cards).to_have_count(len(ids))
    shown = await cards.evaluate_all("(cards) => cards.map((card) => { card.open = true; return card.id; })")
    assert sorted(shown) == sorted(ids.values())
    await expect(cards.get_by_test_id("errors")).to_have_count(len(ids))
    await expect(cards.get_by_test_id("send")).to_have_count(len(ids))
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 844})
        assert await page.evaluate("() => document.documentElement.scrollWidth") == width


async def test_search_by_keyboard_opens_what_people_mean(page: Page, ids: dict[str, str]) -> None:
    await page.goto(DOCS_PATH)
    results = page.get_by_test_id("result")
    await expect(page.get_by_test_id("search")).to_be_enabled()
    await page.keyboard.press("/")
    await page.keyboard.type("readings")
    await expect(results.first).to_have_attribute("aria-selected", "true")
    methods = await results.evaluate_all("(all) => all.map((one) => one.dataset.method)")
    assert methods[0] == "GET"
    first, second = [await results.nth(index).get_attribute("id") for index in (0, 1)]
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_test_id("search")).to_have_attribute("aria-activedescendant", str(second))
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_test_id("search")).to_have_attribute("aria-activedescendant", str(first))
    await page.keyboard.press("Enter")
    card = page.locator(f"#{ids[READINGS]}")
    await expect(card).to_have_attribute("open", "")
    await expect(card.locator("summary")).to_be_focused()
    await expect(card.locator("summary")).to_be_in_viewport()
    await page.go_back()
    await expect(page.get_by_test_id("search")).to_have_value("readings")
    await expect(results.first).to_be_visible()
    await page.get_by_test_id("search").press("Escape")
    await expect(page.get_by_test_id("count")).to_have_text(f"{len(ids)} operations")
    await expect(page.get_by_test_id("operation").first).to_be_visible()


@pytest.mark.long("several loads of the page; all cards and the search stay in the short form")
async def test_links_name_searches_operations_and_errors(page: Page, ids: dict[str, str]) -> None:
    await page.goto(f"{DOCS_PATH}#search=home")
    await expect(page.get_by_test_id("result").first).to_have_attribute("id", f"result-{ids['GET /virtualentity']}")
    card = page.locator(f"#{ids[READINGS]}")
    await page.goto(f"{DOCS_PATH}#{ids[READINGS]}")
    await expect(card).to_have_class(re.compile("highlighted"))
    await expect(card.locator("summary")).to_be_in_viewport()
    await page.goto(f"{DOCS_PATH}#errors")
    await expect(page.locator("#errors summary")).to_be_in_viewport()
    await expect(page.get_by_role("link", name="All error codes")).to_be_visible()


@pytest.mark.long("a side path; all cards and the search stay in the short form")
async def test_link_to_an_operation_of_another_version_offers_a_search(page: Page) -> None:
    await page.goto(f"{DOCS_PATH}#getResourceMeterReadings")
    notice = page.get_by_test_id("unknown-operation")
    await expect(notice).to_contain_text("This gateway has no operation getResourceMeterReadings.")
    await notice.get_by_role("link").click()
    await expect(page.get_by_test_id("search")).to_have_value("resource meter readings")
    await expect(notice).to_be_hidden()


@pytest.mark.long("two loads of the page; all cards and the search stay in the short form")
async def test_code_has_the_values_of_the_form(page: Page, ids: dict[str, str]) -> None:
    await page.goto(f"{DOCS_PATH}#{ids[READINGS]}")
    card = page.locator(f"#{ids[READINGS]}")
    code = card.get_by_test_id("code")
    await expect(code).to_contain_text("/resource/RESOURCE_ID/readings")
    await card.get_by_test_id("field-resourceId").fill("a b'c")
    await expect(code).to_contain_text(r"/resource/a%20b'\''c/readings")
    await expect(code).to_contain_text("'period=PT30M'")
    await expect(code).to_contain_text("token: $WATTGATE_TOKEN")
    stored = "() => localStorage.getItem('wattgate.reference.language')"
    assert await page.evaluate(stored) is None, "nobody has chosen a language"
    await card.get_by_test_id("language-curl").press("End")
    await expect(card.get_by_test_id("language-python")).to_be_focused()
    assert await page.evaluate(stored) == "python"
    for language, text in (("javascript", "process.env.WATTGATE_TOKEN"), ("python", 'os.environ["WATTGATE_TOKEN"]')):
        await card.get_by_test_id(f"language-{language}").click()
        await expect(code).to_contain_text(text)
        await expect(code).to_contain_text("/resource/a%20b'c/readings")
    await page.reload()
    await expect(code).to_contain_text("import httpx")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"openapi": "4.0.0", "paths": {}}', "The document has version 4.0.0 of OpenAPI. This page reads version 3."),
        ('{"openapi": "3.1.0"}', "Reload the page to get its newest version."),
        ("<html>", "The gateway did not return an OpenAPI document."),
    ],
)
async def test_document_of_another_version_is_reported(page: Page, body: str, message: str) -> None:
    await page.route(f"**{DOCUMENT_PATH}", lambda route: route.fulfill(body=body))
    await page.goto(DOCS_PATH)
    await expect(page.get_by_test_id("failure")).to_contain_text(message)


@pytest.mark.long("starts a second gateway; the test of a document of another version touches the same notice")
async def test_page_notices_that_the_gateway_was_updated(page: Page) -> None:
    await page.goto(DOCS_PATH)
    await expect(page.get_by_test_id("operation").first).to_be_visible()
    come_back = "() => document.dispatchEvent(new Event('visibilitychange'))"
    async with page.expect_response(f"**{DOCUMENT_PATH}"):
        await page.evaluate(come_back)
    await expect(page.get_by_test_id("stale")).to_be_hidden()

    async def updated(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, body=(await response.text()).replace('"wattgate"', '"wattgate 2"'))

    await page.route(f"**{DOCUMENT_PATH}", updated)
    await page.evaluate(come_back)
    await expect(page.get_by_test_id("stale")).to_contain_text("The gateway has been updated")
    async with page.expect_navigation():
        await page.get_by_test_id("stale").get_by_role("button").click()
    await expect(page.get_by_test_id("operation").first).to_be_visible()
    await expect(page.get_by_test_id("stale")).to_be_hidden()


@pytest.mark.long("checks all kinds of cards in both themes and at two sizes")
async def test_page_has_no_accessibility_violations(page: Page, ids: dict[str, str]) -> None:
    shown = [ids[READINGS], ids["POST /alertrule"], ids["POST /auth"], ids["DELETE /user/{userId}"]]
    await page.goto(f"{DOCS_PATH}#{ids[READINGS]}")
    card = page.locator(f"#{ids[READINGS]}")
    await expect(card).to_have_attribute("open", "")
    # axe takes a second for each thousand elements, so all cards but these few are left out
    await leave_cards(page, shown)
    await card.get_by_test_id("send").click()
    await expect(card.get_by_test_id("field-problem").first).to_be_visible()
    assert await violations_at_both_sizes(page) == []
    await leave_cards(page, [ids[READINGS]])
    await card.get_by_test_id("field-resourceId").fill("x")
    await card.get_by_test_id("send").click()
    await expect(page.get_by_test_id("login-dialog")).to_be_visible()
    assert await violations_at_both_sizes(page, "dialog[open]") == []
    await page.keyboard.press("Escape")
    await page.get_by_test_id("search").fill("home")
    await expect(page.get_by_test_id("result").first).to_be_visible()
    await leave_cards(page, [])
    assert await violations_at_both_sizes(page, "header, main > :not(#operations)") == []


async def leave_cards(page: Page, ids: list[str]) -> None:
    """Open these cards, and remove all others. axe goes through the whole page, also to check a part of it."""
    await page.evaluate(
        """(ids) => { for (const card of document.querySelectorAll('[data-testid=operation]')) {
          if (ids.includes(card.id)) card.open = true; else card.remove(); } }""",
        ids,
    )


async def violations_at_both_sizes(page: Page, part: str = WHOLE) -> list[str]:
    """Return the violations on a desktop, and on a phone, which has the same colours, the small targets."""
    found = await violations_in_both_schemes(page, part)
    await page.set_viewport_size({"width": 390, "height": 844})
    found += await small_targets(page, part)
    await page.set_viewport_size({"width": 1280, "height": 800})
    return found
