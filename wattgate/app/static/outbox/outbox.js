// The outbox: a list of mails that renews itself, and the one that the address names after its #.

const LOOK_AGAIN = 2000; // milliseconds between two looks at the list
const PARTS = ["html", "text", "headers", "source"];

const at = (id) => document.getElementById(id);
const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

let known = "";
let shown = null;
let part = "html";

async function get(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) {
    throw new Error(`${path} answers ${answer.status}`);
  }
  return answer.json();
}

function entry(mail) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = `#${mail.path}`;
  link.dataset.testid = "mail";
  for (const [name, text] of [["subject", mail.subject || "(no subject)"], ["to", mail.to], ["at", time.format(new Date(mail.at))]]) {
    const line = document.createElement("span");
    line.className = name;
    line.textContent = text;
    link.append(line);
  }
  item.append(link);
  return item;
}

function mark() {
  for (const link of at("list").querySelectorAll("a")) {
    const current = shown !== null && link.hash === `#${shown}`;
    link.toggleAttribute("aria-current", current);
    if (current) {
      link.setAttribute("aria-current", "true");
    }
  }
}

async function renew() {
  const mails = await get("/outbox/mails");
  const now = JSON.stringify(mails);
  if (now === known) {
    return;
  }
  known = now;
  at("list").replaceChildren(...mails.map(entry));
  at("count").textContent = mails.length === 1 ? "1 mail" : `${mails.length} mails`;
  at("none").hidden = mails.length > 0;
  if (shown === null && mails.length > 0) {
    await show(location.hash.slice(1) || mails[0].path);
  }
  mark();
}

async function show(path) {
  if (!path.startsWith("/outbox/mails/")) {
    return;
  }
  const mail = await get(path);
  shown = path;
  at("subject").textContent = mail.subject || "(no subject)";
  at("to").textContent = mail.to;
  at("at").textContent = time.format(new Date(mail.at));
  at("at").dateTime = mail.at;
  at("size").textContent = `${(mail.size / 1024).toFixed(1)} KB`;
  at("text").textContent = mail.text ?? "";
  at("source").textContent = mail.source;
  at("headers").replaceChildren(...mail.headers.map(header));
  at("frame").src = mail.html ? `${path}/html` : "about:blank";
  at("tab-html").disabled = !mail.html;
  at("mail").hidden = false;
  choose(mail.html || part !== "html" ? part : "text");
  mark();
}

function header([name, value]) {
  const row = document.createElement("tr");
  const title = document.createElement("th");
  const cell = document.createElement("td");
  title.scope = "row";
  title.textContent = name;
  cell.textContent = value;
  row.append(title, cell);
  return row;
}

function choose(wanted) {
  for (const name of PARTS) {
    const chosen = name === wanted;
    at(`tab-${name}`).setAttribute("aria-selected", String(chosen));
    at(`tab-${name}`).tabIndex = chosen ? 0 : -1;
    at(`panel-${name}`).hidden = !chosen;
  }
}

at("tabs").addEventListener("click", (event) => {
  if (event.target.dataset.part) {
    part = event.target.dataset.part;
    choose(part);
  }
});

at("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) {
    const usable = PARTS.filter((name) => !at(`tab-${name}`).disabled);
    part = usable[(usable.indexOf(event.target.dataset.part) + step + usable.length) % usable.length];
    choose(part);
    at(`tab-${part}`).focus();
  }
});

window.addEventListener("hashchange", () => show(location.hash.slice(1)).catch(fail));

function fail(error) {
  at("count").textContent = "The gateway does not answer";
  console.warn(error);
}

async function watch() {
  await renew().catch(fail);
  setTimeout(watch, LOOK_AGAIN);
}

watch();
