/** The panel of the history: search, open, pin and remove operations that ran. */

import { closestTo, element, findAll } from "../shared/dom.js";
import { titleOf } from "./document-title.js";
import { History, STORAGE_KEY } from "./history.js";

/** @import { HistoryEntry } from "./history.js" */
/** @import { CurrentRequest, Panel, Workspace } from "./workspace.js" */

const TIME = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/**
 * Keep the history of a workspace, and return its panel.
 * @param {Workspace} workspace
 * @returns {Panel}
 */
export function createHistoryPanel(workspace) {
  const history = new History(localStorage);
  /**
   * @param {CurrentRequest} request
   * @param {Pick<HistoryEntry, "status" | "errors">} outcome
   */
  const add = ({ source }, { status, errors }) => {
    const { text, variables, headers } = source;
    const isPersonal = workspace.session !== null || headers.trim() !== "";
    history.add({ title: titleOf(source), text, variables, headers, ranAt: Date.now(), status, errors, isPersonal });
    workspace.emit("history");
  };
  workspace.on("response", ({ request, status, body }) => add(request, { status, errors: body?.errors?.length ?? 0 }));
  workspace.on("subscription", ({ type, request }) => {
    if (type === "start") add(request, { status: null, errors: 0 });
  });
  workspace.on("logout", () => {
    history.forgetPersonal();
    workspace.emit("history");
  });
  addEventListener("storage", ({ key }) => {
    if (key === STORAGE_KEY) workspace.emit("history");
  });
  return {
    id: "history",
    title: "History",
    icon: "M4 12a8 8 0 1 0 2.500-5.800M4 4v4h4M12 8v4.500l3 2",
    mount: (root, mounted) => mountPanel(root, mounted, history),
  };
}

/**
 * @param {HTMLElement} root
 * @param {Workspace} workspace
 * @param {History} history
 */
function mountPanel(root, workspace, history) {
  const search = element("input", {
    type: "search", placeholder: "Search", "aria-label": "Search the history", autocomplete: "off", spellcheck: "false",
    "data-testid": "history-search",
  });
  const clear = element("button", { type: "button", class: "quiet-button", "data-testid": "history-clear" }, "Clear");
  const list = element("ul", { class: "history-list", "data-testid": "history" });
  const note = element("p", { class: "panel-note" }, "Kept in this browser only, without passwords and tokens. A log-out removes what ran with the log-in.");
  root.append(element("div", { class: "history-head" }, search, clear), list, note);
  /** @type {HistoryEntry[]} */
  let shown = [];
  const render = () => {
    shown = history.search(search.value);
    list.replaceChildren(...shown.map(makeRow));
    if (!shown.length) list.append(element("li", { class: "panel-note" }, search.value ? "Nothing matches." : "Operations that you run appear here."));
  };
  search.addEventListener("input", render);
  clear.addEventListener("click", () => {
    history.clear();
    render();
    search.focus();
  });
  list.addEventListener("click", (event) => {
    const row = closestTo(event, "[data-index]");
    const action = closestTo(event, "button")?.dataset.action;
    const index = Number(row?.dataset.index);
    const entry = row && shown[index];
    if (!entry) return;
    if (action === "open") workspace.openDocument({ text: entry.text, variables: entry.variables, headers: entry.headers });
    if (action === "pin" && !history.togglePin(entry)) workspace.notify("Too many entries are pinned. Unpin one first.", { severity: "error" });
    if (action === "remove") history.remove(entry);
    if (action === "open") {
      workspace.focusEditor();
      return;
    }
    render();
    (findAll(list, `button[data-action="${action}"]`)[Math.min(index, shown.length - 1)] ?? search).focus();
  });
  workspace.on("history", render);
  render();
  return { shown: () => search.focus() };
}

/**
 * @param {HistoryEntry} entry
 * @param {number} index
 */
function makeRow({ title, text, ranAt, status, errors, isPinned, isRedacted }, index) {
  const outcome = status === null ? "subscription" : errors ? `${status}, ${errors} ${errors === 1 ? "error" : "errors"}` : String(status);
  const isWrong = errors > 0 || (status ?? 200) >= 400;
  const name = title || "Document";
  return element(
    "li", { "data-index": String(index), class: isPinned ? "pinned" : null },
    element(
      "button", { type: "button", class: "history-open", "data-action": "open", title: text.slice(0, 400), "data-testid": "history-entry" },
      element("span", { class: "history-title" }, name),
      element("span", { class: "history-facts" }, TIME.format(ranAt), " · ", element("span", { class: isWrong ? "wrong" : null }, outcome), isRedacted ? " · secrets left out" : null),
    ),
    element("button", { type: "button", class: "icon-button", "data-action": "pin", "aria-pressed": String(isPinned), "aria-label": `Pin ${name}`, title: isPinned ? "Unpin" : "Pin" }, isPinned ? "★" : "☆"),
    element("button", { type: "button", class: "icon-button", "data-action": "remove", "aria-label": `Remove ${name}`, title: "Remove" }, "×"),
  );
}
