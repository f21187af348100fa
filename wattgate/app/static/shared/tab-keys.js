/** The keyboard of a list of tabs: arrow keys, Home and End. */

/**
 * Return the tab to which a key goes from the tab that has the focus, or null.
 * @template {HTMLElement} T
 * @param {T[]} tabs
 * @param {KeyboardEvent} event
 * @returns {T | null}
 */
export function nextTab(tabs, { key, target }) {
  const index = tabs.findIndex((tab) => target instanceof Node && tab.contains(target));
  if (index < 0) return null;
  if (key === "ArrowRight") return tabs[(index + 1) % tabs.length];
  if (key === "ArrowLeft") return tabs[(index + tabs.length - 1) % tabs.length];
  if (key === "Home") return tabs[0];
  return key === "End" ? tabs[tabs.length - 1] : null;
}
