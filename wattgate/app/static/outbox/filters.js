/** The search and the filters of the outbox, as functions of the list of mails. */

/** @import { MailSummary } from "./mails.js" */

/** @typedef {{ words: string, kind: string, recipient: string }} Filters */

/** @type {Record<string, string>} */
const KINDS = { EMAIL: "Alerts", ACCOUNT_MAIL: "Accounts", TEST_MAIL: "Tests" };

/**
 * Return the mails that match the filters. Each word has to be in the subject or the recipient.
 * @param {MailSummary[]} mails
 * @param {Filters} filters  An empty filter matches every mail.
 */
export function filterMails(mails, { words, kind, recipient }) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return mails.filter((mail) => {
    const searched = `${mail.subject} ${mail.to}`.toLowerCase();
    const isOfKind = !kind || mail.kind === kind;
    const isTo = !recipient || mail.to === recipient;
    return isOfKind && isTo && wanted.every((word) => searched.includes(word));
  });
}

/**
 * Return the kinds of mails with their labels.
 * @param {MailSummary[]} mails
 * @returns {[kind: string, label: string][]}
 */
export function listKinds(mails) {
  const kinds = [...new Set(mails.flatMap(({ kind }) => kind ?? []))].sort();
  return kinds.map((kind) => [kind, kindLabel(kind)]);
}

/**
 * Return the recipients of mails, in alphabetical order.
 * @param {MailSummary[]} mails
 * @returns {[recipient: string, label: string][]}
 */
export function listRecipients(mails) {
  return [...new Set(mails.map(({ to }) => to))].sort().map((to) => [to, to]);
}

/**
 * Return how many mails are shown, as a text.
 * @param {number} shown
 * @param {number} all
 */
export function countText(shown, all) {
  const mails = all === 1 ? "1 mail" : `${all} mails`;
  return shown === all ? mails : `${shown} of ${mails}`;
}

/**
 * Return the name of a kind of mail. A kind without a name of its own has a readable one.
 * @param {string} kind
 */
function kindLabel(kind) {
  const words = kind.toLowerCase().replaceAll("_", " ");
  return KINDS[kind] ?? words[0].toUpperCase() + words.slice(1);
}
