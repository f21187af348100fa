/** Light or dark colours, whatever the device prefers. */

/** @import { Theme } from "./address.js" */

const PREFERENCE = /\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)/g;

/**
 * Show the page in a theme. "auto" leaves it to the device.
 * @param {Theme} theme
 */
export function applyTheme(theme) {
  if (theme === "auto") return;
  document.documentElement.style.colorScheme = theme;
  for (const sheet of document.styleSheets) replacePreferences(sheet.cssRules, theme);
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) {
    meta.setAttribute("media", mediaFor(meta.getAttribute("media") ?? "", theme));
  }
}

/**
 * Return a media query in which the preference of the device has been replaced by a theme.
 * @param {string} media
 * @param {"light" | "dark"} theme
 * @returns {string}
 */
export function mediaFor(media, theme) {
  return media.replace(PREFERENCE, (_, preferred) => (preferred === theme ? "(min-width: 0px)" : "(max-width: 0px)"));
}

/**
 * @param {CSSRuleList} rules
 * @param {"light" | "dark"} theme
 */
function replacePreferences(rules, theme) {
  for (const rule of rules) {
    if (rule instanceof CSSMediaRule) rule.media.mediaText = mediaFor(rule.media.mediaText, theme);
    if (rule instanceof CSSGroupingRule) replacePreferences(rule.cssRules, theme);
  }
}
