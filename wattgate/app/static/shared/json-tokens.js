/** The tokens of JSON, also of a text that is still being typed. */

/** @typedef {{ text: string, start: number, end: number }} JsonToken */

/** A sign, a string, which may lack its end, or other characters that belong together. */
const TOKEN = /[{}[\]:,]|"(?:[^"\\\n]|\\.)*"?|[^\s{}[\]:,"]+/g;

/**
 * Return the tokens of a text with their positions.
 * @param {string} text
 * @returns {JsonToken[]}
 */
export function tokenizeJson(text) {
  return [...text.matchAll(TOKEN)].map(({ 0: token, index }) => ({ text: token, start: index, end: index + token.length }));
}
