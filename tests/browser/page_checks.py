"""Checks of a shown page: accessibility with axe, and overflow."""

from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
"""WCAG 2.2 levels A and AA, and best practices."""

LOOKS = ["color-contrast", "link-in-text-block", "target-size"]
"""The rules whose result depends on colours and sizes."""

WHOLE = "html"

RUN_AXE = """async ([part, runOnly]) => {
  if (!document.querySelector(part)) throw new Error(`no ${part} to check`);
  const preload = { assets: ["media"] };
  const { violations } = await axe.run(part, { runOnly, resultTypes: ["violations"], preload });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""
"""Return only the violations. The whole result has megabytes, most of them about rules that no element breaks.

No rule of the tags needs the style sheets, which axe loads and parses again by default.
"""


async def accessibility_violations(page: Page, part: str = WHOLE) -> list[str]:
    """Return the violations of WCAG 2.2 levels A and AA, and of best practices, that axe finds.

    `part` selects the new elements of a page that was checked before.
    """
    return await _violations(page, part, {"type": "tag", "values": TAGS})


async def look_violations(page: Page, part: str = WHOLE) -> list[str]:
    """Return the violations of the rules about colours and sizes that axe finds.

    It suffices for the second colour scheme or size of a page whose elements are the same in both.
    """
    return await _violations(page, part, {"type": "rule", "values": LOOKS})


async def small_targets(page: Page, part: str = WHOLE) -> list[str]:
    """Return the violations of the rule about the size of targets."""
    return await _violations(page, part, {"type": "rule", "values": ["target-size"]})


async def violations_in_both_schemes(page: Page, part: str = WHOLE) -> list[str]:
    """Return the violations in light, and in dark those of the rules about colours and sizes."""
    found = []
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found += await accessibility_violations(page, part)
    await page.emulate_media(color_scheme="dark")
    found += [f"dark: {violation}" for violation in await look_violations(page, part)]
    await page.emulate_media(color_scheme="light")
    return found


async def layout_problems(page: Page) -> list[str]:
    """Return at which sizes a page is too wide, and its violations in both colour schemes on a desktop."""
    found = []
    for width, height in ((320, 568), (480, 320), (1280, 800)):
        await page.set_viewport_size({"width": width, "height": height})
        across = (await overflow_pixels(page))["across"]
        found += [f"{across} px too wide at {width}"] if across else []
    return found + await violations_in_both_schemes(page)


async def _violations(page: Page, part: str, run_only: dict[str, Any]) -> list[str]:
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(Axe().axe_script)
    return list(await page.evaluate(RUN_AXE, [part, run_only]))


async def overflow_pixels(page: Page) -> dict[str, Any]:
    """Return by how many pixels the page is larger than the viewport, in each direction."""
    return dict(
        await page.evaluate(
            """() => {
                const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
                return { across: scrollWidth - clientWidth, down: scrollHeight - clientHeight };
            }"""
        )
    )
