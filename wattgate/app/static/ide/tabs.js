/** The tabs of documents. Delete closes the tab that has the focus, arrow keys change it. */

import { closestTo, element, find, findAll } from "../shared/dom.js";
import { nextTab } from "../shared/tab-keys.js";
import { titleOf } from "./document-title.js";

/** @import { IdeDocument } from "./documents.js" */
/** @import { Workspace } from "./workspace.js" */

/** @param {Workspace} workspace */
export function setUpDocumentTabs(workspace) {
  const list = find(document, ".tabs");
  const render = () => {
    const hadFocus = list.contains(document.activeElement);
    list.replaceChildren(...workspace.documents.map((one) => makeTab(one, one === workspace.document)));
    const active = find(list, "[aria-selected=true]");
    if (hadFocus) active.focus();
    active.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  list.addEventListener("click", (event) => {
    const tab = closestTo(event, "[role=tab]");
    const id = tab?.dataset.id ?? "";
    if (closestTo(event, ".close-tab")) workspace.closeDocument(id);
    else if (tab) workspace.activateDocument(id);
  });
  list.addEventListener("auxclick", (event) => {
    const tab = closestTo(event, "[role=tab]");
    if (tab && event.button === 1) workspace.closeDocument(tab.dataset.id ?? "");
  });
  list.addEventListener("keydown", (event) => {
    const tabs = findAll(list, "[role=tab]");
    const next = nextTab(tabs, event);
    const current = closestTo(event, "[role=tab]")?.dataset.id ?? "";
    if (next) workspace.activateDocument(next.dataset.id ?? "");
    else if (event.key === "Delete") workspace.closeDocument(current);
    else return;
    event.preventDefault();
    find(list, "[aria-selected=true]").focus();
  });
  find(document, ".new-tab").addEventListener("click", () => {
    workspace.openEmptyDocument();
    workspace.focusEditor();
  });
  workspace.on("documents", render);
  workspace.on("analysis", () => {
    const name = find(list, "[aria-selected=true] .tab-name");
    const title = titleOf(workspace.document);
    if (name.textContent !== title) render();
  });
  render();
}

/**
 * @param {IdeDocument} one
 * @param {boolean} isActive
 */
function makeTab(one, isActive) {
  return element(
    "div",
    {
      role: "tab", class: "tab", "aria-selected": String(isActive), "aria-controls": "document", tabindex: isActive ? "0" : "-1",
      "data-id": one.id, title: `${titleOf(one)} (Delete closes it)`, "data-testid": "tab",
    },
    element("span", { class: "tab-name" }, titleOf(one)),
    // The tab is one stop of the keyboard: Delete closes it, so the cross is for pointers only.
    element("span", { class: "close-tab", "aria-hidden": "true", "data-testid": "close-tab" }, "×"),
  );
}
