"""Every state of the display at every size: nothing overflows, nothing collides, and axe finds nothing.

WATTGATE_TEST_SCREENSHOTS names a folder for a screenshot of each state at each size, in light and dark.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.display_states import LINK_TIMEOUT_MS, STATES, StatefulHomes, carbon_text, stateful_homes
from tests.browser.displays import NO_VALUE, WITHOUT_WORKER, show_page
from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.page_checks import accessibility_violations, look_violations

pytestmark = pytest.mark.browser

SIZES = (
    (320, 240),
    (480, 320),
    (800, 480),
    (1024, 600),
    (1280, 800),
    (1920, 1080),
    (390, 844),
    (768, 1024),
)
LAPTOPS = ((1024, 768), (1200, 750), (1366, 768), (1440, 900))
"""Sizes between those of displays."""

ZOOMED = (320, 256)
"""A screen of 1280x1024 at 400 %. The page may scroll there."""

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
AUDITED_SIZES = ((1280, 800), (390, 844))
"""The sizes at which axe checks a state: one in light, and one in dark."""
AUDITS = (accessibility_violations, look_violations)
"""The checks at these sizes. The second one has the same elements, in other colours and sizes."""

GEOMETRY = (Path(__file__).parent / "page_geometry.js").read_text()
CUT = ".home-name, .home select"
"""Elements whose text may end in an ellipsis: the name of a home."""

GEOMETRY_OF_PAGES = f"""
async (options) => {{
  const geometry = {GEOMETRY};
  // The browser calls a new observer with the next frame, also while the clock of the page stands still.
  const nextFrame = () => new Promise((resolve) => {{
    new ResizeObserver((_, observer) => {{ observer.disconnect(); resolve(); }}).observe(document.body);
  }});
  const choice = document.querySelector("[data-testid=pages]");
  const problems = [];
  for (const name of choice?.checkVisibility() ? ["now", "history"] : ["now"]) {{
    if (choice?.checkVisibility()) document.querySelector(`.pages [value=${{name}}]`).click();
    await nextFrame();
    problems.push(...geometry(options).map((problem) => `${{name}}: ${{problem}}`));
  }}
  return problems;
}}
"""
"""Show each page of the layout, and return what is wrong with its geometry."""

GEOMETRY_OF_POWERS = f"""
async (options) => {{
  const geometry = {GEOMETRY};
  const {{ Gauge }} = await import("/static/display/gauge.js");
  const {{ formatPower }} = await import("/static/display/format.js");
  const problems = [];
  let powers = 0;
  for (const exports of [false, true]) {{
    for (let watts = exports ? -12_000 : 0; watts <= 12_000; watts += 1_500) {{
      new Gauge(document.querySelector(".gauge")).show(watts, exports, [400, 900]);
      const {{ number, unit }} = formatPower(watts);
      document.querySelector(".reading .number").textContent = number;
      document.querySelector(".reading .unit").textContent = ` ${{unit}}`;
      problems.push(...geometry(options).map((problem) => `${{watts}} W, ${{exports}}: ${{problem}}`));
      powers += 1;
    }}
  }}
  return {{ problems, powers }};
}}
"""
"""Show powers without a reading, on the scale of a home that exports and of another one."""

SCREENSHOTS = os.environ.get("WATTGATE_TEST_SCREENSHOTS")


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StatefulHomes]:
    async with stateful_homes(tmp_path_factory.mktemp("states")) as homes:
        yield homes


WINDOW = (1280, 720)


@pytest.fixture(scope="module")
async def touched(browser: Browser, homes: StatefulHomes) -> AsyncIterator[KeptPages]:
    """Pages of a screen for fingers. Each has a clock, which the next test sets again."""
    async with kept_pages(browser, WINDOW, base_url=homes.url, has_touch=True, **WITHOUT_WORKER) as kept:
        yield kept


@pytest.fixture(scope="module")
async def pointed(browser: Browser, homes: StatefulHomes) -> AsyncIterator[KeptPages]:
    """Pages of a screen with a pointer. Each has a clock, which the next test sets again."""
    async with kept_pages(browser, WINDOW, base_url=homes.url, **WITHOUT_WORKER) as kept:
        yield kept


async def pages(page: Page, size: tuple[int, int]) -> list[str]:
    """Resize the page and return the names of the pages that its layout has."""
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    if not await page.get_by_test_id("pages").is_visible():
        return ["now"]
    return ["now", "history"]


async def page_problems(page: Page, size: tuple[int, int], *, coarse: bool) -> list[str]:
    """Resize the page, and return what is wrong with the geometry of all pages that its layout has.

    `coarse` requires targets for fingers.
    """
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    options = {"scrolls": size == ZOOMED, "coarse": coarse, "cut": CUT}
    found: list[str] = await page.evaluate(GEOMETRY_OF_PAGES, options)
    return [f"{size[0]}x{size[1]}, {problem}" for problem in found]


async def take_screenshots(page: Page, state: str) -> None:
    folder = Path(SCREENSHOTS or "")
    for width, height in (*SIZES, ZOOMED):
        for name in await pages(page, (width, height)):
            await show_page(page, name)
            for scheme in SCHEMES:
                await page.emulate_media(color_scheme=scheme)
                await page.screenshot(path=folder / f"{state}-{width}x{height}-{name}-{scheme}.png")
    await page.emulate_media(color_scheme="light")


FURTHER_STATE = pytest.mark.long("a further state at every size; a live display stays in the short form")


@pytest.mark.parametrize(
    "state", [pytest.param(state, marks=() if state == "live" else FURTHER_STATE) for state in STATES]
)
async def test_state_fits_every_screen(touched: KeptPages, homes: StatefulHomes, state: str) -> None:
    async with homes.open(touched, state) as page:
        assert await page.evaluate("matchMedia('(pointer: coarse)').matches")
        if SCREENSHOTS:
            await take_screenshots(page, state)
        found = [problem for size in (*SIZES, ZOOMED) for problem in await page_problems(page, size, coarse=True)]
        await page.clock.resume()  # axe waits for timers
        for scheme, size, violations in zip(SCHEMES, AUDITED_SIZES, AUDITS, strict=True):
            await page.emulate_media(color_scheme=scheme)
            await show_page(page, (await pages(page, size))[0])
            found += await violations(page)
    assert found == []


@FURTHER_STATE
async def test_carbon_intensity_is_shown_until_it_is_too_old(pointed: KeptPages, homes: StatefulHomes) -> None:
    async with homes.open(pointed, "live") as page:
        await expect(page.get_by_test_id("carbon")).to_be_hidden()
    async with homes.open(pointed, "carbon") as page:
        carbon = page.get_by_test_id("carbon")
        await expect(carbon).to_have_text(carbon_text(342, "very high"))
        await expect(carbon).to_be_visible()
        homes.proxy.freeze()
        await page.clock.run_for(LINK_TIMEOUT_MS)
        await expect(page.get_by_test_id("power")).to_have_text(NO_VALUE)
        await expect(carbon).to_be_visible()
        await page.clock.fast_forward("50:00")  # an hour after the half hour has begun
        await page.clock.run_for(1_000)
        await expect(carbon).to_be_hidden()
        await expect(page.get_by_test_id("rate")).not_to_have_text(NO_VALUE)


@FURTHER_STATE
async def test_display_without_touch_fits_every_screen(pointed: KeptPages, homes: StatefulHomes) -> None:
    for state in ("live", "long-names"):
        async with homes.open(pointed, state) as page:
            assert not await page.evaluate("matchMedia('(pointer: coarse)').matches")
            sizes = (*SIZES, *LAPTOPS, ZOOMED)
            found = [problem for size in sizes for problem in await page_problems(page, size, coarse=False)]
            assert found == []


@FURTHER_STATE
async def test_needle_covers_no_number_at_any_power(touched: KeptPages, homes: StatefulHomes) -> None:
    async with homes.open(touched, "live") as page:
        for size in ((320, 240), (480, 320), (800, 480)):
            await page.set_viewport_size({"width": size[0], "height": size[1]})
            options = {"scrolls": False, "coarse": True, "cut": CUT}
            assert await page.evaluate(GEOMETRY_OF_POWERS, options) == {"problems": [], "powers": 26}, size


@FURTHER_STATE
async def test_switches_say_their_range_in_words(touched: KeptPages, homes: StatefulHomes) -> None:
    async with homes.open(touched, "live") as page:
        for size in (*SIZES, ZOOMED):
            await show_page(page, (await pages(page, size))[-1])
            switch = page.locator(".views span")
            assert [" ".join(text.split()) for text in await switch.all_inner_texts()] == [
                "24 hours",
                "8 days",
                "5 weeks",
                "13 months",
            ]
