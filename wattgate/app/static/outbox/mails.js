/** Requests of the outbox page, and how it writes times. */

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function readMails() {
  return get("/outbox/mails");
}

export function readMail(path) {
  return get(path);
}

export function formatTime(instant) {
  return timeFormat.format(new Date(instant));
}

async function get(path) {
  const response = await fetch(path, { cache: "no-store" });
  if (!response.ok) throw new Error(`${path} answers ${response.status}`);
  return response.json();
}
