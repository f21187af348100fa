"""The price curve of the home display, its earlier dates and the comparison with the week before, in a real browser."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, Page, expect
from strawberry import ID

from tests.browser.controlled_homes import FIRST_HOME, SECOND_HOME, ControlledHomes, controlled_homes
from tests.browser.displays import READINGS_TIMEOUT_MS, open_display
from tests.browser.kept_pages import KeptPages
from tests.browser.page_checks import accessibility_violations
from wattgate.app.demo.seed import SYSTEM_PRINCIPAL
from wattgate.clock import utc_now
from wattgate.enums import TariffKind
from wattgate.operations.readings.recording import record_readings
from wattgate.operations.tariffs import set_tariff, set_tariff_prices
from wattgate.operations.types.meters import readings as reading_types
from wattgate.operations.types.meters import tariffs as tariff_types
from wattgate.operations.vocabulary.scalars import Currency

pytestmark = pytest.mark.browser

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)
BANDS = re.compile(r"^Cheapest (now: 8\.49p until 05:30|today, 23:30 to 05:30: 8\.49p)$")


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlledHomes]:
    async with controlled_homes(tmp_path_factory.mktemp("prices")) as homes:
        yield homes


@pytest.fixture(scope="module")
async def kept(browser: Browser, homes: ControlledHomes) -> AsyncIterator[KeptPages]:
    async with homes.kept_pages(browser) as pages:
        yield pages


@pytest.fixture
async def page(homes: ControlledHomes, kept: KeptPages) -> AsyncIterator[Page]:
    async with homes.lent_page(kept) as page:
        yield page


def midnight(days: int) -> datetime:
    """Return the start of a day in London, so many days from today."""
    return datetime.combine(utc_now().astimezone(LONDON).date() + timedelta(days=days), time(), LONDON).astimezone(UTC)


async def set_dynamic_tariff(homes: ControlledHomes, home: str) -> str:
    """Give a home a dynamic tariff without VAT from today on. Return its ID."""
    tariff = await homes.runner.run(
        set_tariff,
        SYSTEM_PRINCIPAL,
        {
            "input": tariff_types.NewTariff(
                resource_id=ID(homes.meters[home]),
                name="Half hours",
                kind=TariffKind.DYNAMIC,
                valid_from=midnight(0),
                currency=Currency("GBP"),
                standing_charge=Decimal("0.4"),
                vat_percent=Decimal(0),
                time_zone="Europe/London",
            )
        },
    )
    return str(tariff.tariff_id)


async def set_prices(homes: ControlledHomes, tariff_id: str, start: datetime, stop: datetime, lowest: str) -> None:
    """Set a price of 20p for each half hour, and the lowest one from 03:00 to 03:30."""
    prices, at = [], start
    while at < stop:
        is_cheap = at.astimezone(LONDON).strftime("%H:%M") == "03:00"
        prices.append(tariff_types.NewTariffPrice(at=at, rate=Decimal(lowest if is_cheap else 20) / 100))
        at += HALF_HOUR
    arguments = {"tariff_id": ID(tariff_id), "currency": "GBP", "prices": prices}
    await homes.runner.run(set_tariff_prices, SYSTEM_PRINCIPAL, arguments)


async def record_day(homes: ControlledHomes, days: int, energy: str) -> None:
    """Replace the electricity of each half hour of a day."""
    start, stop, readings = midnight(days), midnight(days + 1), []
    while start < stop:
        readings.append(reading_types.NewReading(at=start, value=Decimal(energy)))
        start += HALF_HOUR
    series = reading_types.NewReadings(resource_id=ID(homes.meters[FIRST_HOME]), field="ENERGY", readings=readings)
    await homes.runner.run(record_readings, SYSTEM_PRINCIPAL, {"series": [series]})


@pytest.mark.long("sizes and odd prices; the curve of prices and the history stay in the short form")
async def test_large_screen_shows_the_bands_and_says_the_cheapest_one(page: Page) -> None:
    await page.set_viewport_size({"width": 1280, "height": 800})
    await open_display(page)
    prices = page.get_by_test_id("prices")
    await expect(prices).to_be_visible()
    await expect(page.get_by_test_id("cheapest")).to_have_text(BANDS)
    await expect(page.get_by_test_id("price-note")).to_have_text("")
    await expect(page.locator(".price-step.cheapest").first).to_be_visible()
    await expect(page.locator(".price-now")).to_have_count(1)
    steps = page.locator(".price-step")
    await expect(steps.first).to_have_attribute("aria-label", "Today, 00:00 to 05:30: 8.49p")
    await expect(steps.last).to_have_attribute("aria-label", "Tomorrow, 23:30 to 00:00: 8.49p")
    assert await page.locator(".price-step[tabindex='0']").count() == 1
    await steps.first.focus()
    await page.keyboard.press("End")
    await expect(steps.last).to_be_focused()
    await expect(page.locator(".price-readout-name")).to_have_text("Tomorrow, 23:30 to 00:00")
    assert await accessibility_violations(page) == []


@pytest.mark.long("sizes and side paths of prices; the history of earlier days stays in the short form")
async def test_small_screen_opens_the_curve_from_the_price(page: Page) -> None:
    await page.emulate_media(reduced_motion="reduce")
    await open_display(page)
    opener, dialog = page.get_by_test_id("open-prices"), page.get_by_test_id("prices-dialog")
    for width, height in ((800, 480), (480, 320), (320, 240), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        await expect(opener).to_be_visible()  # an element without a box gets no focus
        await opener.focus()
        await page.keyboard.press("Enter")
        await expect(dialog).to_be_visible()
        for part in ("cheapest", "price-chart"):
            await expect(page.get_by_test_id(part)).to_be_in_viewport(ratio=1)
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        await expect(opener).to_be_focused()
    await opener.click()
    assert await accessibility_violations(page) == []
    await dialog.get_by_role("button", name="Close").click()
    await expect(page.get_by_test_id("prices")).to_be_hidden()


@pytest.mark.long("sizes and odd prices; the curve of prices and the history stay in the short form")
async def test_dynamic_prices_of_tomorrow_may_be_unknown_and_negative(page: Page, homes: ControlledHomes) -> None:
    tariff_id = await set_dynamic_tariff(homes, SECOND_HOME)
    await set_prices(homes, tariff_id, midnight(0), midnight(1), "-5.5")
    await page.set_viewport_size({"width": 1280, "height": 800})
    await open_display(page)
    await homes.send_power(500, home=SECOND_HOME)
    await page.get_by_test_id("home-picker").select_option(label=SECOND_HOME)
    await expect(page.get_by_test_id("price-note")).to_have_text("The prices of tomorrow are not published yet.")
    await expect(page.locator(".price-step").last).to_have_attribute("aria-label", re.compile("^Today, .*: 20p$"))
    await expect(page.locator(".price-day")).to_have_count(0)
    await set_prices(homes, tariff_id, midnight(1), midnight(2), "-7.5")
    await expect(page.get_by_test_id("price-note")).to_have_text("", timeout=READINGS_TIMEOUT_MS)
    await expect(page.get_by_test_id("cheapest")).to_have_text("Cheapest tomorrow, 03:00 to 03:30: -7.5p")
    await expect(page.locator(".price-step.negative")).to_have_count(2)
    await page.goto("/display?lang=fr")
    await expect(page.get_by_test_id("cheapest")).to_contain_text("Le moins cher", timeout=READINGS_TIMEOUT_MS)


async def test_history_moves_to_earlier_days_and_compares_them(page: Page, homes: ControlledHomes) -> None:
    await record_day(homes, -1, "0.5")
    await record_day(homes, -8, "1")
    await open_display(page)
    earlier, later = page.get_by_test_id("earlier"), page.get_by_test_id("later")
    await page.get_by_role("radio", name="24 hours").check(force=True)
    await page.get_by_role("radio", name="Electricity").check(force=True)
    await expect(later).to_have_attribute("aria-disabled", "true")
    await earlier.click()
    yesterday = midnight(-1).astimezone(LONDON)
    await expect(page.locator(".readout-name")).to_have_text(f"{yesterday:%A} {yesterday.day} {yesterday:%B}")
    await expect(page.locator(".readout-value")).to_have_text(re.compile(r"^2[345](\.0)? kWh$"))
    await expect(page.get_by_test_id("comparison")).to_have_text("50% less than the same day a week before")
    await expect(page.locator(".bar").first).to_have_attribute("aria-label", re.compile("a week before 2.00 kWh$"))
    await page.get_by_role("radio", name="Cost").check(force=True)
    await expect(page.get_by_test_id("history-basis")).to_have_text("Costs incl. VAT, without standing charge")
    await page.locator(".bar[tabindex='0']").focus()
    await page.keyboard.press("PageDown")
    await expect(page.locator(".readout-row .newest")).to_be_hidden()
    await expect(page.locator(".bar:focus")).to_have_count(1)
    await page.keyboard.press("PageDown")
    await expect(later).to_have_attribute("aria-disabled", "true")


@pytest.mark.long("sizes and odd prices; the curve of prices and the history stay in the short form")
async def test_history_ends_at_the_first_reading(page: Page) -> None:
    await open_display(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.post_data or ""))
    earlier = page.get_by_test_id("earlier")
    await expect(earlier).to_have_attribute("aria-disabled", "false")  # nine days of history
    await earlier.click()
    await expect(earlier).to_have_attribute("aria-disabled", "true")
    await expect(page.get_by_test_id("comparison")).to_have_text("")
    await earlier.click(force=True)  # it says that it is disabled, and does nothing
    await page.get_by_test_id("newest").click()
    await expect(page.locator(".readout-name")).to_have_text("Last 8 days")
    await expect(earlier).to_be_focused()
    assert len(requests) == 2
    for view in ("5 weeks", "13 months"):
        await page.get_by_role("radio", name=view).check(force=True)
        await expect(earlier).to_have_attribute("aria-disabled", "true")
