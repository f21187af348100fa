/** The action that shows the active operation as code: curl, fetch, gql, urql, Apollo Client. */

import { element } from "../../shared/dom.js";
import { toGatewayError } from "../../shared/gateway.js";
import { nextTab } from "../../shared/tab-keys.js";
import { codeToCopy, openModal } from "./modal.js";
import { operationText } from "./operation-text.js";
import { PLACEHOLDERS, SNIPPETS } from "./snippets.js";

/** @import { CurrentRequest, Workspace } from "../workspace.js" */
/** @import { CopiedCredentials, CopiedRequest } from "./snippets.js" */

const CHOSEN_KEY = "wattgate.ide.snippet";

/** @type {import("../workspace.js").Action} */
export const copyAction = {
  id: "copy-as",
  label: "Copy as code",
  hint: "curl, fetch, gql, urql, Apollo Client",
  run: (workspace) => {
    try {
      show(workspace, copiedRequest(workspace.currentRequest()));
    } catch (thrown) {
      workspace.notify(toGatewayError(thrown).message, { severity: "error" });
    }
  },
};

/**
 * @param {CurrentRequest} request
 * @returns {CopiedRequest}
 */
function copiedRequest({ query, variables, operationName, headers }) {
  const operation = operationText(query, operationName);
  if (!operation) throw new Error("The document has no operation.");
  const { text, kind, name } = operation;
  const url = new URL("/graphql", location.href).href;
  return { url, text, operation: kind, name, variables, credentials: credentialsOf(headers) };
}

/**
 * Return who sends a request with these headers, without the secrets in them.
 * @param {Record<string, string>} headers
 * @returns {CopiedCredentials}
 */
function credentialsOf(headers) {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const basic = /^basic +(.+)$/i.exec(lower.authorization ?? "");
  if (basic) {
    return { kind: "application", applicationId: userOf(basic[1]) || lower.applicationid || "APPLICATION_ID", userId: lower.userid ?? "" };
  }
  return lower.token || lower.authorization ? { kind: "token" } : { kind: "none" };
}

/** @param {string} encoded */
function userOf(encoded) {
  try {
    return atob(encoded.trim()).split(":")[0];
  } catch {
    return "";
  }
}

/**
 * @param {Workspace} workspace
 * @param {CopiedRequest} request
 */
function show(workspace, request) {
  const shown = element("div", { role: "tabpanel", id: "snippet-panel" });
  const buttons = SNIPPETS.map(({ id, label }) => element(
    "button",
    { type: "button", role: "tab", id: `snippet-${id}`, "aria-controls": "snippet-panel", "data-snippet": id, "data-testid": `snippet-${id}` },
    label,
  ));
  /** @param {string} id */
  const choose = (id) => {
    const snippet = SNIPPETS.find((one) => one.id === id) ?? SNIPPETS[0];
    for (const button of buttons) {
      const isChosen = button.dataset.snippet === snippet.id;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
    }
    shown.setAttribute("aria-labelledby", `snippet-${snippet.id}`);
    shown.replaceChildren(codeToCopy(snippet.make(request), snippet.label, (message, options) => workspace.notify(message, options)));
    localStorage.setItem(CHOSEN_KEY, snippet.id);
  };
  const tabs = element("div", { class: "snippet-tabs", role: "tablist", "aria-label": "Language" }, buttons);
  tabs.addEventListener("click", (event) => {
    if (event.target instanceof HTMLElement && event.target.dataset.snippet) choose(event.target.dataset.snippet);
  });
  tabs.addEventListener("keydown", (event) => {
    const next = nextTab(buttons, event);
    if (!next) return;
    event.preventDefault();
    choose(next.dataset.snippet ?? "");
    next.focus();
  });
  choose(localStorage.getItem(CHOSEN_KEY) ?? SNIPPETS[0].id);
  openModal("Copy as code", [tabs, shown, element("p", { class: "panel-note" }, explainCredentials(request.credentials))], "copy-dialog");
}

/** @param {CopiedCredentials} credentials */
function explainCredentials({ kind }) {
  if (kind === "none") return "This request has no credentials.";
  const placeholder = kind === "token" ? PLACEHOLDERS.token : PLACEHOLDERS.secret;
  return `The code does not contain your ${kind === "token" ? "token" : "secret"}. Set ${placeholder} to it before you run the code.`;
}
