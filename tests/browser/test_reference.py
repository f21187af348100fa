"""The REST reference page in a real browser."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

pytestmark = pytest.mark.browser

DOCS_PATH = "/api/v0-1/docs"
READINGS_OPERATION_ID = "getResourceResourceidReadings"


@pytest.fixture
async def page(browser: Browser, demo_url: str) -> AsyncIterator[Page]:
    """A page. After the test, it must have no console errors, exceptions or content security policy violations."""
    context = await browser.new_context(base_url=demo_url, viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    await context.close()
    assert errors == []


async def documented_operations(page: Page) -> list[dict[str, Any]]:
    document = await (await page.request.get("/api/v0-1/openapi.json")).json()
    return [operation for item in document["paths"].values() for operation in item.values()]


async def test_every_operation_has_card_and_page_fits_narrow_screens(page: Page) -> None:
    await page.goto(DOCS_PATH)
    operations = await documented_operations(page)
    cards = page.get_by_test_id("operation")
    await expect(cards).to_have_count(len(operations))
    ids = await cards.evaluate_all("(cards) => cards.map((card) => { card.open = true; return card.id; })")
    assert sorted(ids) == sorted(operation["operationId"] for operation in operations)
    await expect(cards.get_by_role("heading", name="Errors")).to_have_count(len(operations))
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 844})
        assert await page.evaluate("() => document.documentElement.scrollWidth") == width


async def test_filter_works_by_keyboard(page: Page) -> None:
    await page.goto(DOCS_PATH)
    shown = page.locator('[data-testid="operation"]:visible')
    await expect(shown.first).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("/readings")
    await expect(shown).to_have_count(3)
    await expect(shown.first).to_be_in_viewport(ratio=1)
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("count")).to_have_text(f"{len(await documented_operations(page))} operations")


async def test_link_opens_operation_with_curl_command(page: Page) -> None:
    await page.goto(f"{DOCS_PATH}#{READINGS_OPERATION_ID}")
    card = page.locator(f"#{READINGS_OPERATION_ID}")
    await expect(card).to_have_attribute("open", "")
    await expect(card.locator("summary")).to_be_in_viewport()
    command = card.get_by_label("curl", exact=True)
    await expect(command).to_contain_text("/api/v0-1/resource/$resourceId/readings")
    await expect(command).to_contain_text("period=PT30M")
