/** Requests of the outbox page, and the format of its times. */

/**
 * An entry of the list. The path leads to the mail.
 * @typedef {{ path: string, subject: string, to: string, at: string }} MailSummary
 */

/**
 * A mail. Its size is in bytes. A mail without a text part has the text null.
 * @typedef {object} Mail
 * @property {string} subject
 * @property {string} to
 * @property {string} at
 * @property {number} size
 * @property {string | null} text
 * @property {boolean} html  Whether it has HTML, which the frame loads by itself.
 * @property {[name: string, value: string][]} headers
 * @property {string} source
 */

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/**
 * Return the mails of the outbox, newest first.
 * @returns {Promise<MailSummary[]>}
 */
export function readMails() {
  return get("/outbox/mails");
}

/**
 * Return one mail.
 * @param {string} path
 * @returns {Promise<Mail>}
 */
export function readMail(path) {
  return get(path);
}

/**
 * Return an instant as date and time, in the language and the time zone of the browser.
 * @param {string} instant  ISO 8601.
 * @returns {string}
 */
export function formatTime(instant) {
  return timeFormat.format(new Date(instant));
}

/** @param {string} path */
async function get(path) {
  const response = await fetch(path, { cache: "no-store" });
  if (!response.ok) throw new Error(`${path} responded with ${response.status}`);
  return response.json();
}
