/** Short messages at the bottom of the page. */

import { find } from "../shared/dom.js";

/** Milliseconds for which a message stays. */
const SHOWN_FOR = 6_000;
let timer = 0;

/**
 * @param {string} message
 * @param {"error" | "info"} severity
 */
export function showNotice(message, severity) {
  const bar = find(document, ".notice-bar");
  bar.textContent = message;
  bar.dataset.severity = severity;
  bar.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => { bar.hidden = true; }, SHOWN_FOR);
}
