"""The home display in a real browser."""

import re
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, WebSocketRoute, expect

pytestmark = pytest.mark.browser

USERNAME, PASSWORD = "demo@wattgate.example", "demo-password"
NOTHING = "\N{EN DASH}"
POWER = re.compile(r"^[\d.]+ k?W$")
SEVERAL_READINGS = 15_000


@pytest.fixture
async def context(browser: Browser, demo_url: str) -> AsyncIterator[BrowserContext]:
    opened = await browser.new_context(base_url=demo_url, viewport={"width": 480, "height": 320})
    yield opened
    await opened.close()


@pytest.fixture
async def page(context: BrowserContext) -> Page:
    return await context.new_page()


async def log_in(page: Page, password: str = PASSWORD) -> None:
    await page.goto("/display")
    await page.get_by_test_id("username").fill(USERNAME)
    await page.get_by_test_id("password").fill(password)
    await page.get_by_test_id("login").click()


async def open_display(page: Page) -> None:
    """Log in, and wait until live power and history are there."""
    await log_in(page)
    await expect(page.get_by_test_id("power")).to_have_text(POWER, timeout=SEVERAL_READINGS)
    await expect(page.get_by_test_id("today-cost")).to_have_text(re.compile(rf"^(£[\d.]+|{NOTHING})$"))
    await expect(page.locator(".bar")).to_have_count(8)


async def overflow(page: Page) -> dict[str, Any]:
    """By how many pixels the page is larger than what is seen of it."""
    return dict(
        await page.evaluate(
            """() => {
                const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
                return { across: scrollWidth - clientWidth, down: scrollHeight - clientHeight };
            }"""
        )
    )


async def barriers(page: Page) -> list[str]:
    """What axe finds against the success criteria of WCAG 2.2, levels A and AA."""
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
    found = await Axe().run(page, options={"runOnly": tags})
    return [
        f"{violation['id']}: {node['html']}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]


async def test_whoever_logs_in_sees_the_power_change(page: Page) -> None:
    await open_display(page)
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
    first = await page.get_by_test_id("power").inner_text()
    await expect(page.get_by_test_id("power")).not_to_have_text(first, timeout=SEVERAL_READINGS)
    await expect(page.get_by_test_id("power")).to_have_text(POWER)


async def test_a_wrong_password_is_told_and_nothing_is_stored(page: Page) -> None:
    await log_in(page, "not-the-password")
    await expect(page.get_by_test_id("login-error")).to_have_text("The username or the password is wrong.")
    await expect(page.get_by_test_id("login-form")).to_be_visible()
    assert await page.evaluate("() => localStorage.length + sessionStorage.length + document.cookie.length") == 0


async def test_the_password_is_not_kept_and_logging_out_forgets_the_token(page: Page) -> None:
    await open_display(page)
    kept = await page.evaluate("() => JSON.stringify(localStorage)")
    assert "token" in kept
    assert PASSWORD not in kept
    await page.reload()
    await expect(page.get_by_test_id("power")).to_have_text(POWER, timeout=SEVERAL_READINGS)
    await page.get_by_test_id("logout").click()
    await expect(page.get_by_test_id("login-form")).to_be_visible()
    assert await page.evaluate("() => localStorage.getItem('wattgate.session')") is None


async def test_the_needle_is_blank_when_no_reading_has_come_for_two_minutes(page: Page) -> None:
    def without_readings(route: WebSocketRoute) -> None:
        def pass_on(message: str | bytes) -> None:
            if '"next"' not in str(message):
                route.send(message)

        route.connect_to_server().on_message(pass_on)

    await page.route_web_socket(re.compile(r"/graphql$"), without_readings)
    await page.clock.install()
    await open_display(page)
    await page.route(re.compile(r"/graphql$"), lambda route: route.abort())  # no newer reading by HTTP either
    await page.clock.fast_forward(121_000)
    await expect(page.get_by_test_id("power")).to_have_text(NOTHING)
    await expect(page.get_by_test_id("explanation")).to_have_text(
        re.compile(r"^Last reading \d\d:\d\d:\d\d, \d+ (s|min) ago")
    )
    await expect(page.locator(".dial .needle")).to_be_hidden()


async def test_a_broken_connection_is_told(page: Page) -> None:
    sockets: list[WebSocketRoute] = []

    def first_only(route: WebSocketRoute) -> None:
        sockets.append(route)
        if len(sockets) == 1:
            route.connect_to_server()

    await page.route_web_socket(re.compile(r"/graphql$"), first_only)
    await open_display(page)
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
    await sockets[0].close(code=1001)
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "reconnecting")


async def test_a_small_wall_display_shows_all_without_scrolling(page: Page) -> None:
    await open_display(page)
    assert await overflow(page) == {"across": 0, "down": 0}
    for part in ("power", "connection", "today-cost", "month-cost", "rate", "chart", "home-picker", "logout"):
        await expect(page.get_by_test_id(part)).to_be_in_viewport(ratio=1)


async def test_each_view_of_the_history_is_one_request(page: Page) -> None:
    await open_display(page)
    asked: list[str] = []
    page.on(
        "request",
        lambda request: asked.append(request.post_data or "") if "History" in (request.post_data or "") else None,
    )
    for view, bars in (("24 hours", 24), ("5 weeks", 5), ("13 months", 13), ("8 days", 8)):
        await page.get_by_role("radio", name=view).check(force=True)
        await expect(page.locator(".bar")).to_have_count(bars)
    assert len(asked) == 4


async def test_no_screen_and_no_colour_scheme_makes_the_page_too_wide(page: Page) -> None:
    await open_display(page)
    backgrounds = set()
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        backgrounds.add(await page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor"))
        for width, height in ((320, 568), (390, 844), (768, 1024), (1280, 800)):
            await page.set_viewport_size({"width": width, "height": height})
            assert (await overflow(page))["across"] == 0, f"{width} wide, {scheme}"
    assert len(backgrounds) == 2


async def test_everything_is_reached_and_told_by_keyboard(page: Page) -> None:
    await open_display(page)
    await page.get_by_test_id("logout").focus()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("radio", name="8 days")).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator(".bar")).to_have_count(24)
    await page.keyboard.press("Tab")
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("radio", name="Electricity")).to_be_checked()
    await page.keyboard.press("Tab")  # to the newest bar
    await page.keyboard.press("ArrowLeft")
    bar = page.locator(".bar:focus")
    await expect(bar).to_have_attribute(
        "aria-label", re.compile(r"^\d\d:\d\d to \d\d:\d\d: (\d.* kWh|no readings|not all in yet)")
    )
    named = (await bar.get_attribute("aria-label") or "").split(": ")[0]
    await expect(page.locator(".readout-name")).to_have_text(named)
    await page.keyboard.press("Home")
    await expect(page.locator(".bar").first).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_stands_in_anybodys_way(page: Page, scheme: Literal["light", "dark"]) -> None:
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    await page.goto("/display")
    await expect(page.get_by_test_id("login-form")).to_be_visible()
    assert await barriers(page) == []
    await open_display(page)
    for width, height in ((1280, 800), (360, 740)):
        await page.set_viewport_size({"width": width, "height": height})
        assert await barriers(page) == []
