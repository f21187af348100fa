/**
 * Emulation of a mail client's colour scheme, whatever the scheme of this browser is: the styles of a mail that ask for
 * the scheme get a fixed answer.
 */

/** @typedef {"light" | "dark"} ColorScheme */

const STYLE_ELEMENT = /<style\b[^>]*>[^]*?<\/style/gi;
const MEDIA_ATTRIBUTE = /\bmedia\s*=\s*(?:"[^"]*"|'[^']*')/gi;
const QUESTION = /\(\s*prefers-color-scheme\s*(?::\s*([a-z-]+)\s*)?\)/gi;

/** A scheme that the client chooses: in a declaration, and in the element <meta> of that name. */
const DECLARATION = /\bcolor-scheme\s*:\s*(?:only\s+)?(?:light\s+dark|dark\s+light)\b/gi;
const META = /<meta\b[^>]*\bname\s*=\s*["']?(?:supported-)?color-schemes?\b[^>]*>/gi;
const BOTH = /\b(?:light[\s,]+dark|dark[\s,]+light)\b/i;

/** Media features with a fixed answer, in place of those that depend on the browser. */
const ALWAYS = "(min-width: 0)";
const NEVER = "(min-width: 9999999px)";

/**
 * Return a mail whose styles see a colour scheme.
 * @param {string} html
 * @param {ColorScheme} scheme
 * @returns {string}
 */
export function emulateColorScheme(html, scheme) {
  /** @param {string} css */
  const answer = (css) => css.replace(QUESTION, (_, value) => (isAnswer(value, scheme) ? ALWAYS : NEVER));
  return html
    .replace(STYLE_ELEMENT, answer)
    .replace(MEDIA_ATTRIBUTE, answer)
    .replace(DECLARATION, `color-scheme: ${scheme}`)
    .replace(META, (meta) => meta.replace(BOTH, scheme));
}

/**
 * Return whether a query matches: (prefers-color-scheme) without a value always does.
 * @param {string | undefined} value
 * @param {ColorScheme} scheme
 */
function isAnswer(value, scheme) {
  return value === undefined || value.toLowerCase() === scheme;
}
