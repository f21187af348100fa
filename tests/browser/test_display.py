"""The home display in a real browser: its content, layout and accessibility."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.browser.displays import (
    NO_VALUE,
    PASSWORD,
    POWER_TEXT,
    READINGS_TIMEOUT_MS,
    WITHOUT_WORKER,
    log_in,
    open_display,
    open_login_form,
    show_page,
    until_shown,
)
from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.page_checks import overflow_pixels, violations_in_both_schemes
from wattgate.app.demo import logins

pytestmark = pytest.mark.browser

POUNDS_TEXT = re.compile(r"^£\d+\.\d\d$")
KWH_TEXT = re.compile(r"^\d[\d.]* kWh$")


@pytest.fixture(scope="module")
async def kept(browser: Browser, demo_url: str) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (800, 480), base_url=demo_url, **WITHOUT_WORKER) as pages:
        yield pages


@pytest.fixture
async def context(kept: KeptPages) -> AsyncIterator[BrowserContext]:
    async with kept.page() as page:
        yield page.context


@pytest.fixture(scope="module")
async def opened_display(browser: Browser, demo_url: str) -> AsyncIterator[Page]:
    """A display for tests that change only its size, its colours and its focus. They use it through `shown`."""
    context = await browser.new_context(base_url=demo_url, **WITHOUT_WORKER)
    page = await context.new_page()
    await open_display(page)
    yield page
    await context.close()


@pytest.fixture
async def shown(opened_display: Page) -> Page:
    """An open display. Each test starts with the same size, colours and focus."""
    await opened_display.set_viewport_size({"width": 800, "height": 480})
    await opened_display.emulate_media(color_scheme="light", reduced_motion="no-preference")
    await opened_display.evaluate("() => document.activeElement.blur()")
    return opened_display


async def test_power_changes_after_login(page: Page) -> None:
    await open_display(page)
    await expect(page.get_by_test_id("connection")).to_have_text("Live")
    first = await page.get_by_test_id("power").inner_text()
    await expect(page.get_by_test_id("power")).not_to_have_text(first, timeout=READINGS_TIMEOUT_MS)
    await expect(page.get_by_test_id("power")).to_have_text(POWER_TEXT)


async def test_display_shows_cost_level_rate_and_time(page: Page) -> None:
    await page.set_viewport_size({"width": 1024, "height": 600})
    await open_display(page)
    for period in ("today", "month"):
        await expect(page.get_by_test_id(f"{period}-cost")).to_have_text(POUNDS_TEXT)
        await expect(page.get_by_test_id(period)).to_contain_text(
            re.compile(r"incl\. (\d+p|£\d+\.\d\d) standing charge")
        )
        await expect(page.get_by_test_id(f"{period}-energy")).to_have_text(KWH_TEXT)
        await expect(page.get_by_test_id(f"{period}-gas")).to_have_text(KWH_TEXT)
        await expect(page.get_by_test_id(f"{period}-exported")).to_be_hidden()
    await expect(page.get_by_test_id("direction")).to_have_text("Importing")
    await expect(page.get_by_test_id("hourly")).to_have_text(re.compile(r"^(\d+p|£\d+\.\d\d) an hour$"))
    await expect(page.get_by_test_id("ambient")).to_have_text(re.compile(r"^(Low|Medium|High)$"))
    await expect(page.get_by_test_id("explanation")).to_contain_text("Compared with your usual use")
    await expect(page.get_by_test_id("rate")).to_have_text(re.compile(r"^\d[\d.]*p$"))
    await expect(page.get_by_test_id("next-rate")).to_have_text(re.compile(r"^\d[\d.]*p from .*, (dearer|cheaper)$"))
    await expect(page.get_by_test_id("clock")).to_have_text(re.compile(r"^\d\d:\d\d$"))


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_every_cost_says_whether_the_standing_charge_and_vat_are_in_it(page: Page) -> None:
    await open_display(page)
    for width, height in ((480, 320), (844, 390), (1024, 600), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        await show_page(page, "history")
        for view in ("5 weeks", "8 days"):
            await page.get_by_role("radio", name=view).check(force=True)
            await expect(page.get_by_test_id("history-basis")).to_have_text("Costs incl. standing charge and VAT")
        await page.get_by_role("radio", name="24 hours").check(force=True)
        await expect(page.get_by_test_id("history-basis")).to_have_text("Costs incl. VAT, without standing charge")
        await expect(page.get_by_test_id("history-basis")).to_be_visible()
        await show_page(page, "now")
        for period in ("today", "month"):
            basis = page.get_by_test_id(period).locator("small:visible")
            await expect(basis).to_have_text(re.compile(r"^incl\. (\d+p |£\d+\.\d\d )?standing charge and VAT"))
    await show_page(page, "history")
    await page.get_by_role("radio", name="Electricity").check(force=True)
    await expect(page.get_by_test_id("history-basis")).to_have_text("")


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_account_without_a_home_shows_the_next_steps(context: BrowserContext) -> None:
    page = context.pages[0]
    await open_login_form(page)
    await page.get_by_test_id("username").fill(logins.EDITOR_USERNAME)
    await page.get_by_test_id("password").fill(PASSWORD)
    await page.get_by_test_id("login").click()
    notice = page.get_by_test_id("no-homes")
    await expect(notice).to_contain_text("Ask the provider of your app to add your home")
    await expect(notice).to_contain_text("wattgate home create --help")
    await expect(page.get_by_test_id("connection")).to_be_hidden()
    await page.get_by_test_id("logout").click()
    await log_in(page)
    await expect(page.get_by_test_id("power")).to_have_text(POWER_TEXT, timeout=READINGS_TIMEOUT_MS)
    await expect(page.get_by_test_id("connection")).to_be_visible()
    await expect(notice).to_be_hidden()


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_selected_home_is_kept_after_reload(page: Page) -> None:
    await open_display(page)
    picker = page.get_by_test_id("home-picker")
    await picker.select_option(label="Harbour Cottage")
    await expect(page.get_by_test_id("today-cost")).to_have_text(POUNDS_TEXT)
    await expect(page.get_by_role("radio", name="Exported")).to_be_attached()
    await expect(page.locator(".measures label").filter(has_text="Gas")).to_be_hidden()
    await page.reload()
    await expect(picker.locator("option:checked")).to_have_text("Harbour Cottage")


async def test_wrong_password_shows_error_and_stores_nothing(page: Page) -> None:
    await log_in(page, "not-the-password")
    await expect(page.get_by_test_id("login-error")).to_have_text("The username or the password is wrong.")
    await expect(page.get_by_test_id("login-form")).to_be_visible()
    assert await page.evaluate("() => localStorage.length + sessionStorage.length + document.cookie.length") == 0


async def test_password_is_not_stored_and_logout_removes_token(page: Page) -> None:
    await log_in(page)
    await page.mouse.move(0, 0)  # after the log-in the pointer is over a bar, which would be selected
    await until_shown(page)
    stored = await page.evaluate("() => JSON.stringify(localStorage)")
    assert "token" in stored
    assert PASSWORD not in stored
    await page.reload()
    await expect(page.get_by_test_id("power")).to_have_text(POWER_TEXT, timeout=READINGS_TIMEOUT_MS)
    await page.get_by_test_id("logout").click()
    await expect(page.get_by_test_id("login-form")).to_be_visible()
    assert await page.evaluate("() => localStorage.getItem('wattgate.session')") is None


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_each_history_view_sends_one_request(page: Page) -> None:
    await open_display(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.post_data or ""))
    for view, bars in (("24 hours", 24), ("5 weeks", 5), ("13 months", 13), ("8 days", 8)):
        await page.get_by_role("radio", name=view).check(force=True)
        await expect(page.locator(".bar")).to_have_count(bars)
    assert len(requests) == 4


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_bars_have_labels_with_values(page: Page) -> None:
    await page.set_viewport_size({"width": 1024, "height": 600})
    await open_display(page)
    days = page.locator(".bar")
    await expect(days.first).to_have_attribute("aria-label", re.compile(r"^\w+day \d.*: £.*, electricity .*, gas .*"))
    await expect(days.last).to_have_attribute("aria-label", re.compile("(so far|nothing yet)"))
    await page.get_by_role("radio", name="13 months").check(force=True)
    # the demonstration of the tests has 14 days of history
    await expect(days.first).to_have_attribute("aria-label", re.compile(r"^\w+ \d{4}: no readings$"))
    await expect(page.locator(".legend")).to_contain_text("No readings")


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_failed_history_request_shows_notice_and_next_one_succeeds(context: BrowserContext) -> None:
    page = context.pages[0]
    await open_display(page)
    await page.route(re.compile(r"/graphql$"), lambda route: route.abort())
    await page.get_by_role("radio", name="5 weeks").check(force=True)
    await expect(page.locator(".chart-notice")).to_contain_text("cannot be read")
    await page.unroute(re.compile(r"/graphql$"))
    await page.get_by_role("radio", name="8 days").check(force=True)
    await expect(page.locator(".bar")).to_have_count(8)
    await expect(page.locator(".chart-notice")).to_have_text("")


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_small_wall_display_shows_everything_without_scrolling(shown: Page) -> None:
    for width, height in ((480, 320), (844, 390), (1024, 600), (1280, 800)):
        await shown.set_viewport_size({"width": width, "height": height})
        assert await overflow_pixels(shown) == {"across": 0, "down": 0}
        for part in ("power", "connection", "today-cost", "month-cost", "rate", "home-picker", "logout"):
            await expect(shown.get_by_test_id(part)).to_be_in_viewport(ratio=1)
        has_no_room = await shown.locator(':is([data-limits="2"], [data-limits="3"])').count() and height < 384
        if has_no_room:  # the words about the limits of an amount take the room of the chart, which has its own page
            await shown.get_by_role("radio", name="History").check(force=True)
        await expect(shown.get_by_test_id("chart")).to_be_in_viewport(ratio=1)
        if has_no_room:
            await shown.get_by_role("radio", name="Now").check(force=True)


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_page_fits_width_of_screens_in_both_colour_schemes(shown: Page) -> None:
    backgrounds = set()
    for scheme in ("light", "dark"):
        await shown.emulate_media(color_scheme=scheme)
        backgrounds.add(await shown.evaluate("() => getComputedStyle(document.documentElement).backgroundColor"))
        for width, height in ((320, 568), (360, 740), (390, 844), (768, 1024), (1920, 1080)):
            await shown.set_viewport_size({"width": width, "height": height})
            assert (await overflow_pixels(shown))["across"] == 0, f"{width} wide, {scheme}"
    assert len(backgrounds) == 2


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_keyboard_reaches_all_controls_and_bars(page: Page) -> None:
    await open_display(page)
    await expect(page.get_by_test_id("open-prices")).to_be_visible()
    await page.get_by_test_id("home-picker").focus()
    for control in ("alerts", "full-screen", "logout", "open-prices"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_test_id(control)).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("radio", name="8 days")).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator(".bar")).to_have_count(24)
    await page.keyboard.press("Tab")
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("radio", name="Electricity")).to_be_checked()
    for control in ("earlier", "later"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_test_id(control)).to_be_focused()
    await page.keyboard.press("Tab")  # to the newest bar
    await page.keyboard.press("ArrowLeft")
    bar = page.locator(".bar:focus")
    expected_label = re.compile(r"^\d\d:\d\d to \d\d:\d\d: (\d.* kWh|no readings|not all readings received)")
    await expect(bar).to_have_attribute("aria-label", expected_label)
    bar_name = (await bar.get_attribute("aria-label") or "").split(": ")[0]
    await expect(page.locator(".readout-name")).to_have_text(bar_name)
    await page.keyboard.press("Home")
    await expect(page.locator(".bar").first).to_be_focused()


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_focused_element_has_visible_outline(shown: Page) -> None:
    await shown.get_by_test_id("home-picker").focus()
    for _ in range(5):
        outlines = await shown.evaluate(
            """() => {
                const focused = document.activeElement;
                const places = [focused, focused.nextElementSibling].filter(Boolean);
                const outlines = places.map((one) => getComputedStyle(one).outlineStyle);
                return [...outlines, getComputedStyle(focused, "::before").outlineStyle];
            }"""
        )
        assert "solid" in outlines
        await shown.keyboard.press("Tab")


@pytest.mark.long("sizes and side paths of the display; log-in, power, cost and accessibility stay in the short form")
async def test_reduced_motion_disables_animations(shown: Page) -> None:
    await shown.emulate_media(reduced_motion="reduce")
    count_animated = """() => [...document.querySelectorAll("*")].filter((one) => {
        const { animationName, transitionDuration } = getComputedStyle(one);
        return animationName !== "none" || transitionDuration !== "0s";
    }).length"""
    assert await shown.evaluate(count_animated) == 0


async def test_display_has_no_accessibility_violations(page: Page) -> None:
    await open_login_form(page)
    assert await violations_in_both_schemes(page) == []
    await open_display(page)
    for width, height in ((1280, 800), (360, 740)):
        await page.set_viewport_size({"width": width, "height": height})
        assert await violations_in_both_schemes(page) == []
    await expect(page.get_by_test_id("power")).not_to_contain_text(NO_VALUE)
