/** Texts with placeholders and plural forms, in the notation of a locale. */

/**
 * A text, or one text for each plural category of the language.
 * @typedef {string | { one?: string, many?: string, other: string }} Text
 */

/** @typedef {Readonly<Record<string, string | number>>} TextValues  By the name of the placeholder. */

/** @type {Map<string, { plurals: Intl.PluralRules, counts: Intl.NumberFormat }>} */
const notations = new Map();

/**
 * Return a text with its values. The value `count` chooses the plural form. Numbers are written as the locale does.
 * @param {Text} form
 * @param {TextValues} values
 * @param {string} locale
 * @returns {string}
 */
export function writeText(form, values, locale) {
  const { plurals, counts } = notationOf(locale);
  const category = /** @type {"one" | "many" | "other"} */ (plurals.select(Number(values.count ?? 0)));
  const chosen = typeof form === "string" ? form : (form[category] ?? form.other);
  return chosen.replace(/{(\w+)}/g, (placeholder, name) => {
    const value = values[name] ?? placeholder;
    return typeof value === "number" ? counts.format(value) : value;
  });
}

/** @param {string} locale */
function notationOf(locale) {
  const known = notations.get(locale);
  if (known) return known;
  const built = { plurals: new Intl.PluralRules(locale), counts: new Intl.NumberFormat(locale) };
  notations.set(locale, built);
  return built;
}
