"""Mails look the same before and after their styles are inlined, in each appearance that mail clients have."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from wattgate.delivery.templates.rendering import TemplateSource, render

pytestmark = pytest.mark.browser

MAILS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "mails").glob("*.html"))}

APPEARANCES: Mapping[str, tuple[int, dict[str, Any]]] = {
    "light on a phone": (320, {"color_scheme": "light", "media": "screen"}),
    "light": (600, {"color_scheme": "light", "media": "screen"}),
    "dark on a phone": (320, {"color_scheme": "dark", "media": "screen"}),
    "dark": (600, {"color_scheme": "dark", "media": "screen"}),
    "printed": (600, {"color_scheme": "light", "media": "print"}),
}
SHORT = ("light on a phone", "dark")

HEIGHT = 600
"""Height of the compared part of each mail. All mails of the corpus are shorter at both widths."""

COLUMNS = 5

MAX_DIFFERENT_PIXELS = 20
"""Pixels of a mail that may differ, for example at the edges of letters."""

SHOW = """async ([mails, height, columns]) => {
  const loads = [];
  const grid = document.createElement("div");
  grid.style = `display: grid; grid-template-columns: repeat(${columns}, max-content); background: #000`;
  for (const documents of mails) {
    const cell = document.createElement("div");
    cell.style = `position: relative; isolation: isolate; height: ${height}px; width: var(--width); background: #fff`;
    for (const [number, html] of documents.entries()) {
      const frame = document.createElement("iframe");
      const blend = number ? "difference" : "normal";
      frame.style = `position: absolute; inset: 0; width: 100%; height: 100%; border: 0; background: #fff;
        mix-blend-mode: ${blend}`;
      frame.setAttribute("sandbox", "");
      frame.srcdoc = html;
      loads.push(new Promise((resolve) => frame.addEventListener("load", resolve, { once: true })));
      cell.append(frame);
    }
    grid.append(cell);
  }
  document.body.style.margin = 0;
  document.body.replaceChildren(grid);
  await Promise.all(loads);
}"""
"""Lay each mail above the same one with inlined styles, so that only their differences are not black."""

COUNT = """async ([png, width, height, columns, mails]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d", { willReadFrequently: true });
  canvas.drawImage(image, 0, 0);
  return Array.from({ length: mails }, (_, number) => {
    const left = (number % columns) * width, top = Math.floor(number / columns) * height;
    const pixels = new Uint32Array(canvas.getImageData(left, top, width, height).data.buffer);
    return pixels.reduce((count, pixel) => count + ((pixel & 0xe0e0e0) !== 0), 0);
  });
}"""
"""Return for each mail how many pixels differ by an eighth of a channel or more."""


async def different_mails(page: Page, mails: Mapping[str, tuple[str, str]], appearances: Iterable[str]) -> list[str]:
    """Return the mails whose two documents look different, with the appearance and the number of pixels."""
    await page.evaluate(SHOW, [list(mails.values()), HEIGHT, COLUMNS])
    found = []
    for appearance in appearances:
        width, media = APPEARANCES[appearance]
        await page.emulate_media(**media)
        rows = -(-len(mails) // COLUMNS)
        await page.set_viewport_size({"width": COLUMNS * width, "height": rows * HEIGHT})
        await page.evaluate("(width) => document.body.style.setProperty('--width', `${width}px`)", width)
        shot = await page.screenshot(scale="css")
        counts = await page.evaluate(COUNT, [_base64(shot), width, HEIGHT, COLUMNS, len(mails)])
        found += [
            f"{name}, {appearance}: {count} pixels"
            for name, count in zip(mails, counts, strict=True)
            if count > MAX_DIFFERENT_PIXELS
        ]
    return found


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def inlined(html: str) -> str:
    """Return a mail as the gateway sends it."""
    return render(TemplateSource(html, "s"), {}).html


async def compare(browser: Browser, mails: Mapping[str, tuple[str, str]], appearances: Iterable[str]) -> list[str]:
    """Return the differences between pairs of documents, in one page of its own."""
    page = await browser.new_page()
    try:
        return await different_mails(page, mails, appearances)
    finally:
        await page.close()


async def test_mails_look_the_same_after_their_styles_are_inlined(browser: Browser) -> None:
    mails = {name: (html, inlined(html)) for name, html in MAILS.items()}
    assert await compare(browser, mails, SHORT) == []


@pytest.mark.long("the other appearances of the mails; the short form has two")
async def test_mails_look_the_same_in_all_other_appearances(browser: Browser) -> None:
    mails = {name: (html, inlined(html)) for name, html in MAILS.items()}
    assert await compare(browser, mails, [name for name in APPEARANCES if name not in SHORT]) == []


async def test_a_mail_without_its_styles_looks_different(browser: Browser) -> None:
    """The comparison itself finds a difference in each appearance."""
    html = MAILS["print"]
    without = html.replace("style", "script")
    found = await compare(browser, {"same": (html, html), "print": (html, without)}, ["light", "printed"])
    assert [line.partition(":")[0] for line in found] == ["print, light", "print, printed"]


def test_corpus_has_twenty_mails() -> None:
    assert len(MAILS) == 20
