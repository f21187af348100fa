/** The panes: splitters that mouse, touch and keyboard move, tabs that arrow keys change, and one pane at a time on phones. */

import { closestTo, find, findAll } from "../shared/dom.js";
import { nextTab } from "../shared/tab-keys.js";

const STORAGE_KEY = "wattgate.ide.layout";
/** Percent by which an arrow key moves a splitter. */
const STEP = 2;
/** @type {Record<string, { property: string, least: number, most: number, start: number, isVertical: boolean, isReversed: boolean }>} */
const SPLITTERS = {
  "panel-splitter": { property: "--panel-size", least: 12, most: 50, start: 24, isVertical: true, isReversed: false },
  "response-splitter": { property: "--document-size", least: 20, most: 80, start: 50, isVertical: true, isReversed: false },
  "inputs-splitter": { property: "--inputs-size", least: 8, most: 80, start: 28, isVertical: false, isReversed: true },
};

/** Set up all splitters with their stored sizes. */
export function setUpSplitters() {
  const stored = read();
  for (const [name, settings] of Object.entries(SPLITTERS)) {
    const handle = find(document, `.${name}`);
    /** @param {number} size */
    const resize = (size) => {
      const value = Math.round(Math.min(settings.most, Math.max(settings.least, size)) * 10) / 10;
      document.body.style.setProperty(settings.property, `${value}%`);
      handle.setAttribute("aria-valuenow", String(Math.round(value)));
      stored[name] = value;
    };
    handle.setAttribute("aria-valuemin", String(settings.least));
    handle.setAttribute("aria-valuemax", String(settings.most));
    resize(stored[name] ?? settings.start);
    followPointer(handle, settings, resize, stored);
    handle.addEventListener("keydown", (event) => {
      const [less, more] = settings.isVertical ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
      const direction = event.key === more ? 1 : event.key === less ? -1 : 0;
      if (!direction) return;
      event.preventDefault();
      resize(stored[name] + direction * STEP * (settings.isReversed ? -1 : 1));
      write(stored);
    });
    handle.addEventListener("dblclick", () => {
      resize(settings.start);
      write(stored);
    });
  }
}

/**
 * @param {HTMLElement} handle
 * @param {typeof SPLITTERS[string]} settings
 * @param {(size: number) => void} resize
 * @param {Record<string, number>} stored
 */
function followPointer(handle, { isVertical, isReversed }, resize, stored) {
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    const { left, top, bottom, width, height } = (handle.parentElement ?? handle).getBoundingClientRect();
    // The size of the panel is a part of the page, not of the panel.
    const total = isVertical ? (handle.matches(".panel > *") ? innerWidth : width) : height;
    /** @param {PointerEvent} moved */
    const move = (moved) => {
      const size = isVertical ? moved.clientX - left : isReversed ? bottom - moved.clientY : moved.clientY - top;
      resize((100 * size) / total);
    };
    const stop = () => {
      handle.removeEventListener("pointermove", move);
      write(stored);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", stop, { once: true });
  });
}

/**
 * Set up a list of tabs, of which each shows its panel. Arrow keys, Home and End change the tab.
 * @param {HTMLElement} list
 */
export function setUpTabs(list) {
  const tabs = findAll(list, "[role=tab]");
  /** @param {HTMLElement} chosen */
  const select = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      find(document, `#${tab.getAttribute("aria-controls")}`).hidden = tab !== chosen;
    }
  };
  list.addEventListener("click", (event) => {
    const tab = closestTo(event, "[role=tab]");
    if (tab) select(tab);
  });
  list.addEventListener("keydown", (event) => {
    const next = nextTab(tabs, event);
    if (!next) return;
    event.preventDefault();
    select(next);
    next.focus();
  });
}

/** Set up the buttons that choose the visible pane on small screens. */
export function setUpPanes() {
  find(document, ".pane-switch").addEventListener("click", (event) => {
    const name = closestTo(event, "button")?.dataset.pane;
    if (name) showPane(name);
  });
}

/**
 * Show a pane on small screens. On others, all panes are visible.
 * @param {string} name
 */
export function showPane(name) {
  document.body.dataset.pane = name;
  for (const button of findAll(document, ".pane-switch button")) {
    if (button.dataset.pane === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  document.body.dispatchEvent(new CustomEvent("panechange", { detail: name }));
}

/** @returns {Record<string, number>} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Record<string, number>} sizes */
function write(sizes) {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(sizes));
  } catch {
    // A full storage keeps the sizes of the last visit.
  }
}
