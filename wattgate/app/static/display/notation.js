/** The language and the notation of the page: as the address asks, else as the home has it, else as the browser. */

import { setCurrency } from "./format.js";
import { chooseLocale, currentLocale, fillTexts, setLocale } from "./texts.js";

/** @type {string | null} */
let asked = null;
/** The key in localStorage of the locale of the last home: the page has its language before a home is known. */
const KEY = "wattgate.locale";
/** @type {Set<() => void>} */
const listeners = new Set();

/**
 * Write the texts of the page before its home is known.
 * @param {string | null} language  The language that the address asks for, if it does.
 */
export function startNotation(language) {
  asked = language;
  setLocale(chooseLocale({ asked, home: localStorage.getItem(KEY), browser: navigator.languages }));
  fillPage();
}

/**
 * Use the notation of a home. Do nothing if it is in use already.
 * @param {{ locale: string, currency: string | null }} home
 */
export function useNotation({ locale, currency }) {
  if (localStorage.getItem(KEY) !== locale) localStorage.setItem(KEY, locale);
  const changed = [setLocale(chooseLocale({ asked, home: locale })), setCurrency(currency)];
  if (!changed.includes(true)) return;
  fillPage();
  for (const listener of listeners) listener();
}

/**
 * Call a function after each change. Parts of the page that are not drawn every second need it.
 * @param {() => void} listener
 */
export function onNotationChange(listener) {
  listeners.add(listener);
}

function fillPage() {
  document.documentElement.lang = currentLocale();
  fillTexts(document);
}
