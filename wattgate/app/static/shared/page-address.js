/** The addresses of pages about the same home. */

const KEPT = ["application", "lang"];

/**
 * Return the address of a page about a home, or about none, with the application and the language that the current address names.
 * @param {string} path
 * @param {string | null} [homeId]
 * @returns {string}
 */
export function pageAddress(path, homeId = null) {
  const asked = new URLSearchParams(location.search);
  const kept = new URLSearchParams(homeId === null ? {} : { home: homeId });
  for (const name of KEPT) {
    const value = asked.get(name);
    if (value !== null) kept.set(name, value);
  }
  const query = kept.toString();
  return query ? `${path}?${query}` : path;
}
