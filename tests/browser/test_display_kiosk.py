"""The home display as an appliance in a real browser: its address, language, clock, and its shell without a network."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, Page, Route, expect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.browser.controlled_homes import FIRST_HOME, SECOND_HOME, ControlledHomes, controlled_homes
from tests.browser.displays import (
    AGE_OF_A_DELAYED_READING,
    AGE_SHORTLY_BEFORE_STALE,
    DELAYED_READING_TEXT,
    NO_VALUE,
    PASSWORD,
    READINGS_TIMEOUT_MS,
    USERNAME,
    open_display,
    open_login_form,
)
from tests.browser.sessions import start_session
from wattgate.app.server.pages.page_routes import shell_files, shell_version
from wattgate.clock import utc_now

pytestmark = pytest.mark.browser

NEXT_VERSION = "0123456789abcdef"
CLOCK_ERRORS = (timedelta(hours=5), timedelta(hours=-5), timedelta(days=-9000))
SHELL_PATHS = {"/display", "/display/worker.js"}

RECORD_WAKE_LOCKS = """
window.locks = [];
const request = navigator.wakeLock.request.bind(navigator.wakeLock);
navigator.wakeLock.request = async (type) => {
  const lock = await request(type);
  window.locks.push(lock);
  return lock;
};
"""

FRENCH_DATES = re.compile(
    r"\b(lun|mar|mer|jeu|ven|sam)(\.|[a-z]*di\b)|\bdim(\.|anche\b)"
    r"|\b(janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc)[a-zéû]*\b"
)

SET_DEVICE_CLOCK = """
const DeviceDate = Date;
window.Date = class extends DeviceDate {
  constructor(...parts) { super(...(parts.length ? parts : [DeviceDate.now() + %d])); }
  static now() { return DeviceDate.now() + %d; }
};
"""

VISIBLE_TEXTS = """() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (parent.checkVisibility() && !parent.closest("code, noscript, option")) texts.push(node.data.trim());
  }
  for (const name of ["aria-label", "title", "placeholder"]) {
    for (const part of document.querySelectorAll(`[${name}]`)) {
      if (part.checkVisibility()) texts.push(part.getAttribute(name).trim());
    }
  }
  return texts.filter(Boolean);
}"""


class UpgradedGateway:
    """A layer before a gateway. Once it is upgraded, the shell of the display has another version."""

    def __init__(self, gateway: ASGIApp) -> None:
        self._gateway = gateway
        self._versions = [shell_version().encode()] * 2
        self.is_upgraded = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_changed = self.is_upgraded and scope["type"] == "http" and scope["path"] in SHELL_PATHS
        if is_changed:  # the whole text is needed, neither compressed nor as "not modified"
            headers = [header for header in scope["headers"] if header[0] not in (b"accept-encoding", b"if-none-match")]
            scope = {**scope, "headers": headers}

        async def send_upgraded(message: Message) -> None:
            if is_changed and message["type"] == "http.response.body":
                body = message["body"].replace(shell_version().encode(), NEXT_VERSION.encode())
                message = {**message, "body": body}
            await send(message)

        await self._gateway(scope, receive, send_upgraded)


@pytest.fixture(scope="module")
async def upgraded() -> dict[str, UpgradedGateway]:
    return {}


@pytest.fixture(scope="module")
async def homes(
    tmp_path_factory: pytest.TempPathFactory, upgraded: dict[str, UpgradedGateway]
) -> AsyncIterator[ControlledHomes]:
    def wrap(gateway: ASGIApp) -> ASGIApp:
        upgraded["gateway"] = UpgradedGateway(gateway)
        return upgraded["gateway"]

    async with controlled_homes(tmp_path_factory.mktemp("kiosk"), wrap) as homes:
        yield homes


@pytest.fixture
async def page(browser: Browser, homes: ControlledHomes) -> AsyncIterator[Page]:
    async with homes.page(browser, service_workers="allow") as page:
        yield page


@pytest.fixture(autouse=True)
async def network(homes: ControlledHomes) -> AsyncIterator[None]:
    """After a test that failed without a network, the next one has it again."""
    yield
    await homes.relay.cut()
    await homes.relay.open()


async def until_shell_is_stored(page: Page, version: str) -> None:
    """Wait until the worker of a version controls the page, and has removed those before it."""
    await page.evaluate(
        """async (name) => {
            const isStored = async () => navigator.serviceWorker.controller?.state === "activated"
                && String(await caches.keys()) === name;
            while (!(await isStored())) await new Promise((resolve) => setTimeout(resolve, 50));
        }""",
        f"wattgate-display-{version}",
    )


async def stored_shell(page: Page) -> dict[str, str]:
    """Return the stored texts by their address without the origin."""
    return dict(
        await page.evaluate(
            """async () => {
                const texts = {};
                for (const name of await caches.keys()) {
                    const cache = await caches.open(name);
                    for (const { url } of await cache.keys()) {
                        texts[url.replace(location.origin, "")] = await (await cache.match(url)).text();
                    }
                }
                return texts;
            }"""
        )
    )


async def record_wake_locks(page: Page) -> None:
    """Permit wake locks, which a headless browser has nobody to ask about, and keep them in `window.locks`."""
    await page.context.grant_permissions(["screen-wake-lock"])
    await page.add_init_script(RECORD_WAKE_LOCKS)


async def open_at(page: Page, address: str) -> None:
    """Open an address of the display with the session of a new log-in."""
    await start_session(page)
    await page.goto(address)


async def log_in(page: Page) -> None:
    """Log in with the form, and wait until the browser has the session."""
    await page.get_by_test_id("username").fill(USERNAME)
    await page.get_by_test_id("password").fill(PASSWORD)
    await page.get_by_test_id("login").click()
    await expect(page.get_by_test_id("login-form")).to_be_hidden()


async def assert_no_numbers(page: Page) -> None:
    """Check that the display shows no power, energy, cost or price."""
    for name in ("power", "today-cost", "today-energy", "month-cost", "month-energy", "rate"):
        await expect(page.get_by_test_id(name)).to_have_text(NO_VALUE)
    await expect(page.locator(".bar")).to_have_count(0)


async def test_reload_without_network_shows_the_page_without_numbers_and_recovers(
    page: Page, homes: ControlledHomes
) -> None:
    await open_display(page)
    await until_shell_is_stored(page, shell_version())
    token = await page.evaluate("() => JSON.parse(localStorage.getItem('wattgate.session')).token")
    await homes.relay.cut()
    await page.reload()
    connection = page.get_by_test_id("connection")
    await expect(connection).to_have_text("Reconnecting")
    await assert_no_numbers(page)
    await page.context.set_offline(True)
    await page.reload()
    await assert_no_numbers(page)
    # A page that Chromium loads while it emulates a lost network learns of it only by the next change.
    await page.context.set_offline(False)
    await page.context.set_offline(True)
    await expect(connection).to_have_text("No network")
    await expect(connection).to_have_attribute("data-state", "offline")
    await assert_no_numbers(page)

    stored = await stored_shell(page)
    assert set(stored) == {"/display", *shell_files()}
    assert not any(token in content for content in stored.values())

    await homes.send_power(734)
    await homes.relay.open()
    await page.context.set_offline(False)
    await expect(page.get_by_test_id("power")).to_have_text("734 W", timeout=READINGS_TIMEOUT_MS)
    await expect(connection).to_have_text("Live")
    await expect(page.locator(".bar")).to_have_count(8)


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_log_out_is_complete_without_network_too(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    await until_shell_is_stored(page, shell_version())
    await homes.relay.cut()
    await page.reload()
    await page.get_by_test_id("logout").click()
    await expect(page.get_by_test_id("power")).to_be_hidden()
    await page.reload()
    await expect(page.get_by_test_id("power")).to_be_hidden()
    assert await page.evaluate("() => localStorage.getItem('wattgate.session')") is None
    await homes.relay.open()
    await open_display(page)


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_upgrade_of_the_gateway_replaces_the_shell(
    page: Page, homes: ControlledHomes, upgraded: dict[str, UpgradedGateway]
) -> None:
    application = "?application=" + await application_id(page)
    await open_login_form(page, f"/display{application}&theme=dark&lang=en")
    await log_in(page)
    await until_shell_is_stored(page, shell_version())
    assert set(await stored_shell(page)) == {"/display", f"/display{application}", *shell_files()}
    upgraded["gateway"].is_upgraded = True
    try:
        await page.reload()
        await until_shell_is_stored(page, NEXT_VERSION)
        stored = await stored_shell(page)
        assert set(stored) == {"/display", f"/display{application}", *shell_files()}
        assert f'data-shell="{NEXT_VERSION}"' in stored[f"/display{application}"]
        await homes.relay.cut()
        await page.reload()
        await expect(page.locator("html")).to_have_attribute("data-shell", NEXT_VERSION)
        await expect(page.get_by_test_id("connection")).to_have_text("Reconnecting")
    finally:
        upgraded["gateway"].is_upgraded = False
        await homes.relay.open()


async def application_id(page: Page) -> str:
    await page.goto("/display")
    return str(await page.get_by_test_id("login-form").get_attribute("data-application"))


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_worker_leaves_other_pages_and_requests_alone(page: Page, homes: ControlledHomes) -> None:
    await open_display(page)
    await until_shell_is_stored(page, shell_version())
    await page.goto("/verify")
    assert await page.evaluate("() => navigator.serviceWorker.controller") is None
    await page.goto("/display")
    await homes.relay.cut()
    refused = await page.evaluate("() => fetch('/healthz').then(() => '', (error) => error.name)")
    assert refused == "TypeError"
    await homes.relay.open()


async def test_display_is_installable_with_its_address(page: Page) -> None:
    await page.goto("/display?theme=dark&home=Harbour+Cottage&token=secret")
    session = await page.context.new_cdp_session(page)
    manifest = await session.send("Page.getAppManifest")
    assert manifest["errors"] == []
    content = json.loads(manifest["data"])
    assert content["start_url"] == "/display?theme=dark&home=Harbour+Cottage"
    assert content["scope"] == "/display"
    errors = await session.send("Page.getInstallabilityErrors")
    assert [error["errorId"] for error in errors["installabilityErrors"]] in ([], ["in-incognito"])
    for icon in content["icons"]:
        size = await page.evaluate(
            """async (source) => {
                const image = new Image();
                image.src = source;
                await image.decode();
                return `${image.naturalWidth}x${image.naturalHeight}`;
            }""",
            icon["src"],
        )
        assert icon["sizes"] in ("any", size), icon


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_address_chooses_home_span_theme_and_language(browser: Browser, homes: ControlledHomes) -> None:
    async with homes.page(browser, color_scheme="light") as page:
        await open_at(page, "/display?home=harbour+cottage&span=weeks&theme=dark&lang=fr")
        await expect(page.get_by_test_id("home-picker").locator("option:checked")).to_have_text(SECOND_HOME)
        await expect(page.get_by_role("radio", name="5 semaines")).to_be_checked()
        await expect(page.locator(".bar")).to_have_count(5)
        await expect(page.locator("html")).to_have_attribute("lang", "fr")
        await expect(page.get_by_test_id("history-basis")).to_have_text("Coûts\xa0: abonnement et TVA compris")
        await expect(page.locator(".gauge .labels")).to_contain_text("0,5")
        assert await background(page) == "rgb(12, 17, 29)"
        await expect(page.get_by_test_id("address-notice")).to_be_hidden()
        await page.get_by_test_id("home-picker").select_option(label=FIRST_HOME)
        await expect(page.get_by_test_id("connection")).to_have_text("En direct")
        await expect(page.get_by_test_id("power")).to_have_text("500 W")
        ids = (
            await page.get_by_test_id("home-picker").locator("option").evaluate_all("(all) => all.map((o) => o.value)")
        )
        await page.emulate_media(color_scheme="dark")
        await page.goto(f"/display?home={ids[1]}&theme=light")
        await expect(page.get_by_test_id("home-picker").locator("option:checked")).to_have_text(SECOND_HOME)
        assert await background(page) == "rgb(244, 241, 234)"
        await page.goto("/display?theme=auto")
        assert await background(page) == "rgb(12, 17, 29)"


async def background(page: Page) -> str:
    return str(await page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor"))


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_bad_values_in_the_address_are_named_and_ignored(page: Page) -> None:
    await open_at(page, "/display?home=Castle&span=years&theme=<b>blue</b>&lang=klingon")
    notice = page.get_by_test_id("address-notice")
    await expect(notice).to_contain_text("“years” as span, which is not known. Possible: hours, days, weeks, months.")
    await expect(notice).to_contain_text("“<b>blue</b>” as theme, which is not known. Possible: light, dark, auto.")
    await expect(notice).to_contain_text("“klingon” as lang, which is not known. Possible: en, fr.")
    await expect(notice).to_contain_text("names the home “Castle”, which this account does not have.")
    await expect(page.get_by_test_id("power")).to_have_text("500 W", timeout=READINGS_TIMEOUT_MS)
    await expect(page.get_by_role("radio", name="8 days")).to_be_checked()
    await notice.get_by_role("button", name="Close").click()
    await expect(notice).to_be_hidden()


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_screen_stays_on_while_the_display_is_shown(page: Page) -> None:
    await record_wake_locks(page)
    await open_display(page)
    await page.wait_for_function("() => locks.length === 1 && !locks[0].released")
    # A browser releases the lock of a page that is hidden.
    await page.evaluate(
        """async () => {
            Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
            await locks[0].release();
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    assert await page.evaluate("() => locks.length") == 1
    await page.evaluate(
        """() => {
            delete document.visibilityState;
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    await page.wait_for_function("() => locks.length === 2 && !locks[1].released")
    await page.get_by_test_id("logout").click()
    await page.wait_for_function("() => locks.length === 2 && locks[1].released")


async def test_phone_stays_on_only_in_full_screen(browser: Browser, homes: ControlledHomes) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "screen": {"width": 390, "height": 844}, "has_touch": True}
    async with homes.page(browser, is_mobile=True, **phone) as page:
        await record_wake_locks(page)
        await open_at(page, "/display")
        await expect(page.get_by_test_id("power")).to_have_text("500 W", timeout=READINGS_TIMEOUT_MS)
        assert await page.evaluate("() => locks.length") == 0
        await page.evaluate("() => document.documentElement.requestFullscreen()")
        await page.wait_for_function("() => locks.length === 1 && !locks[0].released")
        await page.evaluate("() => document.exitFullscreen()")
        await page.wait_for_function("() => locks[0].released")


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_full_screen_button_fills_the_screen_and_back(page: Page) -> None:
    await open_display(page)
    button = page.get_by_test_id("full-screen")
    await expect(button).to_have_accessible_name("Full screen")
    await button.click()
    await page.wait_for_function("() => document.fullscreenElement !== null")
    await expect(button).to_have_accessible_name("Leave full screen")
    await button.click()
    await page.wait_for_function("() => document.fullscreenElement === null")
    await expect(button).to_have_accessible_name("Full screen")


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_times_and_ages_are_of_the_gateway_if_the_clock_of_the_device_is_wrong(
    browser: Browser, homes: ControlledHomes
) -> None:
    async with AsyncExitStack() as stack:
        pages = []
        for error in CLOCK_ERRORS:
            page = await stack.enter_async_context(homes.page(browser))
            milliseconds = round(error / timedelta(milliseconds=1))
            await page.add_init_script(SET_DEVICE_CLOCK % (milliseconds, milliseconds))
            await open_display(page)
            pages.append(page)
        await homes.send_power(512)
        for page in pages:
            await expect(page.get_by_test_id("power")).to_have_text("512 W")
            await expect(page.get_by_test_id("connection")).to_have_text("Live")
            await expect(page.get_by_test_id("connection")).to_have_attribute(
                "title", re.compile(r"^Newest reading \d+ s ago$")
            )
            now = utc_now().astimezone(ZoneInfo("Europe/London"))
            around = [rf"{time:%a} {time.day} {time:%b}\s+{time:%H:%M}" for time in (now, now + timedelta(minutes=1))]
            await expect(page.locator(".now")).to_have_text(re.compile("|".join(around)))
        await homes.send_power(411, utc_now() - AGE_SHORTLY_BEFORE_STALE, home=SECOND_HOME)
        for page in pages:
            await page.get_by_test_id("home-picker").select_option(label=SECOND_HOME)
            await expect(page.get_by_test_id("explanation")).to_contain_text(
                "Last reading", timeout=READINGS_TIMEOUT_MS
            )
            await expect(page.get_by_test_id("power")).to_have_text(NO_VALUE)
        await homes.send_power(412, utc_now() - AGE_OF_A_DELAYED_READING, home=SECOND_HOME)
        for page in pages:
            await expect(page.get_by_test_id("explanation")).to_contain_text(DELAYED_READING_TEXT)
            await expect(page.get_by_test_id("power")).to_have_text("412 W")


@pytest.mark.long("further states of a kiosk; a reload without network and the wake lock stay in the short form")
async def test_every_visible_text_is_in_the_catalogue(browser: Browser, homes: ControlledHomes) -> None:
    async def mark_texts(route: Route) -> None:
        answer = await route.fetch(url=route.request.url.replace("/fr.js", "/en.js"))
        body = re.sub(r"export default ", "const texts = ", await answer.text())
        marked = """
            const mark = (entry) => typeof entry === "string" ? `⟦${entry}⟧`
              : Object.fromEntries(Object.entries(entry).map(([name, form]) => [name, `⟦${form}⟧`]));
            export default Object.fromEntries(Object.entries(texts).map(([key, entry]) => [key, mark(entry)]));"""
        await route.fulfill(response=answer, body=body + marked)

    async with homes.page(browser, timezone_id="Europe/Paris") as page:
        await page.route("**/display/texts/fr.js", mark_texts)
        await page.route("**/shared/login-texts/fr.js", mark_texts)
        await page.goto("/display?lang=fr&theme=blue")
        await expect(page.get_by_test_id("user-code")).to_be_visible()
        assert await unmarked_texts(page) == []
        await page.get_by_test_id("to-login").click()
        await expect(page.get_by_test_id("login-form")).to_be_visible()
        assert await unmarked_texts(page) == []
        await log_in(page)
        await expect(page.get_by_test_id("power")).to_have_text("500 W", timeout=READINGS_TIMEOUT_MS)
        await expect(page.locator(".bar")).to_have_count(8)
        assert await unmarked_texts(page) == []
        await homes.relay.cut()
        await expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "reconnecting")
        await page.locator('[name="view"][value="hours"]').check(force=True)
        assert await unmarked_texts(page) == []
        await homes.relay.open()


async def unmarked_texts(page: Page) -> list[Any]:
    """Return the visible words outside marks, except for names of homes and tariffs, dates, units and user codes."""
    texts = await page.evaluate(VISIBLE_TEXTS)
    # User codes come first: one that starts with W is no unit.
    known = re.compile(r"^[A-Z\d]{4}-[A-Z\d]{4}$|wattgate|kWh|kW|W|Home|12 Alder Road|Harbour Cottage|m³")
    # An element inside a text, such as an address, divides it in two.
    marked = re.compile(r"⟦.*⟧|⟦[^⟧]*$|^[^⟦]*⟧", flags=re.DOTALL)
    outside = [known.sub("", marked.sub("", text)) for text in texts]
    return [text for text in outside if re.search(r"[A-Za-zÀ-ÿ]{2}", FRENCH_DATES.sub("", text))]
