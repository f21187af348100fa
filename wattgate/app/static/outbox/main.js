/** Entry point of the outbox page: refreshes the list of mails and shows the mail that the address names. */

import { formatTime, readMail, readMails } from "./mails.js";
import { MailList } from "./mail-list.js";
import { MailView } from "./mail-view.js";

/** Milliseconds between two requests for the list. */
const REFRESH_INTERVAL = 2000;

const status = document.getElementById("count");
const list = new MailList(document.getElementById("list"), formatTime);
const view = new MailView(document.getElementById("mail"), formatTime);

async function refresh() {
  const mails = await readMails();
  if (!list.show(mails)) return;
  status.textContent = mails.length === 1 ? "1 mail" : `${mails.length} mails`;
  document.getElementById("none").hidden = mails.length > 0;
  if (view.path === null && mails.length > 0) await open(location.hash.slice(1) || mails[0].path);
  list.markCurrent(view.path);
}

/** Show the mail at a path of the outbox. Other paths are ignored. */
async function open(path) {
  if (!path.startsWith("/outbox/mails/")) return;
  view.show(path, await readMail(path));
  list.markCurrent(path);
}

function reportFailure(error) {
  status.textContent = "The gateway does not answer";
  console.warn(error);
}

async function refreshForever() {
  await refresh().catch(reportFailure);
  setTimeout(refreshForever, REFRESH_INTERVAL);
}

addEventListener("hashchange", () => open(location.hash.slice(1)).catch(reportFailure));
refreshForever();
