/** Entry point of the outbox page: refreshes the list of mails and shows the mail that the address names. */

import { ConfirmDialog } from "../shared/confirm-dialog.js";
import { formatTime } from "../shared/date-format.js";
import { element, find, findAll, findAs } from "../shared/dom.js";
import { countText, filterMails, listKinds, listRecipients } from "./filters.js";
import { deleteMails, readMail, readMails } from "./mails.js";
import { MailList } from "./mail-list.js";
import { MailView } from "./mail-view.js";

/** @import { MailSummary } from "./mails.js" */

/** Milliseconds between two requests for the list. */
const REFRESH_INTERVAL = 2000;

const status = find(document, "#count");
const list = new MailList(find(document, "#list"), formatTime);
const view = new MailView(find(document, "#mail"), formatTime);
const dialog = new ConfirmDialog(findAs(document, "dialog", HTMLDialogElement));
const search = findAs(document, "[name=search]", HTMLInputElement);
const kindSelect = findAs(document, "[name=kind]", HTMLSelectElement);
const recipientSelect = findAs(document, "[name=recipient]", HTMLSelectElement);
/** @type {MailSummary[]} */
let mails = [];

/** Request the list and show it. Show the first mail if none is shown yet. */
async function refresh() {
  mails = await readMails();
  setChoices(kindSelect, "All kinds", listKinds(mails));
  setChoices(recipientSelect, "All recipients", listRecipients(mails));
  await showList();
}

/** Show the mails that match the filters. */
async function showList() {
  const filters = { words: search.value, kind: kindSelect.value, recipient: recipientSelect.value };
  const shown = filterMails(mails, filters);
  const isNew = list.show(shown);
  const text = countText(shown.length, mails.length);
  if (status.textContent !== text) status.textContent = text;
  find(document, "#none").hidden = mails.length > 0;
  find(document, "#no-match").hidden = mails.length === 0 || shown.length > 0;
  find(document, "#filters").hidden = mails.length === 0;
  if (isNew && view.path === null && shown.length > 0) await open(location.hash.slice(1) || shown[0].path);
  if (mails.length === 0) view.hide();
  list.markCurrent(view.path);
}

/**
 * Offer choices, and keep the selected one if it is still there.
 * @param {HTMLSelectElement} select
 * @param {string} all  The label of the choice that matches every mail.
 * @param {[value: string, label: string][]} choices
 */
function setChoices(select, all, choices) {
  const options = [["", all], ...choices];
  if (JSON.stringify(options) === JSON.stringify([...select.options].map(({ value, text }) => [value, text]))) return;
  const selected = select.value;
  select.replaceChildren(...options.map(([value, label]) => new Option(label, value)));
  select.value = choices.some(([value]) => value === selected) ? selected : "";
}

/**
 * Show the mail at a path of the outbox. Other paths are ignored.
 * @param {string} path
 */
async function open(path) {
  if (!path.startsWith("/outbox/mails/")) return;
  const mail = await readMail(path);
  if (mail) view.show(path, mail);
  else view.hide();
  list.markCurrent(view.path);
}

/** Delete all mails, if the user confirms. */
async function clear() {
  const confirmed = await dialog.ask({
    title: "Clear the outbox?",
    details: [element("p", {}, `This deletes ${countText(mails.length, mails.length)}. They cannot be restored.`)],
    action: "Delete all",
  });
  if (!confirmed) return;
  await deleteMails();
  search.value = "";
  history.replaceState(null, "", location.pathname);
  await refresh();
}

/** @param {unknown} error */
function reportFailure(error) {
  status.textContent = "The gateway cannot be reached";
  console.warn(error);
}

async function refreshForever() {
  await refresh().catch(reportFailure);
  setTimeout(refreshForever, REFRESH_INTERVAL);
}

for (const field of findAll(document, "#filters [name]")) {
  field.addEventListener("input", () => showList().catch(reportFailure));
}
find(document, "#filters").addEventListener("submit", (event) => event.preventDefault());
find(document, "#clear").addEventListener("click", () => clear().catch(reportFailure));
addEventListener("hashchange", () => open(location.hash.slice(1)).catch(reportFailure));
refreshForever();
