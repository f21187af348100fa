/**
 * The texts of the home display in the current language, and the locale of its numbers and dates. Pages that share them
 * add their own texts, which the display does not load.
 */

import { writeText } from "../shared/catalogue.js";
import en from "./texts/en.js";
import fr from "./texts/fr.js";

/** @import { Text, TextValues } from "../shared/catalogue.js" */

/** @typedef {keyof typeof import("../add-data/texts/en.js").default} DataKey */
/** @typedef {keyof typeof import("../your-data/texts/en.js").default} OwnKey */
/** @typedef {keyof typeof en | DataKey | OwnKey} TextKey */

/**
 * The texts of the display in a language.
 * @typedef {Record<keyof typeof en, Text>} Catalogue
 */

/** The locale of homes and browsers whose language has no catalogue, and of the language "en" without a region. */
export const DEFAULT_LOCALE = "en-GB";

/** @type {Readonly<Record<string, Record<string, Text>>>} */
export const CATALOGUES = Object.freeze({ en: { ...en }, fr: { ...fr } });

let locale = DEFAULT_LOCALE;
let catalogue = CATALOGUES.en;

/**
 * Add the texts of a page, by language. Call it before the page uses them.
 * @param {{ [language in "en" | "fr"]: Readonly<Record<string, Text>> }} texts
 */
export function addTexts(texts) {
  for (const [language, added] of Object.entries(texts)) Object.assign(CATALOGUES[language], added);
}

/**
 * Return the current locale, a BCP 47 tag such as en-GB.
 * @returns {string}
 */
export function currentLocale() {
  return locale;
}

/**
 * Return a locale in its usual spelling if there are texts in its language. Null if there are none, or if it is none.
 * @param {string | null | undefined} tag
 * @returns {string | null}
 */
export function supportedLocale(tag) {
  if (!tag) return null;
  try {
    const { language, baseName } = new Intl.Locale(tag);
    if (!Object.hasOwn(CATALOGUES, language)) return null;
    return baseName === languageOf(DEFAULT_LOCALE) ? DEFAULT_LOCALE : baseName;
  } catch {
    return null;
  }
}

/**
 * Return the locale to use: the one that the address asks for, else that of the home, else the first one of the
 * browser. A home's locale in the requested language adds its region.
 * @param {{ asked?: string | null, home?: string | null, browser?: readonly string[] }} wishes
 * @returns {string}
 */
export function chooseLocale({ asked = null, home = null, browser = [] }) {
  const [wanted, own] = [supportedLocale(asked), supportedLocale(home)];
  if (wanted && own && languageOf(wanted) === languageOf(own)) return own;
  const spoken = browser.map(supportedLocale).find(Boolean);
  return wanted ?? own ?? spoken ?? DEFAULT_LOCALE;
}

/**
 * Use a locale from now on. A language without texts is replaced by the default. Return whether the locale has changed.
 * @param {string} tag
 * @returns {boolean}
 */
export function setLocale(tag) {
  const next = supportedLocale(tag) ?? DEFAULT_LOCALE;
  if (next === locale) return false;
  locale = next;
  catalogue = CATALOGUES[languageOf(next)];
  return true;
}

/**
 * Return a text of the current language. The value `count` chooses the plural form. Numbers are written as the locale
 * does.
 * @param {TextKey} key
 * @param {TextValues} [values]
 * @returns {string}
 */
export function text(key, values = {}) {
  return writeText(catalogue[key], values, locale);
}

/**
 * Return a text with a capital letter at its beginning.
 * @param {string} words
 * @returns {string}
 */
export function capitalise(words) {
  const [first = ""] = words;
  return first.toLocaleUpperCase(locale) + words.slice(first.length);
}

/**
 * Write the texts that the elements of a document name: `data-text` the text, `data-text-capital` the text with a
 * capital letter at its beginning, `data-text-label` the label for screen readers, `data-text-title` the title.
 * @param {ParentNode} root
 */
export function fillTexts(root) {
  /**
   * @param {string} attribute
   * @param {(target: Element, words: string) => void} write
   */
  const fill = (attribute, write) => {
    for (const target of root.querySelectorAll(`[${attribute}]`)) {
      write(target, text(/** @type {TextKey} */ (target.getAttribute(attribute))));
    }
  };
  fill("data-text", (target, words) => { target.textContent = words; });
  fill("data-text-capital", (target, words) => { target.textContent = capitalise(words); });
  fill("data-text-label", (target, words) => target.setAttribute("aria-label", words));
  fill("data-text-title", (target, words) => target.setAttribute("title", words));
}

/** @param {string} tag */
function languageOf(tag) {
  return new Intl.Locale(tag).language;
}
