/** Dates and times in the preferred language of the reader, which may differ from the language of the browser itself. */

const timeFormat = new Intl.DateTimeFormat([...navigator.languages], { dateStyle: "medium", timeStyle: "short" });

/**
 * Return an instant as date and time, in the time zone of the browser.
 * @param {string | number} instant  ISO 8601, or milliseconds since 1970.
 * @returns {string}
 */
export function formatTime(instant) {
  return timeFormat.format(new Date(instant));
}
