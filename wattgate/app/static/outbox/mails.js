/** Requests of the outbox page. */

/**
 * An entry of the list. The path leads to the mail. The kind says why it was sent; null if that is not known any more.
 * @typedef {{ path: string, subject: string, to: string, at: string, kind: string | null }} MailSummary
 */

/**
 * A mail. Its size is in bytes. A mail without a text part has the text null.
 * @typedef {object} Mail
 * @property {string} subject
 * @property {string} to
 * @property {string} at
 * @property {number} size
 * @property {string | null} text
 * @property {boolean} html  Whether it has HTML, which `readHtml` returns.
 * @property {[name: string, value: string][]} headers
 * @property {string} source
 */

/**
 * Return the mails of the outbox, newest first.
 * @returns {Promise<MailSummary[]>}
 */
export async function readMails() {
  return json(await request("/outbox/mails"));
}

/**
 * Return one mail, or null if it was deleted.
 * @param {string} path
 * @returns {Promise<Mail | null>}
 */
export async function readMail(path) {
  const response = await request(path);
  return response.status === 404 ? null : json(response);
}

/**
 * Return the HTML of a mail.
 * @param {string} path
 */
export async function readHtml(path) {
  return (await request(`${path}/html`)).text();
}

/** Delete all mails. */
export async function deleteMails() {
  await json(await request("/outbox/mails", "DELETE"));
}

/**
 * @param {string} path
 * @param {string} [method]
 */
function request(path, method = "GET") {
  return fetch(path, { method, cache: "no-store" });
}

/** @param {Response} response */
function json(response) {
  if (!response.ok) throw new Error(`${response.url} responded with ${response.status}`);
  return response.json();
}
