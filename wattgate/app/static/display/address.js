/** The parameters in the address of the page: `?home=`, `?span=`, `?theme=` and `?lang=`. */

import { VIEWS } from "./history.js";
import { CATALOGUES, supportedLocale } from "./texts.js";

/** @import { ViewName } from "./history.js" */

/** @typedef {"light" | "dark" | "auto"} Theme */

/**
 * A value that the page does not know, and those that it does.
 * @typedef {{ name: string, value: string, allowed: string[] }} BadValue
 */

/**
 * Null stands for a parameter that the address does not have, or whose value is not known.
 * @typedef {object} Wishes
 * @property {string | null} home  The ID or the name of a home.
 * @property {ViewName | null} span
 * @property {Theme | null} theme
 * @property {string | null} lang  A BCP 47 tag.
 * @property {BadValue[]} badValues
 */

const MAX_SHOWN_CHARACTERS = 40;
/** @type {Theme[]} */
const THEMES = ["light", "dark", "auto"];

/**
 * Read the parameters of an address. A value may be in capital letters.
 * @param {string} search  For example `?theme=dark`.
 * @returns {Wishes}
 */
export function readAddress(search) {
  const parameters = new URLSearchParams(search);
  /** @type {BadValue[]} */
  const badValues = [];
  /**
   * @template {string} T
   * @param {string} name
   * @param {(value: string) => T | null} parse
   * @param {string[]} allowed
   */
  const read = (name, parse, allowed) => {
    const value = parameters.get(name)?.trim();
    if (!value) return null;
    const known = parse(value);
    if (known === null) badValues.push({ name, value: shorten(value), allowed });
    return known;
  };
  const spans = /** @type {ViewName[]} */ (Object.keys(VIEWS));
  return {
    home: parameters.get("home")?.trim() || null,
    span: read("span", (value) => oneOf(spans, value), spans),
    theme: read("theme", (value) => oneOf(THEMES, value), THEMES),
    lang: read("lang", supportedLocale, Object.keys(CATALOGUES)),
    badValues,
  };
}

/**
 * Return the home that a text names: by its ID, else by its name in any case. Undefined if there is none.
 * @template {{ homeId: string, name: string }} T
 * @param {T[]} homes
 * @param {string} wanted
 * @returns {T | undefined}
 */
export function findHome(homes, wanted) {
  const lower = wanted.toLowerCase();
  return (
    homes.find(({ homeId }) => homeId.toLowerCase() === lower) ?? homes.find(({ name }) => name.toLowerCase() === lower)
  );
}

/**
 * Return a text that fits in a notice.
 * @param {string} value
 * @returns {string}
 */
export function shorten(value) {
  return value.length > MAX_SHOWN_CHARACTERS ? `${value.slice(0, MAX_SHOWN_CHARACTERS)}…` : value;
}

/**
 * @template {string} T
 * @param {T[]} allowed
 * @param {string} value
 * @returns {T | null}
 */
function oneOf(allowed, value) {
  return allowed.find((one) => one === value.toLowerCase()) ?? null;
}
