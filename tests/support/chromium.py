"""A Chromium for the browser tests: which program, with which flags, and what happens without one."""

import os
import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NoReturn

import pytest
from playwright.async_api import Browser, Error, async_playwright

REQUIRED = "WATTGATE_TEST_BROWSER"
"""With the value `required`, a test fails if there is no Chromium that starts. Else it is skipped."""

PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"]
"""The programs in the order of preference. The headless shell needs a third of the processor time of the others."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # pages need no other host
    "--font-render-hinting=slight",  # of the shell only: by default it makes texts wider than a whole Chromium does
]

START_TIMEOUT_MS = 60_000
"""Maximum time of a start, in milliseconds. A program that does not start ends, or says nothing."""


@asynccontextmanager
async def started_chromium() -> AsyncIterator[Browser]:
    """Yield a started Chromium. Skip the test if none is installed or it does not start, or fail it if required."""
    executable = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if executable is None:
        _refuse("no Chromium on this machine")
    async with AsyncExitStack() as stack:
        try:
            playwright = await stack.enter_async_context(async_playwright())
        except Exception as error:  # noqa: BLE001 (it raises no other type if its Node does not start)
            _refuse(f"the driver of Playwright does not start: {error}")
        try:
            browser = await playwright.chromium.launch(executable_path=executable, args=FLAGS, timeout=START_TIMEOUT_MS)
        except Error as error:
            _refuse(f"{executable} does not start: {error.message}")
        yield browser
        await browser.close()


def look_for_it_first(items: Iterable[pytest.Item]) -> None:
    """Put the browser before the other fixtures of a test, so that no server starts for a test that is skipped."""
    for item in items:
        names = getattr(item, "fixturenames", [])
        if "browser" in names:
            names.remove("browser")
            names.insert(0, "browser")


def _refuse(missing: str) -> NoReturn:
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{missing}, and {REQUIRED} requires one")
    pytest.skip(missing)
