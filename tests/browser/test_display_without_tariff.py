"""The home display in a real browser for a home without a tariff: it says so, and does not call readings missing."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.controlled_homes import FIRST_HOME, SECOND_HOME, ControlledHomes, controlled_homes
from tests.browser.displays import NO_VALUE, open_display, show_page
from tests.browser.kept_pages import KeptPages
from wattgate.app.demo import seed
from wattgate.operations.core.fields import find_edge
from wattgate.operations.homes.resources import resource
from wattgate.operations.tariffs import withdraw_tariff
from wattgate.operations.types.homes.resources import Resource

pytestmark = pytest.mark.browser
ENERGY_TEXT = re.compile(rf"^(\d[\d.]* kWh|{NO_VALUE})$")
"""An energy, which is not known in the first half hour of a day."""


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlledHomes]:
    """The homes of the demonstration. The second one, which has no gas, has no tariff."""
    async with controlled_homes(tmp_path_factory.mktemp("tariff"), at_midday=True) as homes:
        run, caller = homes.runner.run, seed.SYSTEM_PRINCIPAL
        row = await run(resource, caller, {"resource_id": homes.meters[SECOND_HOME]})
        (tariffs,) = await homes.runner.load(find_edge(Resource, "tariffs"), caller, [row], {})
        for tariff in tariffs:
            await run(withdraw_tariff, caller, {"tariff_id": tariff.tariff_id})
        yield homes


@pytest.fixture(scope="module")
async def kept(browser: Browser, homes: ControlledHomes) -> AsyncIterator[KeptPages]:
    async with homes.kept_pages(browser) as pages:
        yield pages


@pytest.fixture
async def page(homes: ControlledHomes, kept: KeptPages) -> AsyncIterator[Page]:
    async with homes.lent_page(kept) as page:
        yield page


async def test_home_without_a_tariff_shows_its_energy_first(page: Page) -> None:
    await open_display(page)
    await page.get_by_test_id("home-picker").select_option(label=SECOND_HOME)
    for width, height in ((480, 320), (800, 480), (1024, 600), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        await show_page(page, "now")
        for period in ("today", "month"):
            await expect(page.get_by_test_id(f"{period}-cost")).to_have_text(ENERGY_TEXT)
            await expect(page.get_by_test_id(f"{period}-cost")).to_be_visible()
            await expect(page.get_by_test_id(period).locator("small:visible")).to_contain_text("No tariff yet")
        await show_page(page, "history")
        await expect(page.get_by_test_id("history-basis")).to_have_text("No tariff yet")
        await expect(page.get_by_test_id("history-basis")).to_be_visible()
        await expect(page.get_by_role("radio", name="Cost")).to_be_hidden()
        await expect(page.get_by_role("radio", name="Electricity")).to_be_checked()
    await expect(page.locator(".bar")).to_have_count(8)
    for label in await page.locator(".bar").evaluate_all("bars => bars.map((bar) => bar.getAttribute('aria-label'))"):
        assert re.search(r"\d kWh|so far|nothing yet", label), label
        assert "no readings" not in label


@pytest.mark.long("changes the home; a home without a tariff stays in the short form")
async def test_cost_comes_back_with_a_home_that_has_a_tariff(page: Page) -> None:
    await open_display(page)
    await page.get_by_test_id("home-picker").select_option(label=SECOND_HOME)
    await expect(page.get_by_role("radio", name="Electricity")).to_be_checked()
    await page.get_by_test_id("home-picker").select_option(label=FIRST_HOME)
    await expect(page.get_by_role("radio", name="Cost")).to_be_checked()
    await expect(page.get_by_test_id("today-cost")).to_have_text(re.compile("^£"))
