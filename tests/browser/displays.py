"""Helpers that open the home display."""

import re
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from playwright.async_api import Page, expect

from tests.browser.sessions import start_session

USERNAME, PASSWORD = "demo@wattgate.example", "demo-password"
WITHOUT_WORKER: Mapping[str, Any] = MappingProxyType({"service_workers": "block"})
"""Options of a browser context in which the display stores no copy of itself, which loads all its files again.

The tests of the display as an appliance let it.
"""

NO_VALUE = "\N{EN DASH}"
POWER_TEXT = re.compile(r"^[\d.]+ k?W$")
READINGS_TIMEOUT_MS = 15_000
AGE_SHORTLY_BEFORE_STALE = timedelta(seconds=115)
"""The age of a reading that becomes STALE five seconds later. A reading is STALE after two minutes."""

AGE_OF_A_DELAYED_READING = timedelta(seconds=75)
"""The age of a reading that is DELAYED for 45 more seconds."""

DELAYED_READING_TEXT = re.compile(r"This reading is (7[5-9]|[89]\d|1[01]\d) s old")


async def open_login_form(page: Page, path: str = "/display") -> None:
    """Open the display without a session and show its form. Screens other than phones offer the pairing first.

    The key does not need the place of the button, which moves when the code appears.
    """
    await page.goto(path)
    pairing, form = page.get_by_test_id("pairing"), page.get_by_test_id("login-form")
    await expect(pairing.or_(form).filter(visible=True)).to_be_visible()
    if await pairing.is_visible():
        await page.get_by_test_id("to-login").press("Enter")
    await expect(form).to_be_visible()


async def log_in(page: Page, password: str = PASSWORD) -> None:
    await open_login_form(page)
    await page.get_by_test_id("username").fill(USERNAME)
    await page.get_by_test_id("password").fill(password)
    await page.get_by_test_id("login").click()


async def open_display(page: Page) -> None:
    """Open the display with the session of a new log-in, and wait until it shows live power and history."""
    await start_session(page)
    await page.goto("/display")
    await until_shown(page)


async def until_shown(page: Page) -> None:
    """Wait until the display shows live power and history."""
    await expect(page.get_by_test_id("power")).to_have_text(POWER_TEXT, timeout=READINGS_TIMEOUT_MS)
    await expect(page.locator(".bar")).to_have_count(8)


async def show_page(page: Page, name: str) -> None:
    """Show the page "now" or "history" of a small screen. Larger screens show both."""
    if await page.get_by_test_id("pages").is_visible():
        await page.locator(f".pages [value={name}]").check(force=True)
        await page.mouse.move(0, 0)
