"""The home display in a real browser with a failing connection or meter: stale readings and reconnects."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, Page, WebSocket, WebSocketRoute, expect

from tests.browser.controlled_homes import SECOND_HOME, ControlledHomes, controlled_homes
from tests.browser.displays import (
    AGE_OF_A_DELAYED_READING,
    AGE_SHORTLY_BEFORE_STALE,
    DELAYED_READING_TEXT,
    NO_VALUE,
    READINGS_TIMEOUT_MS,
    open_display,
)
from tests.faults.scale import selected_scale
from wattgate.app.demo.alerts import send_alert
from wattgate.app.demo.logins import USERNAME
from wattgate.app.demo.seed import list_owners
from wattgate.clock import utc_now
from wattgate.operations.credentials.login import TOKEN_LIFETIME

pytestmark = pytest.mark.browser

PAST_HALF_TOKEN_LIFETIME_MS = round((TOKEN_LIFETIME / 2 + timedelta(hours=1)) / timedelta(milliseconds=1))
SOCKET_PATH = re.compile(r"/graphql$")
LAST_READING_TEXT = re.compile(r"^Last reading \d\d:\d\d:\d\d, \d+ (s|min) ago\. ")
RECONNECTS = 1000 if selected_scale().long else 24
NODES_OF_CHANCE = 20
"""More nodes than before are no leak if they are fewer than one for each reconnect."""
LONGEST_RELOAD_DELAY_MS = 300_000
"""The longest time for which a page that is older than the gateway waits before it loads itself again."""


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlledHomes]:
    async with controlled_homes(tmp_path_factory.mktemp("still")) as homes:
        yield homes


@pytest.fixture
async def page(browser: Browser, homes: ControlledHomes) -> AsyncIterator[Page]:
    async with homes.page(browser) as page:
        yield page


async def token_of(page: Page) -> str:
    return str(await page.evaluate("() => JSON.parse(localStorage.getItem('wattgate.session')).token"))


class InterceptedSockets:
    """The WebSocket connections of a page, which a test can close like a gateway."""

    def __init__(self) -> None:
        self.routes: list[WebSocketRoute] = []
        self._opened = asyncio.Condition()

    async def intercept(self, page: Page) -> None:
        await page.route_web_socket(SOCKET_PATH, self._connect)

    async def until(self, count: int) -> None:
        """Wait for `count` connections in total."""
        async with asyncio.timeout(30), self._opened:
            await self._opened.wait_for(lambda: len(self.routes) >= count)

    async def _connect(self, route: WebSocketRoute) -> None:
        route.connect_to_server()
        async with self._opened:
            self.routes.append(route)
            self._opened.notify_all()


class RecordedSocketMessages:
    """The messages that a page sends and receives on its WebSocket connections."""

    def __init__(self, page: Page) -> None:
        self.messages: list[str] = []
        self.connections = 0
        self._changed = asyncio.Event()
        page.on("websocket", self._listen)

    async def until(self, part: str) -> None:
        """Wait for a message that contains `part`."""
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


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
async def test_needle_is_hidden_when_gateway_reports_stale_reading(page: Page, homes: ControlledHomes) -> None:
    recorded = RecordedSocketMessages(page)
    await open_display(page)
    await homes.send_power(410, utc_now() - AGE_SHORTLY_BEFORE_STALE, home=SECOND_HOME)
    await page.get_by_test_id("home-picker").select_option(label=SECOND_HOME)
    await expect(page.get_by_test_id("explanation")).to_have_text(LAST_READING_TEXT, timeout=READINGS_TIMEOUT_MS)
    await expect(page.get_by_test_id("power")).to_have_text(NO_VALUE)
    await expect(page.locator(".gauge .needle")).to_be_hidden()
    await expect(page.get_by_test_id("connection")).to_have_text("Not up to date")
    await recorded.until('"STALE"')
    await homes.send_power(420, utc_now() - AGE_OF_A_DELAYED_READING, home=SECOND_HOME)
    await expect(page.get_by_test_id("power")).to_have_text("420 W")
    await expect(page.get_by_test_id("connection")).to_have_text("Delayed")
    await expect(page.get_by_test_id("explanation")).to_contain_text(DELAYED_READING_TEXT)
    await expect(page.locator(".gauge .needle")).to_be_visible()


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
async def test_needle_is_hidden_when_connection_is_down_until_reading_is_stale(
    page: Page, homes: ControlledHomes
) -> None:
    await page.clock.install()
    await open_display(page)
    await homes.relay.cut()
    await page.clock.fast_forward(121_000)
    await expect(page.get_by_test_id("power")).to_have_text(NO_VALUE)
    await expect(page.locator(".gauge .needle")).to_be_hidden()
    await expect(page.get_by_test_id("explanation")).to_have_text(LAST_READING_TEXT)
    await expect(page.get_by_test_id("explanation")).to_contain_text("This screen has lost its connection.")
    await homes.relay.open()
    await homes.send_power(640)
    await page.clock.resume()
    await expect(page.get_by_test_id("power")).to_have_text("640 W", timeout=40_000)
    await expect(page.get_by_test_id("connection")).to_have_text("Live")


async def test_display_shows_lost_connection_and_reconnects_with_newest_state(
    page: Page, homes: ControlledHomes
) -> None:
    await open_display(page)
    await homes.relay.cut()
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "reconnecting")
    await homes.send_power(723)
    await homes.relay.open()
    await expect(page.get_by_test_id("power")).to_have_text("723 W", timeout=READINGS_TIMEOUT_MS)
    await expect(page.get_by_test_id("connection")).to_have_text("Live")


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
async def test_frames_of_a_newer_version_are_not_shown(page: Page, homes: ControlledHomes) -> None:
    """A gateway that was upgraded can send frames whose fields mean something else than this page knows."""
    upgraded = asyncio.Event()

    async def connect(route: WebSocketRoute) -> None:
        gateway = route.connect_to_server()
        gateway.on_message(lambda message: route.send(_in_newer_frames(str(message)) if upgraded.is_set() else message))

    await page.route_web_socket(SOCKET_PATH, connect)
    await page.clock.install()
    await open_display(page)
    upgraded.set()
    await homes.send_power(735)
    await expect(page.get_by_test_id("connection")).to_have_text("Updating this page")
    await expect(page.get_by_test_id("power")).to_have_text(NO_VALUE)
    await expect(page.get_by_test_id("explanation")).not_to_contain_text(re.compile(r"\d"))
    await expect(page.get_by_test_id("today-cost")).to_have_text(NO_VALUE)
    await expect(page.locator(".bar")).to_have_count(0)
    await expect(page.get_by_test_id("alerts")).to_have_text(re.compile(r"^\s*$"))
    # The device sleeps, or its clock is set: the page still waits for its newer version.
    await page.clock.set_system_time(utc_now() + timedelta(minutes=10))
    await page.clock.run_for(2_000)
    await expect(page.get_by_test_id("connection")).to_have_text("Updating this page")
    upgraded.clear()
    await page.clock.fast_forward(LONGEST_RELOAD_DELAY_MS)
    await expect(page.get_by_test_id("power")).to_have_text("735 W", timeout=READINGS_TIMEOUT_MS)


def _in_newer_frames(message: str) -> str:
    changed = message.replace('"frameVersion":1', '"frameVersion":2')
    assert changed != message or '"next"' not in message
    return changed


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
async def test_online_event_of_browser_triggers_reconnect(page: Page, homes: ControlledHomes) -> None:
    await page.add_init_script("Math.random = () => 0.999")
    await open_display(page)
    await homes.relay.cut()
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "reconnecting")
    await homes.relay.open()
    await page.evaluate("() => window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")


async def test_display_reconnects_after_each_close_code(page: Page, subtests: pytest.Subtests) -> None:
    sockets = InterceptedSockets()
    await sockets.intercept(page)
    await page.add_init_script("Math.random = () => 0.1")
    await open_display(page)
    for code in (1001, 1012, 4503, 4508):
        with subtests.test(str(code)):
            count = len(sockets.routes)
            await sockets.routes[-1].close(code=code)
            await sockets.until(count + 1)
            await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")


async def test_display_keeps_its_credential_while_an_address_has_to_wait(page: Page) -> None:
    sockets = InterceptedSockets()
    await sockets.intercept(page)
    await page.clock.install()
    await open_display(page)
    before = await token_of(page)
    await sockets.routes[0].close(code=4511, reason="Retry in 20 s.")
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "reconnecting")
    await page.clock.run_for(19_500)
    assert len(sockets.routes) == 1
    await page.clock.run_for(6_000)
    await sockets.until(2)
    await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
    assert await token_of(page) == before


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
async def test_display_waits_half_a_minute_after_connection_limit(page: Page) -> None:
    sockets = InterceptedSockets()
    await sockets.intercept(page)
    await page.clock.install()
    await open_display(page)
    await sockets.routes[0].close(code=4509)
    await expect(page.get_by_test_id("connection")).to_have_text("Too many screens, waiting")
    await page.clock.run_for(29_500)
    assert len(sockets.routes) == 1
    await page.clock.run_for(31_000)
    await sockets.until(2)


@pytest.mark.long("a side path; lost connections and close codes stay in the short form")
async def test_token_is_renewed_on_open_connection(page: Page) -> None:
    recorded = RecordedSocketMessages(page)
    await page.clock.install()
    await open_display(page)
    first = await token_of(page)
    await page.clock.fast_forward(PAST_HALF_TOKEN_LIFETIME_MS)
    await recorded.until("expiresAt")
    assert await token_of(page) != first
    await recorded.until(json.dumps({"token": await token_of(page)}, separators=(",", ":")))
    assert recorded.connections == 1


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
async def test_unread_alert_count_follows_sent_and_read_alerts(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    alerts, token = page.get_by_test_id("alerts"), await token_of(page)

    async def query_graphql(query: str) -> Any:
        response = await page.request.post("/graphql", headers={"token": token}, data={"query": query})
        return (await response.json())["data"]

    await expect(alerts).to_have_accessible_name("Alerts, rules and budget: 1 unread alert")
    await send_alert(homes.runner, (await list_owners(homes.runner))[USERNAME], utc_now())
    await expect(alerts).to_have_text(re.compile(r"^\s*2\s*$"))
    await query_graphql("mutation { markAlertsRead { ... on MarkedAlerts { marked } } }")
    await expect(alerts).to_have_text(re.compile(r"^\s*$"))


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
async def test_revoked_token_shows_login_form(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    token = await token_of(page)
    response = await page.request.post(
        "/graphql", headers={"token": token}, data={"query": "mutation { deleteToken { __typename } }"}
    )
    assert response.ok
    await expect(page.get_by_test_id("login-form")).to_be_visible(timeout=READINGS_TIMEOUT_MS)
    await expect(page.get_by_test_id("login-error")).to_contain_text("Please log in again")


@pytest.mark.long("further ends of a link; a lost link, close codes and the renewal of a token stay in the short form")
@pytest.mark.timeout(900)
async def test_many_reconnects_do_not_leak_nodes_or_listeners(page: Page) -> None:
    sockets = InterceptedSockets()
    await sockets.intercept(page)
    await page.add_init_script("Math.random = () => 0")
    await open_display(page)
    session = await page.context.new_cdp_session(page)

    async def dom_counters() -> dict[str, int]:
        await session.send("HeapProfiler.collectGarbage")
        counters = await session.send("Memory.getDOMCounters")
        return {"nodes": counters["nodes"], "listeners": counters["jsEventListeners"]}

    async def reconnect(times: int) -> None:
        for _ in range(times):
            count = len(sockets.routes)
            await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
            await sockets.routes[-1].close(code=4503)
            await sockets.until(count + 1)

    await reconnect(5)
    before = await dom_counters()
    await reconnect(RECONNECTS)
    async with asyncio.timeout(20):  # garbage is collected after a while, and leaked objects are not
        while True:
            after = await dom_counters()
            if after["listeners"] <= before["listeners"] and after["nodes"] <= before["nodes"] + NODES_OF_CHANCE:
                return
            await asyncio.sleep(0.1)
