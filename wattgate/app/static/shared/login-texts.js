/** The messages of the log-in form, in the language of the page. English if there are none in that language. */

import { writeText } from "./catalogue.js";
import en from "./login-texts/en.js";
import fr from "./login-texts/fr.js";

/** @import { Text, TextValues } from "./catalogue.js" */

/** @typedef {keyof typeof en} LoginTextKey */
/** @typedef {Record<LoginTextKey, Text>} LoginTexts */

/** @type {Readonly<Record<string, LoginTexts>>} */
const CATALOGUES = Object.freeze({ en, fr });

/**
 * Return a text in a language.
 * @param {LoginTextKey} key
 * @param {TextValues} [values]
 * @param {string} [locale]  By default that of the page.
 * @returns {string}
 */
export function loginText(key, values = {}, locale = pageLocale()) {
  const [language] = locale.split("-");
  if (Object.hasOwn(CATALOGUES, language)) return writeText(CATALOGUES[language][key], values, locale);
  return writeText(en[key], values, "en");
}

function pageLocale() {
  return globalThis.document?.documentElement.lang || "en";
}
