"""The home display in a real browser whose link or meter fails: it never shows an old number as new, and comes back."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, WebSocket, WebSocketRoute, expect

from tests.browser.displays import NOTHING, SEVERAL_READINGS, open_display
from tests.browser.still_home import SECOND, StillHome, still_home
from tests.faults.scale import selected_scale
from wattgate.app.demo.seed import send_alert
from wattgate.clock import utc_now
from wattgate.graphql.services.login import TOKEN_LIFETIME

pytestmark = pytest.mark.browser

PAST_HALF_A_LIFE = round((TOKEN_LIFETIME / 2 + timedelta(hours=1)) / timedelta(milliseconds=1))
SOCKET = re.compile(r"/graphql$")
LAST_READING = re.compile(r"^Last reading \d\d:\d\d:\d\d, \d+ (s|min) ago\. ")
RECONNECTS = 1000 if selected_scale().long else 50
STALE_SOON = timedelta(seconds=115)
"""The age of a reading that is STALE five seconds later: at two minutes."""


@pytest.fixture(scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StillHome]:
    async with still_home(tmp_path_factory.mktemp("still")) as made:
        yield made


@pytest.fixture
async def page(browser: Browser, home: StillHome) -> AsyncIterator[Page]:
    context: BrowserContext = await browser.new_context(base_url=home.url, viewport={"width": 1024, "height": 600})
    await home.send_power(500)
    yield await context.new_page()
    await context.close()


async def token_of(page: Page) -> str:
    return str(await page.evaluate("() => JSON.parse(localStorage.getItem('wattgate.session')).token"))


class Sockets:
    """The page's connections, which a test ends as a gateway would."""

    def __init__(self) -> None:
        self.routes: list[WebSocketRoute] = []
        self._opened = asyncio.Condition()

    async def intercept(self, page: Page) -> None:
        await page.route_web_socket(SOCKET, self._connect)

    async def until(self, count: int) -> None:
        """Wait for so many connections."""
        async with asyncio.timeout(30), self._opened:
            await self._opened.wait_for(lambda: len(self.routes) >= count)

    async def _connect(self, route: WebSocketRoute) -> None:
        route.connect_to_server()
        async with self._opened:
            self.routes.append(route)
            self._opened.notify_all()


class Overheard:
    """What the page says and hears on its connections."""

    def __init__(self, page: Page) -> None:
        self.messages: list[str] = []
        self.connections = 0
        self._changed = asyncio.Event()
        page.on("websocket", self._listen)

    async def until(self, part: str) -> None:
        """Wait for a message with this in it."""
        async with asyncio.timeout(15):
            while not any(part in message for message in self.messages):
                self._changed.clear()
                await self._changed.wait()

    def _listen(self, socket: WebSocket) -> None:
        self.connections += 1
        socket.on("framesent", self._take)
        socket.on("framereceived", self._take)

    def _take(self, message: str | bytes) -> None:
        self.messages.append(str(message))
        self._changed.set()


async def test_the_needle_is_blank_as_soon_as_the_gateway_says_that_the_meter_is_silent(
    page: Page, home: StillHome
) -> None:
    overheard = Overheard(page)
    await open_display(page)
    await home.send_power(410, utc_now() - STALE_SOON, home=SECOND)
    await page.get_by_test_id("home-picker").select_option(label=SECOND)
    await expect(page.get_by_test_id("power")).to_have_text("410 W")
    await expect(page.get_by_test_id("connection")).to_have_text("Delayed")
    await expect(page.get_by_test_id("explanation")).to_contain_text("This reading is 11")
    await expect(page.get_by_test_id("power")).to_have_text(NOTHING, timeout=SEVERAL_READINGS)
    await expect(page.locator(".gauge .needle")).to_be_hidden()
    await expect(page.get_by_test_id("explanation")).to_have_text(LAST_READING)
    await expect(page.get_by_test_id("connection")).to_have_text("Not up to date")
    await overheard.until('"STALE"')


async def test_the_needle_is_blank_when_the_link_is_down_for_longer_than_a_reading_is_good(
    page: Page, home: StillHome
) -> None:
    await page.clock.install()
    await open_display(page)
    await home.relay.cut()
    await page.clock.fast_forward(121_000)
    await expect(page.get_by_test_id("power")).to_have_text(NOTHING)
    await expect(page.locator(".gauge .needle")).to_be_hidden()
    await expect(page.get_by_test_id("explanation")).to_have_text(LAST_READING)
    await expect(page.get_by_test_id("explanation")).to_contain_text("This screen has lost its connection.")
    await home.relay.open()
    await home.send_power(640)
    await page.clock.resume()
    await expect(page.get_by_test_id("power")).to_have_text("640 W", timeout=40_000)
    await expect(page.get_by_test_id("connection")).to_have_text("Live")


async def test_a_link_that_is_cut_is_told_and_comes_back_with_the_newest_state(page: Page, home: StillHome) -> None:
    await open_display(page)
    await home.relay.cut()
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "reconnecting")
    await home.send_power(723)
    await home.relay.open()
    await expect(page.get_by_test_id("power")).to_have_text("723 W", timeout=SEVERAL_READINGS)
    await expect(page.get_by_test_id("connection")).to_have_text("Live")


async def test_the_browsers_word_that_the_network_is_back_is_taken(page: Page, home: StillHome) -> None:
    await page.add_init_script("Math.random = () => 0.999")
    await open_display(page)
    await home.relay.cut()
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "reconnecting")
    await home.relay.open()
    await page.evaluate("() => window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")


@pytest.mark.parametrize("code", [1001, 1012, 4503, 4508])
async def test_it_comes_back_after_a_close_that_says_so(page: Page, code: int) -> None:
    sockets = Sockets()
    await sockets.intercept(page)
    await page.add_init_script("Math.random = () => 0.1")
    await open_display(page)
    await sockets.routes[0].close(code=code)
    await sockets.until(2)
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")


async def test_whoever_is_displaced_stays_away_for_half_a_minute(page: Page) -> None:
    sockets = Sockets()
    await sockets.intercept(page)
    await page.clock.install()
    await open_display(page)
    await sockets.routes[0].close(code=4509)
    await expect(page.get_by_test_id("connection")).to_have_text("Too many screens, waiting")
    await page.clock.run_for(29_500)
    assert len(sockets.routes) == 1
    await page.clock.run_for(31_000)
    await sockets.until(2)


async def test_a_token_is_renewed_over_the_connection_that_stands(page: Page) -> None:
    overheard = Overheard(page)
    await page.clock.install()
    await open_display(page)
    first = await token_of(page)
    await page.clock.fast_forward(PAST_HALF_A_LIFE)
    await overheard.until("expiresAt")
    assert await token_of(page) != first
    await overheard.until(json.dumps({"token": await token_of(page)}, separators=(",", ":")))
    assert overheard.connections == 1


async def test_alerts_that_are_not_read_are_counted_as_they_are_sent_and_read(page: Page, home: StillHome) -> None:
    await open_display(page)
    alerts, token = page.get_by_test_id("alerts"), await token_of(page)

    async def ask(query: str) -> Any:
        answer = await page.request.post("/graphql", headers={"token": token}, data={"query": query})
        return (await answer.json())["data"]

    await expect(alerts).to_have_text(re.compile(r"^\s*1 unread\s*$"))
    (alert,) = (await ask("{ userAlerts { userId } }"))["userAlerts"]
    await send_alert(home.runner, alert["userId"])
    await expect(alerts).to_have_text(re.compile(r"^\s*2 unread\s*$"))
    await ask("mutation { markAlertsRead { marked } }")
    await expect(alerts).to_be_hidden()


async def test_a_token_that_was_revoked_ends_in_the_log_in(page: Page, home: StillHome) -> None:
    await open_display(page)
    token = await token_of(page)
    answer = await page.request.post(
        "/graphql", headers={"token": token}, data={"query": "mutation { deleteToken { valid } }"}
    )
    assert answer.ok
    await expect(page.get_by_test_id("login-form")).to_be_visible(timeout=SEVERAL_READINGS)
    await expect(page.get_by_test_id("login-error")).to_contain_text("Please log in again")


@pytest.mark.timeout(900)
async def test_months_of_reconnects_leave_nothing_behind(page: Page) -> None:
    sockets = Sockets()
    await sockets.intercept(page)
    await page.add_init_script("Math.random = () => 0")
    await open_display(page)
    session = await page.context.new_cdp_session(page)

    async def counted() -> dict[str, int]:
        await session.send("HeapProfiler.collectGarbage")
        found = await session.send("Memory.getDOMCounters")
        return {"nodes": found["nodes"], "listeners": found["jsEventListeners"]}

    async def reconnect(times: int) -> None:
        for _ in range(times):
            count = len(sockets.routes)
            await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
            await sockets.routes[-1].close(code=4503)
            await sockets.until(count + 1)

    await reconnect(10)
    before = await counted()
    await reconnect(RECONNECTS)
    async with asyncio.timeout(20):  # what is garbage goes in the end, and what is left behind does not
        while True:
            after = await counted()
            if after["listeners"] <= before["listeners"] and after["nodes"] <= before["nodes"] + 20:
                return
            await asyncio.sleep(0.1)
